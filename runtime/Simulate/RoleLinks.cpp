#include "runtime/Simulate/RoleLinks.h"

#include <algorithm>
#include <set>

namespace zc {

RoleLinks::RoleLinks(const Cluster &cluster, const Mesh &mesh,
                     const TimedPrograms &programs)
    : cluster(cluster) {
  const auto roles = uint32_t(mesh.roles());
  for (uint32_t role = 0; role < roles; ++role)
    for (const LinkLevel &level : cluster.levels)
      rates.push_back(level.isShared() ? level.aloneBytesPerSecond
                                       : level.bytesPerSecond);
  sent.resize(rates.size());
  // A rank's own links stand in front of those of blocks.
  size_t numLinks = 2 * rates.size();
  for (size_t level = 1; level < cluster.levels.size(); ++level)
    if (cluster.levels[level].isShared())
      addBlocks(mesh, programs, level);
  for (Block &block : blocks) {
    block.link = numLinks;
    numLinks += 2;
  }
  for (double rate : rates)
    for (int direction = 0; direction < 2; ++direction)
      shared.addLink(rate);
  for (const Block &block : blocks)
    for (int direction = 0; direction < 2; ++direction)
      shared.addLink(cluster.levels[block.level].bytesPerSecond *
                     double(cluster.levels[block.level - 1].size));
}

void RoleLinks::addBlocks(const Mesh &mesh, const TimedPrograms &programs,
                          size_t level) {
  const int64_t size = cluster.levels[level - 1].size;
  std::map<int64_t, Members> all;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
    ++all[programs.deviceOf(mesh, int(rank)) / size][uint32_t(mesh.role(rank))];
  std::set<Members> different;
  for (const auto &[number, members] : all)
    different.insert(members);
  for (const Members &members : different)
    addBlock(level, members);
}

void RoleLinks::addBlock(size_t level, const Members &members) {
  const LinkLevel &links = cluster.levels[level];
  const double size = double(cluster.levels[level - 1].size);
  double count = 0;
  for (auto [role, ranks] : members)
    count += double(ranks);
  constexpr double kRounded = 1 + 1e-9; // rates are quotients
  if (count * links.aloneBytesPerSecond <=
      links.bytesPerSecond * size * kRounded)
    return;
  if (members.size() > 1) {
    blocks.push_back({level, 0, members});
    return;
  }
  // Equal ranks always share alike.
  double &rate = rateOf(members.begin()->first, level);
  rate = std::min(rate, count == size ? links.bytesPerSecond
                                      : links.bytesPerSecond * size / count);
}

void RoleLinks::take(uint32_t role, size_t level, bool isIn, double bytes,
                     std::vector<SharedLinks::Use> &uses) {
  uses.push_back({linkOf(role, level, isIn), bytes});
  if (!isIn)
    sent[role * cluster.levels.size() + level] += bytes;
  for (const Block &block : blocks) {
    const auto found = block.members.find(role);
    if (block.level == level && found != block.members.end())
      uses.push_back({block.link + isIn, bytes, double(found->second)});
  }
}

double RoleLinks::busyBytes(uint32_t role, size_t level) const {
  auto sentBy = [&](uint32_t each) {
    return sent[each * cluster.levels.size() + level];
  };
  const LinkLevel &links = cluster.levels[level];
  if (!links.isShared())
    return sentBy(role);
  double busy = sentBy(role) * links.bytesPerSecond /
                rates[role * cluster.levels.size() + level];
  for (const Block &block : blocks) {
    if (block.level != level || block.members.count(role) == 0)
      continue;
    double all = 0;
    for (auto [other, ranks] : block.members)
      all += sentBy(other) * double(ranks);
    busy = std::max(busy, all / double(cluster.levels[level - 1].size));
  }
  return busy;
}

} // namespace zc
