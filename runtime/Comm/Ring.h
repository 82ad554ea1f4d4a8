// Collectives as rings over point-to-point exchanges, for transports that have
// no better ones: every rank sends (p-1)/p of the data per pass, the least
// possible, and its bytes can be counted.
#ifndef ZC_RUNTIME_COMM_RING_H
#define ZC_RUNTIME_COMM_RING_H

#include "runtime/Comm/Communicator.h"

#include <string>

namespace zc {

/// A communicator that needs only barrier() and sendReceive() from its
/// transport.
class RingCommunicator : public Communicator {
public:
  Status broadcast(void *data, uint64_t bytes, int root) override;
  Status allReduce(void *data, int64_t count, ElementType type,
                   Reduction reduction) override;
  Status allGather(const void *part, void *all, uint64_t bytes) override;
  Status reduceScatter(void *all, void *part, int64_t count, ElementType type,
                       Reduction reduction) override;

private:
  struct Chunks; // how data are divided among the ranks
  Status reduceRound(char *data, const Chunks &chunks, ElementType type,
                     Reduction reduction);
  Status gatherRound(char *data, const Chunks &chunks);

  std::string staging; // grows to the largest chunk received
};

} // namespace zc

#endif // ZC_RUNTIME_COMM_RING_H
