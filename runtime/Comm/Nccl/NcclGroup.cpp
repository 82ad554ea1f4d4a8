// The plugin `libzc_nccl.so`: NCCL behind DeviceGroup.h. The library itself is
// opened on demand, from wherever CUDA's libraries are. Groups are made without
// blocking, so that a rank that does not come ends the others by their time
// limit and not never.
#include "runtime/Comm/DeviceGroup.h"
#include "runtime/Device/Cuda/Library.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <nccl.h>
#include <thread>

namespace zc {
namespace {

// How long the others of a group may take to leave it.
constexpr std::chrono::seconds kLeaveTime(5);
constexpr std::chrono::milliseconds kRest(1);

#define ZC_NCCL_FUNCTIONS(F)                                                   \
  F(ncclGetUniqueId)                                                           \
  F(ncclCommInitRankConfig)                                                    \
  F(ncclCommGetAsyncError)                                                     \
  F(ncclCommFinalize)                                                          \
  F(ncclCommDestroy)                                                           \
  F(ncclCommAbort)                                                             \
  F(ncclGetErrorString)                                                        \
  F(ncclGetLastError)                                                          \
  F(ncclAllReduce)                                                             \
  F(ncclAllGather)                                                             \
  F(ncclReduceScatter)                                                         \
  F(ncclBroadcast)                                                             \
  F(ncclReduce)                                                                \
  F(ncclSend)                                                                  \
  F(ncclRecv)                                                                  \
  F(ncclGroupStart)                                                            \
  F(ncclGroupEnd)

struct Nccl {
#define F(name) decltype(&::name) name = nullptr;
  ZC_NCCL_FUNCTIONS(F)
#undef F

  /// ncclInProgress is no error: DeviceGroup::isReady tells when it ends.
  Status check(ncclResult_t result, const char *call, ncclComm_t comm) const {
    if (result == ncclSuccess || result == ncclInProgress)
      return Status();
    const char *more = comm ? ncclGetLastError(comm) : nullptr;
    return makeError(StatusCode::Internal, call, ": ",
                     ncclGetErrorString(result), more && *more ? ": " : "",
                     more ? more : "",
                     result == ncclRemoteError
                         ? "; another rank has failed or its machine is gone"
                         : "");
  }

  Status load() {
    const std::string name = "libnccl.so.2";
    ZC_ASSIGN_OR_RETURN(void *library, cuda::openLibrary(name));
    return cuda::findSymbols(library, name,
                             {
#define F(name) {#name, reinterpret_cast<void **>(&name)},
                                 ZC_NCCL_FUNCTIONS(F)
#undef F
                             });
  }

  /// Opened once a process.
  static Result<const Nccl *> open() {
    static std::mutex mutex;
    static Nccl nccl;
    static bool opened = false;
    std::lock_guard<std::mutex> lock(mutex);
    // Two groups of a program may be under way at once, in a graph: all ranks
    // must begin them in one order.
    ::setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", /*overwrite=*/0);
    if (!opened)
      ZC_RETURN_IF_ERROR(nccl.load());
    opened = true;
    return &nccl;
  }
};

#define ZC_NCCL_CALL(comm, name, ...)                                          \
  ZC_RETURN_IF_ERROR(nccl.check(nccl.name(__VA_ARGS__), #name, comm))

Result<ncclDataType_t> typeOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return ncclFloat32;
  case ElementType::F64:
    return ncclFloat64;
  case ElementType::F16:
    return ncclFloat16;
  case ElementType::BF16:
    return ncclBfloat16;
  case ElementType::I8:
    return ncclInt8;
  case ElementType::U8:
  case ElementType::Bool:
    return ncclUint8;
  case ElementType::I32:
    return ncclInt32;
  case ElementType::U32:
    return ncclUint32;
  case ElementType::I64:
    return ncclInt64;
  case ElementType::U64:
    return ncclUint64;
  default:
    return makeError(StatusCode::Unsupported,
                     "NCCL reduces no integers of 16 bits");
  }
}

/// One collective with its addresses. Data without sums are sent as bytes.
class NcclCollective final : public Collective {
public:
  NcclCollective(const Nccl &nccl, ncclComm_t comm,
                 const DeviceGroupPlace &place, const CollectiveLaunch &launch,
                 ncclDataType_t type)
      : nccl(nccl), comm(comm), rank(place.rank), size(place.size),
        stream(static_cast<cudaStream_t>(place.stream)), launch(launch),
        type(type), op(launch.reduction == Reduction::Max ? ncclMax : ncclSum) {
  }

  Status run() override {
    const CollectiveShape &shape = launch.shape;
    const void *from = launch.source;
    void *to = launch.destination;
    const size_t all = size_t(shape.elements), part = all / size_t(size);
    const size_t bytes = size_t(shape.elementBytes);
    const int root = int(shape.root);
    switch (shape.kind) {
    case plan::ALL_REDUCE:
      ZC_NCCL_CALL(comm, ncclAllReduce, from, to, all, type, op, comm, stream);
      return Status();
    case plan::REDUCE_SCATTER:
      ZC_NCCL_CALL(comm, ncclReduceScatter, from, to, part, type, op, comm,
                   stream);
      return Status();
    case plan::REDUCE:
      ZC_NCCL_CALL(comm, ncclReduce, from, to, all, type, op, root, comm,
                   stream);
      return Status();
    case plan::ALL_GATHER:
      ZC_NCCL_CALL(comm, ncclAllGather, from, to, part * bytes, ncclUint8, comm,
                   stream);
      return Status();
    case plan::BROADCAST:
      ZC_NCCL_CALL(comm, ncclBroadcast, from, to, all * bytes, ncclUint8, root,
                   comm, stream);
      return Status();
    default:
      return runMessages(part * bytes, all * bytes);
    }
  }

private:
  /// Runs what NCCL has as messages at once: `part` and `all` in bytes.
  Status runMessages(size_t part, size_t all) {
    const CollectiveShape &shape = launch.shape;
    const int root = int(shape.root);
    ZC_RETURN_IF_ERROR(
        nccl.check(nccl.ncclGroupStart(), "ncclGroupStart", comm));
    Status status;
    switch (shape.kind) {
    case plan::ALL_TO_ALL:
      for (int peer = 0; status.ok() && peer < size; ++peer) {
        status = send(peer, peer * part, part);
        if (status.ok())
          status = receive(peer, peer * part, part);
      }
      break;
    case plan::SCATTER:
      for (int peer = 0; rank == root && status.ok() && peer < size; ++peer)
        status = send(peer, peer * part, part);
      if (status.ok())
        status = receive(root, 0, part);
      break;
    case plan::GATHER:
      status = send(root, 0, part);
      for (int peer = 0; rank == root && status.ok() && peer < size; ++peer)
        status = receive(peer, peer * part, part);
      break;
    default: // SEND_RECEIVE
      status = send(further(shape.shift), 0, all);
      if (status.ok())
        status = receive(further(-shape.shift), 0, all);
    }
    Status ended = nccl.check(nccl.ncclGroupEnd(), "ncclGroupEnd", comm);
    return status.ok() ? ended : status;
  }

  int further(int64_t distance) const {
    return int(((rank + distance) % size + size) % size);
  }
  Status send(int peer, size_t at, size_t bytes) {
    ZC_NCCL_CALL(comm, ncclSend, static_cast<const char *>(launch.source) + at,
                 bytes, ncclUint8, peer, comm, stream);
    return Status();
  }
  Status receive(int peer, size_t at, size_t bytes) {
    ZC_NCCL_CALL(comm, ncclRecv, static_cast<char *>(launch.destination) + at,
                 bytes, ncclUint8, peer, comm, stream);
    return Status();
  }

  const Nccl &nccl;
  ncclComm_t comm;
  const int rank, size;
  cudaStream_t stream;
  const CollectiveLaunch launch;
  const ncclDataType_t type;
  const ncclRedOp_t op;
};

class NcclGroup final : public DeviceGroup {
public:
  NcclGroup(const Nccl &nccl, DeviceGroupPlace place)
      : nccl(nccl), place(std::move(place)) {}
  ~NcclGroup() override { leave(); }

  Status join() {
    ncclUniqueId id;
    if (place.id.size() < sizeof(id))
      return makeError(StatusCode::Internal, "NCCL's id is too short");
    std::memcpy(&id, place.id.data(), sizeof(id));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ZC_NCCL_CALL(nullptr, ncclCommInitRankConfig, &comm, place.size, id,
                 place.rank, &config);
    return Status();
  }

  Result<bool> isReady() override {
    std::lock_guard<std::mutex> lock(mutex);
    if (!comm)
      return makeError(StatusCode::Cancelled, "NCCL's group was ended");
    ncclResult_t state = ncclSuccess;
    ZC_NCCL_CALL(comm, ncclCommGetAsyncError, comm, &state);
    ZC_RETURN_IF_ERROR(nccl.check(state, "NCCL", comm));
    return state != ncclInProgress;
  }

  Result<std::unique_ptr<Collective>>
  prepare(const CollectiveLaunch &launch) override {
    ZC_ASSIGN_OR_RETURN(ncclDataType_t type, typeOf(launch.type));
    return std::unique_ptr<Collective>(
        std::make_unique<NcclCollective>(nccl, comm, place, launch, type));
  }

  void abort() override {
    std::lock_guard<std::mutex> lock(mutex);
    if (comm)
      nccl.ncclCommAbort(comm);
    comm = nullptr;
  }

private:
  void leave() {
    if (!comm)
      return;
    auto end = std::chrono::steady_clock::now() + kLeaveTime;
    ncclResult_t state = nccl.ncclCommFinalize(comm);
    while (state == ncclInProgress && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(kRest);
      if (nccl.ncclCommGetAsyncError(comm, &state) != ncclSuccess)
        break;
    }
    if (state == ncclSuccess)
      nccl.ncclCommDestroy(comm);
    else
      nccl.ncclCommAbort(comm);
  }

  const Nccl &nccl;
  const DeviceGroupPlace place;
  std::mutex mutex; // the threads of two streams may wait, one of them fail
  ncclComm_t comm = nullptr;
};

} // namespace
} // namespace zc

#define ZC_EXPORT extern "C" __attribute__((visibility("default")))

ZC_EXPORT int zcDeviceGroupPluginVersion() {
  return zc::kDeviceGroupPluginVersion;
}

ZC_EXPORT void zcMakeDeviceGroupId(std::string &made, zc::Status &status) {
  auto nccl = zc::Nccl::open();
  ncclUniqueId id;
  status = nccl.ok() ? (*nccl)->check((*nccl)->ncclGetUniqueId(&id),
                                      "ncclGetUniqueId", nullptr)
                     : nccl.status();
  if (status.ok())
    made.assign(id.internal, sizeof(id.internal));
}

ZC_EXPORT zc::DeviceGroup *zcJoinDeviceGroup(const zc::DeviceGroupPlace &place,
                                             zc::Status &status) {
  auto nccl = zc::Nccl::open();
  if (!nccl.ok()) {
    status = nccl.status();
    return nullptr;
  }
  auto group = std::make_unique<zc::NcclGroup>(**nccl, place);
  status = group->join();
  return status.ok() ? group.release() : nullptr;
}
