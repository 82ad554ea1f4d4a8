#include "kernels/Cpu/ExpertRows.h"

#include <algorithm>
#include <cstring>

namespace zc::kernels {

static int64_t loadInteger(const void *values, ElementType type,
                           int64_t index) {
  return type == ElementType::I32 ? static_cast<const int32_t *>(values)[index]
                                  : static_cast<const int64_t *>(values)[index];
}

void ExpertRows::sort(const void *groups, const void *ids) {
  places.clear();
  bool areCounted = true; // 0, 1, 2 ...: nothing is looked up then
  for (int64_t expert = 0; expert < spec.experts; ++expert) {
    int64_t id = loadInteger(ids, spec.idType, expert);
    areCounted &= id == expert;
    places[id] = static_cast<int32_t>(expert);
  }
  auto find = [&](int64_t group) {
    if (areCounted)
      return group >= 0 && group < spec.experts ? static_cast<int32_t>(group)
                                                : -1;
    auto found = places.find(group);
    return found == places.end() ? -1 : found->second;
  };
  std::fill(ends.begin(), ends.end(), 0);
  for (int64_t row = 0; row < spec.rows; ++row) {
    experts[row] = find(loadInteger(groups, spec.groupType, row));
    if (experts[row] >= 0)
      ++ends[experts[row] + 1];
  }
  for (int64_t expert = 0; expert < spec.experts; ++expert)
    ends[expert + 1] += ends[expert];
  begins.assign(ends.begin(), ends.end());
  for (int64_t row = 0; row < spec.rows; ++row)
    if (experts[row] >= 0)
      order[begins[experts[row]]++] = static_cast<int32_t>(row);
}

void ExpertRows::clearOthers(char *c, int64_t rowBytes) const {
  for (int64_t row = 0; row < spec.rows; ++row)
    if (experts[row] < 0)
      std::memset(c + row * rowBytes, 0, rowBytes);
}

} // namespace zc::kernels
