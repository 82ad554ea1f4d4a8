// The links that roles send over. All ranks of a role send at once, so that one
// of them stands for all. Where the devices of a block share links, ranks of
// other roles in their block take a part of these; where they do not send, the
// others have it.
#ifndef ZC_RUNTIME_SIMULATE_ROLELINKS_H
#define ZC_RUNTIME_SIMULATE_ROLELINKS_H

#include "runtime/Simulate/SharedLinks.h"
#include "runtime/Simulate/TimedPrograms.h"

#include <map>
#include <vector>

namespace zc {

class RoleLinks {
public:
  RoleLinks(const Cluster &cluster, const Mesh &mesh,
            const TimedPrograms &programs);

  /// Adds the links that are taken if each rank of a role sends, or receives,
  /// so many bytes over a level.
  void take(uint32_t role, size_t level, bool isIn, double bytes,
            std::vector<SharedLinks::Use> &uses);

  /// The bytes that would have kept a rank's share of the level busy as long as
  /// the role's busiest links were: its own, or its block's.
  double busyBytes(uint32_t role, size_t level) const;

  SharedLinks &links() { return shared; }

private:
  /// How many ranks of which roles a block holds. Blocks that hold the same are
  /// one.
  using Members = std::map<uint32_t, int64_t>;
  /// A block whose links do not suffice for all of its ranks at once.
  struct Block {
    size_t level, link; // out; in is the next one
    Members members;
  };

  void addBlocks(const Mesh &mesh, const TimedPrograms &programs, size_t level);
  void addBlock(size_t level, const Members &members);
  /// The own link of one rank of a role.
  size_t linkOf(uint32_t role, size_t level, bool isIn) const {
    return (role * cluster.levels.size() + level) * 2 + isIn;
  }
  double &rateOf(uint32_t role, size_t level) {
    return rates[role * cluster.levels.size() + level];
  }

  const Cluster &cluster;
  SharedLinks shared;
  std::vector<double> rates; // of a rank's own links, by role and level
  std::vector<double> sent;  // bytes of a rank, by role and level
  std::vector<Block> blocks;
};

} // namespace zc

#endif // ZC_RUNTIME_SIMULATE_ROLELINKS_H
