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
      transfer.most = std::max(transfer.most, use.bytes);
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
    const double ends = last + transfer.left * transfer.seconds;
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
    if (transfer.seconds > 0)
      transfer.left = std::max(0.0, transfer.left - passed / transfer.seconds);
  }
}

/// The rates of all transfers grow alike; each stops when one of its links is
/// full.
void SharedLinks::shareOut() {
  std::copy(links.begin(), links.end(), room.begin());
  std::vector<Id> growing;
  for (Id each : active) {
    transfers[each].seconds = 0;
    if (transfers[each].most > 0)
      growing.push_back(each);
  }
  // The part of a transfer's rate that goes over a link.
  auto share = [&](const Transfer &transfer, const Use &use) {
    return links[use.link] > 0 ? use.bytes * use.ranks / transfer.most : 0.0;
  };
  double rate = 0; // bytes per second of a rank over its busiest link
  while (!growing.empty()) {
    std::fill(demand.begin(), demand.end(), 0.0);
    for (Id each : growing)
      for (const Use &use : transfers[each].uses)
        demand[use.link] += share(transfers[each], use);
    double grow = std::numeric_limits<double>::infinity();
    for (size_t link = 0; link < links.size(); ++link)
      if (demand[link] > 0)
        grow = std::min(grow, room[link] / demand[link]);
    rate += grow;
    for (size_t link = 0; link < links.size(); ++link)
      room[link] -= grow * demand[link];
    constexpr double kFull = 1e-12;
    auto stops = [&](Id each) {
      transfers[each].seconds = transfers[each].most / rate;
      for (const Use &use : transfers[each].uses)
        if (share(transfers[each], use) > 0 &&
            room[use.link] <= kFull * links[use.link])
          return true;
      return false;
    };
    growing.erase(std::remove_if(growing.begin(), growing.end(), stops),
                  growing.end());
  }
}

} // namespace zc
