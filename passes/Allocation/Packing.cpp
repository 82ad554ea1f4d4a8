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

/// Placed items by their offsets, all of them and those of each stretch of
/// time: most items are short-lived and meet few others.
class PlacedItems {
public:
  PlacedItems(const std::vector<PackingItem> &items,
              const std::vector<int64_t> &offsets)
      : items(items), offsets(offsets) {
    for (const PackingItem &item : items)
      end = std::max<size_t>(end, item.last + 1);
    stretch = std::max<size_t>(1, end * kItemsPerStretch / (items.size() + 1));
    stretches.resize(end / stretch + 1);
  }

  void insert(unsigned item) {
    insertInto(all, item);
    for (size_t i = firstOf(item); i <= lastOf(item); ++i)
      insertInto(stretches[i], item);
  }

  /// Calls `visit` with all that may meet an item in time, by offset.
  template <typename Visit> void forEachNear(unsigned item, Visit visit) {
    const size_t first = firstOf(item), last = lastOf(item);
    if (first == last) {
      std::for_each(stretches[first].begin(), stretches[first].end(), visit);
      return;
    }
    if (last - first > kMostJoined) {
      std::for_each(all.begin(), all.end(), visit);
      return;
    }
    near.clear();
    for (size_t i = first; i <= last; ++i)
      near.insert(near.end(), stretches[i].begin(), stretches[i].end());
    std::sort(near.begin(), near.end(), [&](unsigned a, unsigned b) {
      return std::pair(offsets[a], a) < std::pair(offsets[b], b);
    });
    near.erase(std::unique(near.begin(), near.end()), near.end());
    std::for_each(near.begin(), near.end(), visit);
  }

private:
  static constexpr size_t kItemsPerStretch = 16, kMostJoined = 8;

  size_t firstOf(unsigned item) const { return items[item].first / stretch; }
  size_t lastOf(unsigned item) const { return items[item].last / stretch; }

  void insertInto(Order &order, unsigned item) {
    auto position = std::upper_bound(order.begin(), order.end(), offsets[item],
                                     [&](int64_t offset, unsigned other) {
                                       return offset < offsets[other];
                                     });
    order.insert(position, item);
  }

  const std::vector<PackingItem> &items;
  const std::vector<int64_t> &offsets;
  size_t end = 1, stretch = 1;
  Order all, near;
  std::vector<Order> stretches;
};

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
  int64_t findGap(unsigned item, PlacedItems &placed,
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
// else their end.
int64_t Packer::findGap(unsigned item, PlacedItems &placed,
                        const std::vector<int64_t> &offsets) const {
  int64_t end = 0, best = -1;
  int64_t bestGap = std::numeric_limits<int64_t>::max();
  placed.forEachNear(item, [&](unsigned other) {
    if (!meet(item, other))
      return;
    int64_t gap = offsets[other] - end;
    if (gap >= sizes[item] && gap < bestGap) {
      best = end;
      bestGap = gap;
    }
    end = std::max(end, offsets[other] + sizes[other]);
  });
  return best >= 0 ? best : end;
}

Packing Packer::place(const Order &order) const {
  Packing packing;
  packing.offsets.resize(items.size());
  PlacedItems placed(items, packing.offsets);
  for (unsigned item : order) {
    int64_t offset = findGap(item, placed, packing.offsets);
    packing.offsets[item] = offset;
    packing.bytes = std::max(packing.bytes, offset + sizes[item]);
    placed.insert(item);
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
