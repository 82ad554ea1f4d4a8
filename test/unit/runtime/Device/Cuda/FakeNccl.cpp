// A stand-in for NCCL among ranks that are threads of one process: collectives
// on the fake's memory. A rank that is not in the same collective as the others
// is found out; one that does not come leaves the others' streams hanging, as
// GPUs would, until their groups are aborted.
//
// ZC_FAKE_NCCL_PATIENCE=milliseconds that a rank is waited for (20000),
// ZC_FAKE_NCCL_LOSE=rank:nth: this rank's nth collective is never begun.
#include "test/unit/runtime/Device/Cuda/FakeDriver.h"
#include "test/unit/runtime/Device/Cuda/PtxNarrow.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nccl.h>
#include <sstream>
#include <string>
#include <vector>

namespace {

/// A message to or from a peer.
struct Message {
  int peer;
  char *data;
  size_t bytes;
};

/// A rank's contribution to a collective.
struct Part {
  std::string name; // with all that must be alike
  const char *source = nullptr;
  std::vector<Message> sends;
};

struct Meeting {
  std::mutex mutex;
  std::condition_variable changed;
  int size = 0, arrived = 0, count = 0;
  uint64_t generation = 0;
  bool aborted = false;
  std::vector<Part> parts;

  /// Waits for all ranks; false where one does not come.
  bool meet(std::unique_lock<std::mutex> &lock) {
    uint64_t before = generation;
    if (++count == size) {
      count = 0;
      ++generation;
      changed.notify_all();
      return true;
    }
    const char *patience = std::getenv("ZC_FAKE_NCCL_PATIENCE");
    changed.wait_for(
        lock, std::chrono::milliseconds(patience ? std::atol(patience) : 20000),
        [&] { return generation != before || aborted; });
    return generation != before;
  }
};

std::mutex meetingsMutex;
std::map<std::string, std::shared_ptr<Meeting>> meetings; // by id

template <typename T>
void reduceAs(char *to, const std::vector<const char *> &from, size_t first,
              size_t count, bool max) {
  for (size_t i = 0; i < count; ++i) {
    auto at = [&](size_t rank) {
      return reinterpret_cast<const T *>(from[rank])[first + i];
    };
    T value = at(0);
    for (size_t rank = 1; rank < from.size(); ++rank)
      value = max ? std::max(value, at(rank)) : T(value + at(rank));
    reinterpret_cast<T *>(to)[i] = value;
  }
}

template <typename Number>
void reduceNarrow(char *to, const std::vector<const char *> &from, size_t first,
                  size_t count, bool max) {
  for (size_t i = 0; i < count; ++i) {
    auto at = [&](size_t rank) {
      return float(reinterpret_cast<const Number *>(from[rank])[first + i]);
    };
    float value = at(0);
    for (size_t rank = 1; rank < from.size(); ++rank)
      value = max ? std::max(value, at(rank)) : value + at(rank);
    reinterpret_cast<Number *>(to)[i] = Number(value);
  }
}

using Reducer = void (*)(char *, const std::vector<const char *> &, size_t,
                         size_t, bool);

struct Type {
  size_t bytes;
  Reducer reduce;
};

Type typeOf(ncclDataType_t type) {
  switch (type) {
  case ncclFloat32:
    return {4, reduceAs<float>};
  case ncclFloat64:
    return {8, reduceAs<double>};
  case ncclInt32:
    return {4, reduceAs<int32_t>};
  case ncclInt64:
    return {8, reduceAs<int64_t>};
  case ncclUint8:
    return {1, reduceAs<uint8_t>};
  case ncclBfloat16:
    return {2, reduceNarrow<zc::test::BFloat16>};
  case ncclFloat16:
    return {2, reduceNarrow<zc::test::Half>};
  default:
    std::fprintf(stderr, "fake NCCL: no type %d\n", int(type));
    std::abort();
  }
}

} // namespace

struct ncclComm {
  std::shared_ptr<Meeting> meeting;
  int rank = 0;
  std::vector<void *> hung = {};    // streams that wait for ever
  int begun = 0;                    // collectives
  bool ended = false;               // by this rank
  std::shared_ptr<ncclComm> self{}; // until then; streams' work keeps it too
};

namespace {

// These three with the meeting locked.

/// Whether this collective of this rank shall never begin.
bool isLost(ncclComm &comm) {
  ++comm.begun;
  const char *lose = std::getenv("ZC_FAKE_NCCL_LOSE");
  int rank = 0, nth = 0;
  return lose && std::sscanf(lose, "%d:%d", &rank, &nth) == 2 &&
         rank == comm.rank && nth == comm.begun;
}

void hang(ncclComm &comm, void *stream) {
  if (comm.ended)
    return;
  stream = zc::test::streamAtWork(stream);
  comm.hung.push_back(stream);
  zc::test::hangFake(stream, true);
}

void end(ncclComm &comm) {
  comm.ended = true;
  for (void *stream : comm.hung)
    zc::test::hangFake(stream, false);
  comm.hung.clear();
}

/// Runs `take` once all ranks have brought their parts, which stay as they are
/// until all have taken.
void run(ncclComm &comm, void *stream, Part part,
         const std::function<void(const std::vector<Part> &)> &take,
         const std::function<void()> &finish) {
  Meeting &meeting = *comm.meeting;
  std::unique_lock<std::mutex> lock(meeting.mutex);
  if (!comm.hung.empty() || comm.ended)
    return; // behind what hangs nothing is done
  if (isLost(comm))
    return hang(comm, stream);
  const std::string name = part.name;
  meeting.parts[size_t(comm.rank)] = std::move(part);
  if (!meeting.meet(lock))
    return hang(comm, stream);
  for (const Part &other : meeting.parts)
    if (other.name != name) {
      std::fprintf(stderr, "fake NCCL: rank %d is in '%s', another in '%s'\n",
                   comm.rank, name.c_str(), other.name.c_str());
      std::abort();
    }
  take(meeting.parts);
  if (!meeting.meet(lock))
    return hang(comm, stream);
  finish();
  if (!meeting.meet(lock))
    hang(comm, stream);
}

template <typename... Parts> std::string text(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

std::vector<const char *> sourcesOf(const std::vector<Part> &parts) {
  std::vector<const char *> sources;
  for (const Part &part : parts)
    sources.push_back(part.source);
  return sources;
}

/// `count` elements from `first` on of what `make` makes of all sources.
ncclResult_t
enqueue(const char *call, const std::string &details, ncclComm_t comm,
        cudaStream_t stream, const void *source, void *destination,
        size_t bytes,
        std::function<void(char *, const std::vector<const char *> &)> make) {
  std::string name = std::string(call) + " " + details;
  if (int error = zc::test::noteFake(call, text(details, " rank ", comm->rank)))
    return ncclResult_t(error);
  zc::test::enqueueFakeMeeting(stream, "ncclKernel", [=, comm = comm->self] {
    auto made = std::make_shared<std::vector<char>>(bytes);
    Part part;
    part.name = name;
    part.source = static_cast<const char *>(source);
    run(
        *comm, stream, std::move(part),
        [&](const std::vector<Part> &parts) {
          make(made->data(), sourcesOf(parts));
        },
        [&] {
          if (bytes > 0)
            std::memcpy(destination, made->data(), bytes);
        });
  });
  return ncclSuccess;
}

/// The messages between ncclGroupStart and ncclGroupEnd.
struct Group {
  bool open = false;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<Message> sends, receives;
};
thread_local Group group;

} // namespace

extern "C" {

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  static std::atomic<int> next{0};
  std::memset(id, 0, sizeof(*id));
  std::snprintf(id->internal, sizeof(id->internal), "fake %d", next++);
  return ncclResult_t(zc::test::noteFake("ncclGetUniqueId", ""));
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int size, ncclUniqueId id,
                                    int rank, ncclConfig_t *config) {
  if (config->blocking != 0)
    return ncclInvalidUsage; // a rank that does not come would end nobody
  std::lock_guard<std::mutex> lock(meetingsMutex);
  std::shared_ptr<Meeting> &meeting = meetings[id.internal];
  if (!meeting) {
    meeting = std::make_shared<Meeting>();
    meeting->size = size;
    meeting->parts.resize(size_t(size));
  }
  std::lock_guard<std::mutex> meetingLock(meeting->mutex);
  ++meeting->arrived;
  auto made = std::make_shared<ncclComm>();
  made->meeting = meeting;
  made->rank = rank;
  made->self = made;
  *comm = made.get();
  if (int error = zc::test::noteFake("ncclCommInitRankConfig",
                                     text("rank ", rank, " of ", size)))
    return ncclResult_t(error);
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state) {
  std::lock_guard<std::mutex> lock(comm->meeting->mutex);
  bool complete = comm->meeting->arrived == comm->meeting->size;
  *state = complete ? ncclSuccess : ncclInProgress;
  if (complete)
    if (int error = zc::test::noteFake("ncclCommGetAsyncError", ""))
      *state = ncclResult_t(error);
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t) {
  return ncclResult_t(zc::test::noteFake("ncclCommFinalize", ""));
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  auto last = std::move(comm->self);
  return ncclResult_t(zc::test::noteFake("ncclCommDestroy", ""));
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  auto last = std::move(comm->self);
  {
    std::lock_guard<std::mutex> lock(comm->meeting->mutex);
    comm->meeting->aborted = true;
    comm->meeting->changed.notify_all();
    end(*comm);
  }
  return ncclResult_t(zc::test::noteFake("ncclCommAbort", ""));
}

const char *ncclGetErrorString(ncclResult_t error) {
  return error == ncclRemoteError ? "fake remote error" : "fake NCCL error";
}
const char *ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count,
                           ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  Type of = typeOf(type);
  return enqueue("ncclAllReduce", text("type ", int(type), " count ", count),
                 comm, stream, from, to, count * of.bytes,
                 [=](char *made, const std::vector<const char *> &sources) {
                   of.reduce(made, sources, 0, count, op == ncclMax);
                 });
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count,
                               ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  Type of = typeOf(type);
  size_t first = count * size_t(comm->rank);
  return enqueue("ncclReduceScatter",
                 text("type ", int(type), " count ", count), comm, stream, from,
                 to, count * of.bytes,
                 [=](char *made, const std::vector<const char *> &sources) {
                   of.reduce(made, sources, first, count, op == ncclMax);
                 });
}

ncclResult_t ncclReduce(const void *from, void *to, size_t count,
                        ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  Type of = typeOf(type);
  bool isRoot = comm->rank == root;
  return enqueue("ncclReduce", text("type ", int(type), " count ", count), comm,
                 stream, from, to, isRoot ? count * of.bytes : 0,
                 [=](char *made, const std::vector<const char *> &sources) {
                   if (isRoot)
                     of.reduce(made, sources, 0, count, op == ncclMax);
                 });
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count,
                           ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  size_t bytes = count * typeOf(type).bytes;
  size_t ranks = size_t(comm->meeting->size);
  return enqueue("ncclAllGather", text("bytes ", bytes), comm, stream, from, to,
                 bytes * ranks,
                 [=](char *made, const std::vector<const char *> &sources) {
                   for (size_t rank = 0; rank < ranks; ++rank)
                     std::memcpy(made + rank * bytes, sources[rank], bytes);
                 });
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t count,
                           ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  size_t bytes = count * typeOf(type).bytes;
  return enqueue("ncclBroadcast", text("bytes ", bytes), comm, stream, from, to,
                 bytes,
                 [=](char *made, const std::vector<const char *> &sources) {
                   std::memcpy(made, sources[size_t(root)], bytes);
                 });
}

ncclResult_t ncclGroupStart() {
  group = {};
  group.open = true;
  return ncclSuccess;
}
ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, cudaStream_t stream) {
  if (!group.open)
    return ncclInvalidUsage;
  group.comm = comm;
  group.stream = stream;
  group.sends.push_back({peer,
                         const_cast<char *>(static_cast<const char *>(from)),
                         count * typeOf(type).bytes});
  return ncclSuccess;
}
ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  if (!group.open)
    return ncclInvalidUsage;
  group.comm = comm;
  group.stream = stream;
  group.receives.push_back(
      {peer, static_cast<char *>(to), count * typeOf(type).bytes});
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  Group done = std::move(group);
  group = {};
  if (!done.comm)
    return ncclSuccess;
  ncclComm_t comm = done.comm;
  if (int error = zc::test::noteFake(
          "ncclGroupEnd", text("sends ", done.sends.size(), " receives ",
                               done.receives.size(), " rank ", comm->rank)))
    return ncclResult_t(error);
  auto work = [=, comm = done.comm->self] {
    Part part;
    part.name = "messages";
    part.sends = done.sends;
    std::vector<std::vector<char>> made;
    run(
        *comm, done.stream, std::move(part),
        [&](const std::vector<Part> &parts) {
          for (const Message &receive : done.receives) {
            const auto &sends = parts[size_t(receive.peer)].sends;
            auto send =
                std::find_if(sends.begin(), sends.end(), [&](const Message &m) {
                  return m.peer == comm->rank && m.bytes == receive.bytes;
                });
            if (send == sends.end()) {
              std::fprintf(stderr,
                           "fake NCCL: nobody sends what rank %d "
                           "waits for\n",
                           comm->rank);
              std::abort();
            }
            made.emplace_back(send->data, send->data + send->bytes);
          }
        },
        [&] {
          for (size_t i = 0; i < made.size(); ++i)
            std::memcpy(done.receives[i].data, made[i].data(), made[i].size());
        });
  };
  zc::test::enqueueFakeMeeting(done.stream, "ncclKernel", work);
  return ncclSuccess;
}

} // extern "C"
