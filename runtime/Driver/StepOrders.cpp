#include "runtime/Driver/StepOrders.h"
#include "runtime/Plan/Order/RunOfSteps.h"

namespace zc {

Result<const plan::Order *> StepOrders::of(int64_t step) {
  if (!overlap())
    return &orders.ofStep(step + 1);
  if (!use) {
    ZC_ASSIGN_OR_RETURN(use, RoleUse::of(role));
  }
  current = orderOfStep(role, *use, orders.microBatches,
                        {step, last - step, step == first});
  return &current;
}

} // namespace zc
