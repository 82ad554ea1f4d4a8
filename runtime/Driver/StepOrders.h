// A rank's order in each step, where steps may overlap, and the length of runs
// of such steps.
#ifndef ZC_RUNTIME_DRIVER_STEPORDERS_H
#define ZC_RUNTIME_DRIVER_STEPORDERS_H

#include "runtime/Exec/Orders.h"
#include "runtime/Plan/Order/RoleUse.h"

#include <algorithm>
#include <optional>

namespace zc {

/// With a flush, every step is a run of its own. All ranks are told the same.
class StepOrders {
public:
  /// Both outlive it.
  StepOrders(const plan::Role &role, const Orders &orders)
      : role(role), orders(orders) {}

  /// Whether some role begins a step before the one in front of it has ended.
  bool overlap() const { return orders.stepsAhead > 0; }
  int64_t stepsAhead() const { return orders.stepsAhead; }

  /// Begins a run of steps up to step `end` (not included), counted from 0,
  /// where no step is in flight.
  void begin(int64_t step, int64_t end) {
    first = step;
    last = end;
  }
  /// Ends the run early, once the steps in flight are done.
  void shorten(int64_t step) { last = std::min(last, step + stepsAhead()); }

  /// Whether nothing is under way behind so many steps.
  bool isBetween(int64_t step) const { return !overlap() || step >= last; }

  /// Whether a step is the first of its run, which may not have begun.
  bool isFirst(int64_t step) const { return step == first || step >= last; }
  bool isLast(int64_t step) const { return step + 1 >= last; }

  /// The order of a step of the run; it lives until the next call.
  Result<const plan::Order *> of(int64_t step);

private:
  const plan::Role &role;
  const Orders &orders;
  int64_t first = 0, last = 0;
  std::optional<RoleUse> use;
  plan::Order current;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_STEPORDERS_H
