#include "runtime/Plan/Order/Versions.h"

#include <cassert>

namespace zc {

bool isWithoutFlush(const std::string &schedule) {
  return schedule == "2bw" || schedule == "stash";
}

uint32_t delayOf(const DelayRule &rule, uint32_t stage) {
  assert(stage < rule.stages && rule.microBatches > 0);
  if (!isWithoutFlush(rule.schedule))
    return 0;
  if (rule.schedule == "2bw")
    return 1;
  const uint32_t behind = rule.stages - 1 - (rule.verticalSync ? 0 : stage);
  return (behind + rule.microBatches - 1) / rule.microBatches;
}

} // namespace zc
