//===- TrainedStates.h - which parameters a step updates ------------------===//
#ifndef ZC_COMPILER_EXPORT_TRAINEDSTATES_H
#define ZC_COMPILER_EXPORT_TRAINEDSTATES_H

#include "runtime/Plan/Manifest.pb.h"

#include <map>
#include <set>

namespace zc {

/// Whether a program is an evaluation, or one stage's part of it.
bool isEvaluation(const plan::Program &program);

/// The parameters of a role that training touches. A parameter that the loss
/// does not depend on is read by evaluations alone, and keeps its value.
class TrainedStates {
public:
  explicit TrainedStates(const plan::Role &role);

  /// `state` is one of the role's.
  bool contains(const plan::State &state) const;

private:
  std::map<plan::Space, std::set<uint64_t>> touched; // offsets of buffers
};

} // namespace zc

#endif // ZC_COMPILER_EXPORT_TRAINEDSTATES_H
