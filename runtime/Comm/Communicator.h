// Ranks talking to each other. The interface is made for MPI, NCCL and ranks
// that are threads of one process; collectives are called by all ranks of a
// communicator in the same order.
#ifndef ZC_RUNTIME_COMM_COMMUNICATOR_H
#define ZC_RUNTIME_COMM_COMMUNICATOR_H

#include "kernels/Spec.h"
#include "runtime/Base/Status.h"

#include <chrono>

namespace zc {

using ElementType = kernels::ElementType;

enum class Reduction { Sum, Max };

/// One message of an exchange. A side without bytes takes no part.
struct Exchange {
  int sendTo = 0;
  const void *send = nullptr;
  uint64_t sendBytes = 0;
  int receiveFrom = 0;
  void *receive = nullptr;
  uint64_t receiveBytes = 0;
};

class Communicator {
public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// A call that waits longer fails and names a rank that it waited for.
  virtual void setTimeout(std::chrono::milliseconds timeout) = 0;

  /// Bytes that this rank has handed to others since it began.
  virtual uint64_t sentBytes() const = 0;

  virtual Status barrier() = 0;

  /// Sends and receives at once. MPI: MPI_Sendrecv.
  virtual Status sendReceive(const Exchange &exchange) = 0;

  /// Everyone gets root's bytes.
  virtual Status broadcast(void *data, uint64_t bytes, int root) = 0;

  /// Everyone gets the reduction of all, in place.
  virtual Status allReduce(void *data, int64_t count, ElementType type,
                           Reduction reduction) = 0;

  /// `all` has size() parts of `bytes`, rank r's at r; `part` may be that
  /// place.
  virtual Status allGather(const void *part, void *all, uint64_t bytes) = 0;

  /// `part` gets this rank's `count` elements of the reduction over all ranks'
  /// `all`, which has size() times as many and is used up.
  virtual Status reduceScatter(void *all, void *part, int64_t count,
                               ElementType type, Reduction reduction) = 0;
};

} // namespace zc

#endif // ZC_RUNTIME_COMM_COMMUNICATOR_H
