// The parts of targets that passes know nothing of: bounds of libraries, times
// of algorithms.
#ifndef ZC_COMPILER_DRIVER_TARGETSERVICES_H
#define ZC_COMPILER_DRIVER_TARGETSERVICES_H

#include "passes/Target/Target.h"

namespace zc {

/// Bounds by the rooms of library calls (kernels/Calls), times of collectives
/// by the simulator's closed forms (runtime/Simulate/CollectiveTimes.h).
TargetServices makeTargetServices();

} // namespace zc

#endif
