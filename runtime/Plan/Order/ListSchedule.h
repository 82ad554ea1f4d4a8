// Schedules by list scheduling, for stages whose costs differ.
#ifndef ZC_RUNTIME_PLAN_ORDER_LISTSCHEDULE_H
#define ZC_RUNTIME_PLAN_ORDER_LISTSCHEDULE_H

#include "runtime/Plan/Order/Schedules.h"

namespace zc {

/// Whenever a role is free it begins the work that can begin first; of several
/// a backward before a forward before the parameters' gradients, and a forward
/// only while fewer than `mostInFlight` micro-batches of the role's stages are
/// between their forward and their parameters' gradients. `costs` has all
/// stages. After Qi et al., Zero Bubble Pipeline Parallelism, 2024, section 3.
PipelineSchedule listSchedule(const std::vector<uint32_t> &roleOfStage,
                              uint32_t roles, uint32_t microBatches,
                              const WorkCosts &costs, uint32_t mostInFlight);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_ORDER_LISTSCHEDULE_H
