// Schedules without flush: a role goes on to the next step's micro-batches
// before it has ended one, so that forwards and backwards read parameters that
// are some steps old. The version depends on step numbers alone, whatever the
// order: it is the one that a role has when 1f1b, never drained, begins the
// first forward of the step.
#ifndef ZC_RUNTIME_PLAN_ORDER_VERSIONS_H
#define ZC_RUNTIME_PLAN_ORDER_VERSIONS_H

#include <cstdint>
#include <string>

namespace zc {

/// "2bw" (PipeDream-2BW) and "stash" (PipeDream) have no flush.
bool isWithoutFlush(const std::string &schedule);

/// The numbers that decide how old the versions are.
struct DelayRule {
  std::string schedule;
  uint32_t stages = 1;
  uint32_t microBatches = 1; // of a step; at least 1
  bool verticalSync = false; // all stages have the first one's delay
};

/// How many steps old the parameters are that forwards and backwards of a stage
/// read: 0 with a flush; 1 by 2bw; by stash, the steps' worth of micro-batches
/// that are under way behind the stage, ceil((stages - 1 - stage) /
/// microBatches).
uint32_t delayOf(const DelayRule &rule, uint32_t stage);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_ORDER_VERSIONS_H
