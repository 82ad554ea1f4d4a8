// The rows that each expert has. Private to this folder.
#ifndef ZC_KERNELS_CPU_EXPERTROWS_H
#define ZC_KERNELS_CPU_EXPERTROWS_H

#include "kernels/Calls/GroupedMatmul.h"

#include <unordered_map>
#include <vector>

namespace zc::kernels {

/// The rows of a grouped product, those of each expert one after the other, in
/// their order.
class ExpertRows {
public:
  explicit ExpertRows(const GroupedMatmulSpec &spec)
      : spec(spec), order(spec.rows), experts(spec.rows),
        ends(spec.experts + 1) {}

  /// Sorts the rows by expert. The operands are GroupedMatmulSpec's `groups`
  /// and `ids`.
  void sort(const void *groups, const void *ids);

  /// An expert's rows are order()[begin(expert)] to order()[end(expert) - 1].
  int64_t begin(int64_t expert) const { return ends[expert]; }
  int64_t end(int64_t expert) const { return ends[expert + 1]; }
  const int32_t *at(int64_t place) const { return &order[place]; }

  /// Whether `count` rows from a place on lie one behind the other.
  bool isRun(int64_t place, int64_t count) const {
    return order[place + count - 1] - order[place] == count - 1;
  }

  /// Puts zeros where c's rows of no expert are.
  void clearOthers(char *c, int64_t rowBytes) const;

private:
  GroupedMatmulSpec spec;
  std::vector<int32_t> order, experts;         // by place; by row, -1 for none
  std::vector<int64_t> ends, begins;           // in `order`, of each expert
  std::unordered_map<int64_t, int32_t> places; // of ids
};

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_EXPERTROWS_H
