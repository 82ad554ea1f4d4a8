//===- OffloadTimes.cpp - when copies begin and are waited for ------------===//
#include "passes/Scheduling/OffloadTimes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <deque>
#include <map>

namespace zc {

double estimateCopySeconds(const MachineRates &rates, int64_t bytes) {
  return rates.copy.seconds + static_cast<double>(bytes) / rates.copy.bytes;
}

namespace {

/// Copies that are needed, or begin, at the same time.
struct Group {
  unsigned time = 0;
  int64_t bytes = 0;
  std::vector<OffloadCopy *> copies;
};

std::vector<Group> groupByTime(std::vector<OffloadCopy> &copies, bool fetches) {
  std::map<unsigned, Group> byTime;
  for (OffloadCopy &copy : copies) {
    if (copy.isFetch != fetches)
      continue;
    Group &group = byTime[fetches ? copy.needed : copy.earliest];
    group.time = fetches ? copy.needed : copy.earliest;
    group.bytes += copy.bytes;
    group.copies.push_back(&copy);
  }
  std::vector<Group> groups;
  for (auto &[time, group] : byTime)
    groups.push_back(std::move(group));
  return groups;
}

int64_t mostBytes(llvm::ArrayRef<Group> groups) {
  int64_t most = 0;
  for (const Group &group : groups)
    most = std::max(most, group.bytes);
  return 2 * most;
}

} // namespace

/// Starts each fetch as late as it still arrives in time.
static void placeFetches(const MachineRates &rates,
                         llvm::ArrayRef<double> seconds,
                         llvm::ArrayRef<Group> groups) {
  const int64_t most = mostBytes(groups);
  unsigned previous = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    // Groups on their way or waiting for their use count, this one included.
    int64_t bytes = 0;
    size_t first = i + 1;
    while (first > 0 && bytes + groups[first - 1].bytes <= most)
      bytes += groups[--first].bytes;
    unsigned lowest = first == 0 ? 0 : groups[first - 1].time + 1;
    lowest = std::min(std::max(lowest, previous), groups[i].time);
    unsigned time = groups[i].time;
    double wanted = 0, given = 0;
    for (const OffloadCopy *copy : groups[i].copies)
      wanted += estimateCopySeconds(rates, copy->bytes);
    while (time > lowest && given < wanted)
      given += seconds[--time];
    previous = time;
    for (OffloadCopy *copy : groups[i].copies)
      copy->time = std::max(time, std::min(copy->earliest, copy->needed));
  }
}

namespace {

/// Runs the streams by the cost model to see when stores have ended.
class StoreWaits {
public:
  StoreWaits(const Target &target, llvm::ArrayRef<double> seconds,
             std::vector<OffloadCopy> &copies, StoreRoom room)
      : rates(target.rates()), isDuplex(target.runsBesideHost()),
        seconds(seconds), copies(copies) {
    for (const Group &group : groupByTime(copies, /*fetches=*/false))
      stores[group.time] = group.copies;
    if (room == StoreRoom::Quick)
      most = mostBytes(groupByTime(copies, /*fetches=*/false));
    for (OffloadCopy &copy : copies) {
      if (!copy.isFetch)
        continue;
      beginning[copy.time].push_back(&copy);
      needed[copy.needed].push_back(&copy);
    }
  }

  /// Returns the seconds in which nothing but copies runs.
  double run() {
    double working = 0;
    for (unsigned time = 0; time < seconds.size(); ++time) {
      for (OffloadCopy *store : stores[time]) {
        ends[store] = send(*store);
        underWay.push_back({ends[store], store});
        bytes += store->bytes;
      }
      while (!underWay.empty() &&
             (bytes > most || underWay.front().first <= now))
        wait(time);
      for (OffloadCopy *fetch : beginning[time])
        ends[fetch] = send(*fetch);
      for (OffloadCopy *fetch : needed[time])
        now = std::max(now, ends[fetch]);
      while (!isDuplex && !underWay.empty() && underWay.front().first <= now) {
        underWay.front().second->endsBesideFetches = true;
        wait(time);
      }
      now += seconds[time];
      working += seconds[time];
    }
    for (OffloadCopy *store : stores[seconds.size()])
      send(*store);
    return std::max({now, linkFree[0], linkFree[1]}) - working;
  }

private:
  double send(const OffloadCopy &copy) {
    double &free = linkFree[isDuplex && copy.isFetch];
    double begin = std::max(free, now);
    if (copy.behind != OffloadCopy::kNothing)
      begin = std::max(begin, ends[&copies[copy.behind]]);
    return free = begin + estimateCopySeconds(rates, copy.bytes);
  }

  void wait(unsigned time) {
    auto [end, store] = underWay.front();
    underWay.pop_front();
    now = std::max(now, end);
    bytes -= store->bytes;
    store->time = time;
  }

  const MachineRates &rates;
  const bool isDuplex; // both directions at once
  llvm::ArrayRef<double> seconds;
  std::vector<OffloadCopy> &copies;
  std::map<unsigned, std::vector<OffloadCopy *>> stores, beginning, needed;
  std::deque<std::pair<double, OffloadCopy *>> underWay; // by their end
  std::map<const OffloadCopy *, double> ends;
  int64_t bytes = 0, most = 0;
  double now = 0, linkFree[2] = {0, 0};
};

} // namespace

double chooseOffloadTimes(const Target &target, llvm::ArrayRef<double> seconds,
                          std::vector<OffloadCopy> &copies, StoreRoom room) {
  placeFetches(target.rates(), seconds, groupByTime(copies, /*fetches=*/true));
  return StoreWaits(target, seconds, copies, room).run();
}

} // namespace zc
