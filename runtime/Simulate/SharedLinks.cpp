#include "runtime/Simulate/SharedLinks.h"

#include <algorithm>
#include <limits>

namespace zc {

size_t SharedLinks::addLink(double bytesPerSecond) {
  links.push_back(bytesPerSecond);
  room.push_back(0);
  demand.push_back(0);
  return links.size() - 1;
}

SharedLinks::Id SharedLinks::begin(double now, std::vector<Use> uses) {
  advance(now);
  Transfer transfer;
  for (const Use &use : uses)
    if (links[use.link] > 0)
      transfer.alone = std::max(transfer.alone, use.bytes / links[use.link]);
  transfer.uses = std::move(uses);
  Id id;
  if (free.empty()) {
    id = Id(transfers.size());
    transfers.push_back(std::move(transfer));
  } else {
    id = free.back();
    free.pop_back();
    transfers[id] = std::move(transfer);
  }
  active.push_back(id);
  shareOut();
  return id;
}

void SharedLinks::end(double now, Id id) {
  advance(now);
  active.erase(std::find(active.begin(), active.end(), id));
  free.push_back(id);
  shareOut();
}

bool SharedLinks::next(Id &id, double &time) const {
  double soonest = std::numeric_limits<double>::infinity();
  for (Id each : active) {
    const Transfer &transfer = transfers[each];
    const double ends =
        transfer.left > 0 ? last + transfer.left * transfer.alone /
                                       transfer.speed
                          : last;
    if (ends < soonest) {
      soonest = ends;
      id = each;
    }
  }
  time = soonest;
  return !active.empty();
}

void SharedLinks::advance(double now) {
  const double passed = now - last;
  last = now;
  if (passed <= 0)
    return;
  for (Id each : active) {
    Transfer &transfer = transfers[each];
    if (transfer.alone > 0)
      transfer.left = std::max(
          0.0, transfer.left - passed * transfer.speed / transfer.alone);
  }
}

/// All speeds grow alike; the transfers of a link that is full stop growing.
void SharedLinks::shareOut() {
  if (active.size() == 1) {
    transfers[active.front()].speed = 1;
    return;
  }
  std::fill(room.begin(), room.end(), 1.0);
  std::vector<Id> growing = active;
  for (Id each : growing)
    transfers[each].speed = 0;
  // Of a link, what a transfer asks for at full speed.
  auto share = [&](const Transfer &transfer, const Use &use) {
    return links[use.link] > 0 && transfer.alone > 0
               ? use.bytes / links[use.link] / transfer.alone
               : 0.0;
  };
  double speed = 0;
  while (!growing.empty()) {
    std::fill(demand.begin(), demand.end(), 0.0);
    for (Id each : growing)
      for (const Use &use : transfers[each].uses)
        demand[use.link] += share(transfers[each], use);
    double grow = 1 - speed;
    for (size_t link = 0; link < links.size(); ++link)
      if (demand[link] > 0)
        grow = std::min(grow, room[link] / demand[link]);
    speed += grow;
    for (size_t link = 0; link < links.size(); ++link)
      room[link] -= grow * demand[link];
    constexpr double kFull = 1e-12;
    auto stops = [&](Id each) {
      transfers[each].speed = speed;
      if (speed >= 1 - kFull)
        return true;
      for (const Use &use : transfers[each].uses)
        if (room[use.link] <= kFull && share(transfers[each], use) > 0)
          return true;
      return false;
    };
    growing.erase(std::remove_if(growing.begin(), growing.end(), stops),
                  growing.end());
  }
}

} // namespace zc
