//===- Packing.cpp - intervals into as few bytes as possible --------------===//
//
// Dynamic storage allocation, NP-hard. Items are placed one by one, each into
// the tightest gap between the placed items that it meets in time; attempts
// differ in the order of the items. While the best result lies above the lower
// bound, the items that stick out are moved to the front and the placement is
// tried again: from the best order first, from others while it is far above.
//
//===----------------------------------------------------------------------===//
#include "passes/Allocation/Packing.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace zc {

namespace {

// Rounds of moving the highest items to the front, per program; fewer where the
// pairs of items to compare would be too many.
constexpr size_t kMaxRounds = 24;
constexpr size_t kMaxComparisons = 1'000'000'000;
// A part of the lower bound; closer to it no other order is begun with.
constexpr int64_t kCloseEnough = 1000;

using Order = std::vector<unsigned>;
using Less = std::function<bool(unsigned, unsigned)>;

/// An item where it was put, with all that others ask of it in one place: the
/// placement spends its time on walks over these.
struct PlacedItem {
  int64_t offset, end;
  unsigned item, first, last;

  bool operator<(const PlacedItem &other) const {
    return offset != other.offset ? offset < other.offset : item < other.item;
  }
};

/// Placed items by their offsets: the brief ones of each stretch of time, for
/// most items are brief and meet few others; those that last; and all of them,
/// for items that last.
class PlacedItems {
public:
  explicit PlacedItems(const std::vector<PackingItem> &items) : items(items) {
    for (const PackingItem &item : items)
      end = std::max<size_t>(end, item.last + 1);
    stretch = std::max<size_t>(1, end * kItemsPerStretch / (items.size() + 1));
    stretches.resize(end / stretch + 1);
  }

  void insert(const PlacedItem &item) {
    recent.push_back(item);
    if (lasts(item.item))
      return insertInto(lasting, item);
    for (size_t i = firstOf(item.item); i <= lastOf(item.item); ++i)
      insertInto(stretches[i], item);
  }

  /// Calls `body` with all that may meet an item in time, by offset.
  template <typename Body> void forEachNear(unsigned item, const Body &body) {
    if (lasts(item))
      return walk(getAll(), {}, body);
    walk(findBrief(item), lasting, body);
  }

private:
  using Items = std::vector<PlacedItem>;
  static constexpr size_t kItemsPerStretch = 16, kMostJoined = 8;

  size_t firstOf(unsigned item) const { return items[item].first / stretch; }
  size_t lastOf(unsigned item) const { return items[item].last / stretch; }
  bool lasts(unsigned item) const {
    return lastOf(item) - firstOf(item) > kMostJoined;
  }

  /// Few items ask for all: those placed meanwhile are sorted in at once.
  const Items &getAll() {
    std::sort(recent.begin(), recent.end());
    const auto sorted = static_cast<ptrdiff_t>(all.size());
    all.insert(all.end(), recent.begin(), recent.end());
    std::inplace_merge(all.begin(), all.begin() + sorted, all.end());
    recent.clear();
    return all;
  }

  /// The brief items that may meet a brief one; until the next call.
  const Items &findBrief(unsigned item) {
    const size_t first = firstOf(item), last = lastOf(item);
    if (first == last)
      return stretches[first];
    near = stretches[first];
    for (size_t i = first + 1; i <= last; ++i) {
      joined.clear();
      std::set_union(near.begin(), near.end(), stretches[i].begin(),
                     stretches[i].end(), std::back_inserter(joined));
      near.swap(joined);
    }
    return near;
  }

  /// The items of two sorted lists by offset.
  template <typename Body>
  static void walk(const Items &some, const Items &others, const Body &body) {
    auto other = others.begin();
    for (const PlacedItem &each : some) {
      for (; other != others.end() && *other < each; ++other)
        body(*other);
      body(each);
    }
    for (; other != others.end(); ++other)
      body(*other);
  }

  static void insertInto(Items &order, const PlacedItem &item) {
    order.insert(std::upper_bound(order.begin(), order.end(), item), item);
  }

  const std::vector<PackingItem> &items;
  size_t end = 1, stretch = 1;
  Items all, recent, lasting, near, joined;
  std::vector<Items> stretches;
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
  int64_t findGap(unsigned item, PlacedItems &placed) const;
  void improve(Packing &best, Order order) const;

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
int64_t Packer::findGap(unsigned item, PlacedItems &placed) const {
  const auto [first, last] = std::pair(items[item].first, items[item].last);
  const int64_t size = sizes[item];
  int64_t end = 0, best = -1;
  int64_t bestGap = std::numeric_limits<int64_t>::max();
  auto passBy = [&, first = first, last = last](const PlacedItem &other) {
    if (other.first > last || other.last < first)
      return;
    int64_t gap = other.offset - end;
    if (gap >= size && gap < bestGap) {
      best = end;
      bestGap = gap;
    }
    end = std::max(end, other.end);
  };
  placed.forEachNear(item, passBy);
  return best >= 0 ? best : end;
}

Packing Packer::place(const Order &order) const {
  Packing packing;
  packing.offsets.resize(items.size());
  PlacedItems placed(items);
  for (unsigned item : order) {
    const int64_t offset = findGap(item, placed), end = offset + sizes[item];
    packing.offsets[item] = offset;
    packing.bytes = std::max(packing.bytes, end);
    placed.insert({offset, end, item, unsigned(items[item].first),
                   unsigned(items[item].last)});
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
  std::vector<std::pair<int64_t, Order>> tried;
  for (Order &order : makeOrders()) {
    Packing packing = place(order);
    tried.emplace_back(packing.bytes, std::move(order));
    if (packing.bytes >= best.bytes)
      continue;
    packing.lowerBound = best.lowerBound;
    best = packing;
    if (best.bytes == best.lowerBound)
      return best;
  }
  std::stable_sort(
      tried.begin(), tried.end(),
      [](const auto &a, const auto &b) { return a.first < b.first; });
  for (auto &[bytes, order] : tried) {
    improve(best, std::move(order));
    if (best.bytes <= best.lowerBound + best.lowerBound / kCloseEnough)
      break;
  }
  return best;
}

Packing packItems(const std::vector<PackingItem> &items, int64_t alignment) {
  return Packer(items, alignment).run();
}

} // namespace zc
