//===- HostMemory.h - what a plan keeps in its hosts' memory ----*- C++ -*-===//
#ifndef ZC_COMPILER_PLAN_HOSTMEMORY_H
#define ZC_COMPILER_PLAN_HOSTMEMORY_H

#include "runtime/Plan/Mesh.h"
#include "runtime/Simulate/TimedPrograms.h"

#include <vector>

namespace zc {

/// Bytes of the second memory, which the devices of a node share.
struct HostMemory {
  uint64_t rankBytes = 0; // of the rank that needs most
  uint64_t nodeBytes = 0; // of the node whose ranks need most together
  int64_t nodeRanks = 0;  // ranks of that node
  int64_t node = 0;       // its number
};

/// `offloaded`: bytes of a rank of each role. `programs` says on which devices
/// ranks stand. A node is a block of the cluster's innermost level.
HostMemory measureHostMemory(const Mesh &mesh, const Cluster &cluster,
                             const std::vector<uint64_t> &offloaded,
                             const TimedPrograms &programs);

} // namespace zc

#endif // ZC_COMPILER_PLAN_HOSTMEMORY_H
