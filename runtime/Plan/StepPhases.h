// Tells to which part of a step an instruction belongs.
#ifndef ZC_RUNTIME_PLAN_STEPPHASES_H
#define ZC_RUNTIME_PLAN_STEPPHASES_H

#include "runtime/Plan/Manifest.pb.h"

#include <vector>

namespace zc {

enum class StepPhase { Forward, Backward, Optimizer };

/// "forward", "backward", "optimizer".
const char *nameOf(StepPhase phase);

/// The phase of each instruction of a program. A program that is more than one
/// of them has its backward from the first instruction on that makes a
/// gradient: ops recomputed after that count as backward.
std::vector<StepPhase> phasesOf(const plan::Program &program);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_STEPPHASES_H
