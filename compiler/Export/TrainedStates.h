//===- TrainedStates.h - which parameters a step updates ------------------===//
#ifndef ZC_COMPILER_EXPORT_TRAINEDSTATES_H
#define ZC_COMPILER_EXPORT_TRAINEDSTATES_H

#include "runtime/Plan/Manifest.pb.h"

namespace zc {

/// Whether a program is an evaluation, or one stage's part of it.
bool isEvaluation(const plan::Program &program);

/// Whether a state is a parameter that training touches. A parameter that the
/// loss does not depend on is read by evaluations alone, and keeps its value.
bool isTrained(const plan::Role &role, const plan::State &state);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_TRAINEDSTATES_H
