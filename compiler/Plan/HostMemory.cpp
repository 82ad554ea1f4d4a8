#include "compiler/Plan/HostMemory.h"

#include <algorithm>
#include <map>

namespace zc {

HostMemory measureHostMemory(const Mesh &mesh, const Cluster &cluster,
                             const std::vector<uint64_t> &offloaded,
                             const TimedPrograms &programs) {
  const int64_t size = cluster.levels.front().size;
  std::map<int64_t, HostMemory> nodes;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    const int64_t number = programs.deviceOf(mesh, int(rank)) / size;
    HostMemory &node = nodes[number];
    node.node = number;
    node.nodeBytes += offloaded[size_t(mesh.role(rank))];
    ++node.nodeRanks;
  }
  HostMemory most;
  for (const auto &[number, node] : nodes)
    if (node.nodeBytes > most.nodeBytes)
      most = node;
  most.rankBytes = *std::max_element(offloaded.begin(), offloaded.end());
  return most;
}

} // namespace zc
