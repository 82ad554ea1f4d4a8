/* Trains with several ranks and prints the loss of each step:
 *   embedded_ranks ARTIFACT STEPS RANKS [own]
 * With RANKS 0 the process is a rank that a launcher has started; else the
 * program starts so many processes, whose messages go through its own
 * functions. Files NAME.bin hold the samples; `own`: each rank is given its own
 * alone, else all ranks all. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zc.h>
#ifdef STARTS_MPI
#include <mpi.h>
#endif

enum { MOST = 4 };

/* A message that has begun, of one peer and channel. */
struct message {
  struct message *next;
  uint64_t number;
  struct {
    uint64_t bytes;
    uint32_t channel;
  } head;
  char *data;
  size_t done; /* bytes, the head's included */
  int finished, owned;
};

struct line { /* to and from one peer, by a socket */
  int socket;
  struct message *sends;    /* in order; the first is under way */
  struct message *receives; /* that were asked for, in order */
  struct message *arrived;  /* that nobody has asked for yet */
  struct message incoming;  /* under way */
  struct message *target;   /* that it is read into */
};

struct ranks {
  struct line lines[MOST];
  uint64_t last;
};

static void append(struct message **list, struct message *one) {
  while (*list)
    list = &(*list)->next;
  *list = one;
}

static struct message *take(struct message **list, uint32_t channel) {
  for (; *list; list = &(*list)->next)
    if ((*list)->head.channel == channel && !(*list)->finished) {
      struct message *found = *list;
      return found;
    }
  return NULL;
}

static void drop(struct message **list, struct message *one) {
  for (; *list; list = &(*list)->next)
    if (*list == one) {
      *list = one->next;
      return;
    }
}

static struct message *begin(struct ranks *all, uint32_t channel, void *data,
                             size_t bytes, uint64_t *request) {
  struct message *one = calloc(1, sizeof(*one));
  one->number = *request = ++all->last;
  one->head.channel = channel;
  one->head.bytes = bytes;
  one->data = data;
  return one;
}

/* Moves bytes as far as they go at once: of the head, then of the data. */
static int move(int socket, struct message *one, int sends) {
  while (one->done < sizeof(one->head) + one->head.bytes ||
         one->done < sizeof(one->head)) {
    const size_t head = sizeof(one->head);
    char *place = one->done < head ? (char *)&one->head + one->done
                                   : one->data + (one->done - head);
    size_t left = one->done < head ? head - one->done
                                   : one->head.bytes - (one->done - head);
    ssize_t moved = sends
                        ? send(socket, place, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                        : recv(socket, place, left, MSG_DONTWAIT);
    if (moved < 0 && (errno == EAGAIN || errno == EINTR))
      return 0;
    if (moved <= 0)
      return -1;
    one->done += (size_t)moved;
    if (!sends && one->done == head)
      return 2; /* somebody must say where the data go */
  }
  return 1;
}

/* Finds a place for what arrives. */
static void place(struct line *line) {
  line->target = take(&line->receives, line->incoming.head.channel);
  if (!line->target) {
    line->target = calloc(1, sizeof(struct message));
    line->target->owned = 1;
    line->target->head = line->incoming.head;
    line->target->data = malloc(line->incoming.head.bytes + 1);
    append(&line->arrived, line->target);
  }
  line->incoming.data = line->target->data;
}

static int progress(struct line *line) {
  while (line->sends) {
    int done = move(line->socket, line->sends, 1);
    if (done < 0)
      return -1;
    if (done == 0)
      break;
    line->sends->finished = 1;
    line->sends = line->sends->next;
  }
  while (1) {
    int done = move(line->socket, &line->incoming, 0);
    if (done == 2)
      place(line);
    if (done == 2 && line->incoming.head.bytes > 0)
      continue;
    if (done <= 0)
      return done;
    line->target->finished = 1;
    memset(&line->incoming, 0, sizeof(line->incoming));
  }
}

static struct message *known[1 << 16]; /* by number */

static zc_status begin_send(void *context, int32_t peer, uint32_t channel,
                            const void *data, size_t bytes, uint64_t *request) {
  struct ranks *all = context;
  struct message *one = begin(all, channel, (void *)data, bytes, request);
  known[one->number & 0xffff] = one;
  append(&all->lines[peer].sends, one);
  return progress(&all->lines[peer]) < 0 ? ZC_IO_ERROR : ZC_OK;
}

static zc_status begin_receive(void *context, int32_t peer, uint32_t channel,
                               void *data, size_t bytes, uint64_t *request) {
  struct ranks *all = context;
  struct line *line = &all->lines[peer];
  struct message *one = begin(all, channel, data, bytes, request);
  struct message *there = line->arrived;
  known[one->number & 0xffff] = one;
  while (there && there->head.channel != channel)
    there = there->next;
  append(&line->receives, one);
  if (!there)
    return ZC_OK;
  drop(&line->arrived, there);
  if (there->finished) {
    memcpy(data, there->data, bytes);
    one->finished = 1;
  } else { /* what is there of it; the rest is on its way */
    memcpy(data, there->data, line->incoming.done - sizeof(there->head));
    line->target = one;
    line->incoming.data = data;
  }
  free(there->data);
  free(there);
  return ZC_OK;
}

static void forget(struct ranks *all, struct message *one) {
  for (int peer = 0; peer < MOST; ++peer) {
    drop(&all->lines[peer].receives, one);
    drop(&all->lines[peer].sends, one);
  }
  known[one->number & 0xffff] = NULL;
  free(one);
}

static zc_status test(void *context, uint64_t request, int32_t *finished) {
  struct ranks *all = context;
  struct message *one = known[request & 0xffff];
  for (int peer = 0; peer < MOST; ++peer)
    if (all->lines[peer].socket >= 0 && progress(&all->lines[peer]) < 0 &&
        !one->finished)
      return ZC_IO_ERROR;
  *finished = one->finished;
  if (one->finished)
    forget(all, one);
  return ZC_OK;
}

static void cancel(void *context, uint64_t request) {
  if (known[request & 0xffff])
    forget(context, known[request & 0xffff]);
}

static char elements[1 << 22];

/* Sets an input of a step: all its samples, or the rank's own. */
static zc_status give(zc_session *session, size_t index, int step, int own,
                      char **place) {
  zc_tensor_info input = ZC_TENSOR_INFO_INIT;
  zc_input_info(session, index, &input);
  size_t bytes = input.type == ZC_INT64 ? 8 : 4; /* float32 or int64 */
  int64_t dims[8];
  for (int dim = 0; dim < input.rank; ++dim) {
    bytes *= (size_t)input.dims[dim];
    dims[dim] = input.dims[dim];
  }
  char name[256];
  snprintf(name, sizeof(name), "%s.bin", input.name);
  FILE *file = fopen(name, "rb");
  if (!file || fseek(file, (long)(bytes * step), SEEK_SET) != 0 ||
      fread(*place, 1, bytes, file) != bytes)
    return fprintf(stderr, "cannot read %s\n", name), ZC_IO_ERROR;
  fclose(file);
  const int64_t ranks = zc_batch(session) / zc_rank_batch(session);
  char *data = *place;
  *place += (bytes + 63) / 64 * 64;
  if (own) {
    dims[0] = zc_rank_batch(session);
    data += bytes / ranks * (zc_rank(session) % ranks);
  }
  return zc_set_input(session, input.name, input.type, input.rank, dims, data);
}

static int train(char **argv, const zc_open_options *options, int own) {
  zc_session *session = NULL;
  zc_status status = zc_open(argv[1], options, &session);
  for (int step = 0; status == ZC_OK && step < atoi(argv[2]); ++step) {
    char *place = elements;
    for (size_t i = 0; status == ZC_OK && i < zc_input_count(session); ++i)
      status = give(session, i, step, own, &place);
    double loss = 0;
    if (status == ZC_OK && (status = zc_step(session)) == ZC_OK)
      status = zc_metric(session, "loss", &loss);
    if (status == ZC_OK && zc_rank(session) == 0)
      printf("%.17g\n", loss);
  }
  if (status == ZC_OK)
    status = zc_save(session, "embedded", 0);
  if (status == ZC_OK)
    status = zc_export_weights(session, "embedded.safetensors");
  if (status != ZC_OK && status != ZC_CANCELLED)
    fprintf(stderr, "%s: %s\n", zc_status_name(status), zc_last_error(session));
  zc_close(&session);
  return status != ZC_OK;
}

int main(int argc, char **argv) {
  zc_open_options options = ZC_OPEN_OPTIONS_INIT;
  const int ranks = argc > 3 ? atoi(argv[3]) : 0, own = argc > 4;
  options.timeout = 60;
  if (ranks == 0) {
    options.launcher = 1;
#ifdef STARTS_MPI
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    int done = train(argv, &options, own);
    MPI_Finalize();
    return done;
#else
    return train(argv, &options, own);
#endif
  }
  int sockets[MOST][MOST];
  for (int low = 0; low < ranks; ++low)
    for (int high = low + 1; high < ranks; ++high) {
      int pair[2];
      if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 1;
      sockets[low][high] = pair[0];
      sockets[high][low] = pair[1];
    }
  for (int rank = 0; rank < ranks; ++rank) {
    if (fork() != 0)
      continue;
    static struct ranks all;
    for (int peer = 0; peer < MOST; ++peer)
      all.lines[peer].socket =
          peer < ranks && peer != rank ? sockets[rank][peer] : -1;
    zc_transport transport = {sizeof(transport), rank,          ranks, &all,
                              begin_send,        begin_receive, test,  cancel};
    options.transport = &transport;
    int failed = train(argv, &options, own);
    fflush(stdout);
    _exit(failed);
  }
  int failed = 0, status = 0;
  while (wait(&status) > 0)
    failed |= status != 0;
  return failed;
}
