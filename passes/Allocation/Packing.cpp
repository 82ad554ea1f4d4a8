//===- Packing.cpp - intervals into as few bytes as possible --------------===//
//
// Dynamic storage allocation, NP-hard. Items are placed one by one, each into
// the tightest gap between the placed items that it meets in time; what differs
// is the order in which they come. While the best result lies above the lower
// bound, the items that stick out are moved to the front and the placement is
// tried again.
//
//===----------------------------------------------------------------------===//
#include "passes/Allocation/Packing.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace zc {

namespace {

// Rounds of moving the highest items to the front, per program; fewer where the
// pairs of items to compare would be too many.
constexpr size_t kMaxRounds = 24;
constexpr size_t kMaxComparisons = 1'000'000'000;

using Order = std::vector<unsigned>;
using Less = std::function<bool(unsigned, unsigned)>;

class Packer {
public:
  Packer(const std::vector<PackingItem> &items, int64_t alignment)
      : items(items) {
    for (const PackingItem &item : items)
      sizes.push_back((item.bytes + alignment - 1) / alignment * alignment);
  }

  Packing run();

private:
  int64_t computeLowerBound() const;
  std::vector<Order> makeOrders() const;
  Order sorted(const Less &less) const;
  Packing place(const Order &order) const;
  int64_t findGap(unsigned item, const Order &placed,
                  const std::vector<int64_t> &offsets) const;
  void improve(Packing &best, Order order) const;

  bool meet(unsigned a, unsigned b) const {
    return items[a].first <= items[b].last && items[b].first <= items[a].last;
  }

  const std::vector<PackingItem> &items;
  std::vector<int64_t> sizes; // aligned
};

} // namespace

int64_t Packer::computeLowerBound() const {
  std::vector<std::pair<unsigned, int64_t>> changes;
  for (unsigned i = 0; i < items.size(); ++i) {
    changes.push_back({items[i].first, sizes[i]});
    changes.push_back({items[i].last + 1, -sizes[i]});
  }
  std::sort(changes.begin(), changes.end());
  int64_t live = 0, most = 0;
  for (auto [time, change] : changes) {
    live += change;
    most = std::max(most, live);
  }
  return most;
}

Order Packer::sorted(const Less &less) const {
  Order order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), less);
  return order;
}

std::vector<Order> Packer::makeOrders() const {
  auto length = [&](unsigned i) { return items[i].last - items[i].first + 1; };
  auto area = [&](unsigned i) {
    return static_cast<double>(sizes[i]) * length(i);
  };
  return {
      sorted([&](unsigned a, unsigned b) { return sizes[a] > sizes[b]; }),
      sorted([&](unsigned a, unsigned b) { return area(a) > area(b); }),
      sorted([&](unsigned a, unsigned b) {
        return std::pair(length(a), sizes[a]) > std::pair(length(b), sizes[b]);
      }),
      sorted([&](unsigned a, unsigned b) {
        return std::pair(items[a].first, -sizes[a]) <
               std::pair(items[b].first, -sizes[b]);
      }),
      sorted([&](unsigned a, unsigned b) {
        return std::pair(items[a].last, sizes[a]) >
               std::pair(items[b].last, sizes[b]);
      }),
  };
}

// The smallest gap that holds the item between those that it meets in time,
// else their end. `placed` is sorted by offset.
int64_t Packer::findGap(unsigned item, const Order &placed,
                        const std::vector<int64_t> &offsets) const {
  int64_t end = 0, best = -1;
  int64_t bestGap = std::numeric_limits<int64_t>::max();
  for (unsigned other : placed) {
    if (!meet(item, other))
      continue;
    int64_t gap = offsets[other] - end;
    if (gap >= sizes[item] && gap < bestGap) {
      best = end;
      bestGap = gap;
    }
    end = std::max(end, offsets[other] + sizes[other]);
  }
  return best >= 0 ? best : end;
}

Packing Packer::place(const Order &order) const {
  Packing packing;
  packing.offsets.resize(items.size());
  Order placed;
  for (unsigned item : order) {
    int64_t offset = findGap(item, placed, packing.offsets);
    packing.offsets[item] = offset;
    packing.bytes = std::max(packing.bytes, offset + sizes[item]);
    auto position = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](int64_t o, unsigned other) { return o < packing.offsets[other]; });
    placed.insert(position, item);
  }
  return packing;
}

void Packer::improve(Packing &best, Order order) const {
  size_t comparisons = items.size() * items.size() / 2 + 1;
  size_t rounds = std::min(kMaxRounds, kMaxComparisons / comparisons);
  for (size_t round = 0; round < rounds; ++round) {
    Packing packing = place(order);
    bool better = packing.bytes < best.bytes;
    auto sticksOut = [&](unsigned item) {
      return packing.offsets[item] + sizes[item] > best.lowerBound;
    };
    if (better) {
      packing.lowerBound = best.lowerBound;
      best = packing;
    }
    if (best.bytes == best.lowerBound)
      return;
    std::stable_partition(order.begin(), order.end(), sticksOut);
  }
}

Packing Packer::run() {
  Packing best;
  best.bytes = std::numeric_limits<int64_t>::max();
  best.lowerBound = computeLowerBound();
  Order bestOrder;
  for (const Order &order : makeOrders()) {
    Packing packing = place(order);
    if (packing.bytes >= best.bytes)
      continue;
    packing.lowerBound = best.lowerBound;
    best = packing;
    bestOrder = order;
    if (best.bytes == best.lowerBound)
      return best;
  }
  improve(best, bestOrder);
  return best;
}

Packing packItems(const std::vector<PackingItem> &items, int64_t alignment) {
  return Packer(items, alignment).run();
}

} // namespace zc
