#include "compiler/Plan/HostMemory.h"

#include "runtime/Plan/Mesh.h"

#include <algorithm>
#include <map>

namespace zc {

/// The device that a rank stands on.
static int64_t deviceOf(int64_t rank, const Mesh &mesh,
                        const std::vector<std::string> &placement) {
  if (placement.empty())
    return rank;
  int64_t device = 0;
  for (const std::string &axis : placement) {
    AxisNames names;
    *names.Add() = axis;
    device = device * mesh.groupSize(names) + mesh.coordinate(rank, axis);
  }
  return device;
}

Result<HostMemory>
measureHostMemory(const plan::Manifest &manifest, const Cluster &cluster,
                  const std::vector<uint64_t> &offloaded,
                  const std::vector<std::string> &placement) {
  ZC_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::of(manifest));
  const int64_t size = cluster.levels.front().size;
  std::map<int64_t, HostMemory> nodes;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    const int64_t number = deviceOf(rank, mesh, placement) / size;
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
