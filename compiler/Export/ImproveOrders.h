//===- ImproveOrders.h - orders for the stages as they came out -*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_IMPROVEORDERS_H
#define ZC_COMPILER_EXPORT_IMPROVEORDERS_H

#include "runtime/Base/Status.h"
#include "runtime/Plan/Manifest.pb.h"
#include "runtime/Plan/Order/Schedules.h"

namespace zc {

/// Replaces the orders of a training pipeline, made of `published`, which
/// splits the parameters' gradients off, by the fastest of list schedules for
/// what its programs cost, where that saves time by simulation. `budget`: the
/// bytes that no role may exceed, as measureMemory() counts them; 0: any.
Status improveOrders(plan::Manifest &manifest,
                     const PipelineSchedule &published, uint64_t budget);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_IMPROVEORDERS_H
