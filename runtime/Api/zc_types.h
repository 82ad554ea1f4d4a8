/* zc_types.h: the types of zc.h, which includes this. */
#ifndef ZC_RUNTIME_API_ZC_TYPES_H
#define ZC_RUNTIME_API_ZC_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ZC_API __attribute__((visibility("default")))
#else
#define ZC_API
#endif

typedef enum zc_status {
  ZC_OK = 0,
  ZC_INVALID_ARGUMENT = 1,   /* what was asked does not fit the artifact */
  ZC_NOT_FOUND = 2,          /* no such file, input, state or metric */
  ZC_CORRUPT = 3,            /* a file is not what it claims to be */
  ZC_UNSUPPORTED = 4,        /* sound, but not for this version or machine */
  ZC_RESOURCE_EXHAUSTED = 5, /* memory, disk or threads */
  ZC_IO_ERROR = 6,           /* the system refused */
  ZC_DEADLINE_EXCEEDED = 7,  /* waited longer than allowed */
  ZC_CANCELLED = 8,          /* because of a failure elsewhere */
  ZC_INTERNAL = 9,           /* a library failed; a mistake in zc */
  ZC_NOT_FINITE = 10,        /* the loss or the gradients are no numbers */
  ZC_BUSY = 11,              /* another call is under way in the session */
  ZC_STOPPED = 12            /* as the progress callback wished; since 1.3 */
} zc_status;

/* An opened artifact with its parameters and all memory that it needs. */
typedef struct zc_session zc_session;

typedef enum zc_log_level { ZC_LOG_NOTE = 0, ZC_LOG_WARNING = 1 } zc_log_level;

/* Gets messages for people, without a newline, from the thread that calls the
 * library. It must not call the session's functions (they return ZC_BUSY) and
 * must not throw. */
typedef void (*zc_log_callback)(void *context, zc_log_level level,
                                const char *message);

/* How far work has come. Since version 1.3. */
typedef enum zc_phase {
  ZC_PHASE_STEP = 1,      /* a step was done; `done` in all, `total` is 0 */
  ZC_PHASE_EVALUATION = 2 /* `done` of `total` samples were evaluated */
} zc_phase;

/* Hears how far work has come: behind each step, and in front of each batch of
 * an evaluation. Anything but 0 is a wish to stop. An evaluation then ends with
 * ZC_STOPPED, on all ranks behind the same batch; behind a step, the next
 * zc_step() of all ranks does nothing and returns ZC_STOPPED, and the one after
 * that goes on. The rules of zc_log_callback hold. Since version 1.3. */
typedef int32_t (*zc_progress_callback)(void *context, zc_phase phase,
                                        int64_t done, int64_t total);

/* How ranks of an application reach each other, by its own functions. zc calls
 * them one at a time, from the thread that calls the library and from one of
 * its own. None may wait; what is not ZC_OK ends the session on all ranks. The
 * structure is copied; what `context` points to must outlive the session.
 * Since version 1.2. */
typedef struct zc_transport {
  size_t size;   /* sizeof(zc_transport) */
  int32_t rank;  /* this one's number, from 0 */
  int32_t ranks; /* how many there are */
  void *context; /* handed to the functions */
  /* Begin a message to or from rank `peer`, and give it a number, *request.
   * Until it has finished, its bytes stay where they are. Messages of one
   * channel (less than 32768) from one rank to another arrive in order; they do
   * not wait for messages of other channels to be received. The receiver knows
   * how many bytes there are. */
  zc_status (*send)(void *context, int32_t peer, uint32_t channel,
                    const void *data, size_t bytes, uint64_t *request);
  zc_status (*receive)(void *context, int32_t peer, uint32_t channel,
                       void *data, size_t bytes, uint64_t *request);
  /* Whether a message has finished (*finished 1), after which its number is
   * free; also moves other messages along, where nothing else does. */
  zc_status (*test)(void *context, uint64_t request, int32_t *finished);
  /* Lets go of a message: nobody touches its bytes any more. */
  void (*cancel)(void *context, uint64_t request);
} zc_transport;

typedef struct zc_open_options {
  size_t size;             /* sizeof(zc_open_options) */
  uint64_t seed;           /* of drawn weights and dropout; as --seed */
  int32_t threads;         /* 0: as many as planned and there are processors */
  const char *offload_dir; /* as --offload-dir; NULL: $TMPDIR or /var/tmp */
  zc_log_callback log;     /* NULL: messages are dropped */
  void *log_context;
  /* Since version 1.2, for one of several ranks: */
  int32_t launcher; /* 1: this process is a rank that mpirun, srun, torchrun or
                     * whoever sets RANK, WORLD_SIZE, MASTER_ADDR and
                     * MASTER_PORT has started; alone where none has */
  double timeout;   /* seconds that a rank waits for another; 0: 600 */
  const zc_transport
      *transport; /* the ranks are the application's; else NULL */
  /* Since version 1.3: */
  int32_t later; /* 1: the artifact is read, so that inputs and data can be
                  * checked, and memory is taken by zc_prepare() */
  zc_progress_callback progress; /* NULL: nobody asks */
  void *progress_context;
  /* Since version 1.4: */
  const char *tune; /* as --tune FILE; "": the usual file; NULL: by rule. All
                     * ranks give one, or none does */
} zc_open_options;

#define ZC_OPEN_OPTIONS_INIT                                                   \
  {                                                                            \
    sizeof(zc_open_options), 0, 0, NULL, NULL, NULL, 0, 0, NULL, 0, NULL,      \
        NULL, NULL                                                             \
  }

typedef enum zc_type {
  ZC_FLOAT32 = 1,
  ZC_FLOAT64 = 2,
  ZC_FLOAT16 = 3,
  ZC_BFLOAT16 = 4,
  ZC_BOOL = 5, /* one byte, 0 or 1 */
  ZC_INT8 = 6,
  ZC_UINT8 = 7,
  ZC_INT16 = 8,
  ZC_UINT16 = 9,
  ZC_INT32 = 10,
  ZC_UINT32 = 11,
  ZC_INT64 = 12,
  ZC_UINT64 = 13
} zc_type;

typedef enum zc_tensor_kind {
  ZC_INPUT = 1,
  ZC_LABEL = 2, /* an input that the loss alone reads */
  ZC_OUTPUT = 3,
  ZC_PARAMETER = 4, /* trained */
  ZC_STATISTIC = 5, /* as batch normalisation's running mean */
  ZC_OPTIMIZER_STATE = 6,
  ZC_OTHER_STATE = 7
} zc_tensor_kind;

/* Of a tensor of the session. */
typedef struct zc_tensor_info {
  size_t size; /* sizeof(zc_tensor_info), set by the caller */
  const char *name;
  const int64_t *dims; /* of inputs: those of one step */
  int32_t rank;        /* the number of dims */
  zc_type type;
  zc_tensor_kind kind;
  int32_t batch_dim; /* which dim counts samples; -1: none */
} zc_tensor_info;

#define ZC_TENSOR_INFO_INIT                                                    \
  { sizeof(zc_tensor_info), NULL, NULL, 0, ZC_FLOAT32, ZC_INPUT, -1 }

#endif /* ZC_RUNTIME_API_ZC_TYPES_H */
