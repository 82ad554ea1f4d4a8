// Collectives among the ranks of a group. The interface is made for our own
// schedules over point-to-point messages (MPI, TCP, ranks that are threads of
// one process) and for libraries that bring collectives (NCCL); all ranks of a
// group call its collectives in the same order.
#ifndef ZC_RUNTIME_COMM_COMMUNICATOR_H
#define ZC_RUNTIME_COMM_COMMUNICATOR_H

#include "kernels/Spec.h"
#include "runtime/Base/Status.h"
#include "runtime/Plan/Collective/Cost.h"

#include <memory>

namespace zc {

using ElementType = kernels::ElementType;

enum class Reduction { Sum, Max };

/// A collective with its addresses; semantics are those of
/// plan::CollectiveCall.
struct CollectiveLaunch {
  CollectiveShape shape; // of as many ranks as the group has
  ElementType type = ElementType::F32;
  Reduction reduction = Reduction::Sum;
  const void *source = nullptr;
  void *destination = nullptr;
  // At least costOf(shape).workspaceBytes; null: the communicator brings it.
  void *workspace = nullptr;
};

/// A collective made ready; running it allocates nothing.
class Collective {
public:
  virtual ~Collective() = default;
  virtual Status run() = 0;
};

class Communicator {
public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Bytes that this rank has handed to others through this group.
  virtual uint64_t sentBytes() const = 0;

  virtual Result<std::unique_ptr<Collective>>
  prepare(const CollectiveLaunch &launch) = 0;

  // Where run() puts a collective on a device's stream and returns:

  /// Fails once one that is under way cannot end. NCCL: ncclCommGetAsyncError.
  virtual Status check() { return Status(); }
  /// Ends those that are under way; the group is of no use then.
  virtual void abort() {}

  // For once: made ready and run.

  Status barrier();
  /// Everyone gets root's bytes.
  Status broadcast(void *data, uint64_t bytes, int root);
  /// Everyone gets the reduction of all, in place.
  Status allReduce(void *data, int64_t count, ElementType type,
                   Reduction reduction);
  /// `all` has size() parts of `bytes`, rank r's at r.
  Status allGather(const void *part, void *all, uint64_t bytes);
  /// `part` gets this rank's `count` elements of the reduction over all ranks'
  /// `all`, which has size() times as many.
  Status reduceScatter(const void *all, void *part, int64_t count,
                       ElementType type, Reduction reduction);

private:
  Status runOnce(const CollectiveLaunch &launch);
};

} // namespace zc

#endif // ZC_RUNTIME_COMM_COMMUNICATOR_H
