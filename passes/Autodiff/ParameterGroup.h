//===- ParameterGroup.h - a parameter's own optimizer settings --*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_PARAMETERGROUP_H
#define ZC_PASSES_AUTODIFF_PARAMETERGROUP_H

#include "dialects/Train/TrainDialect.h"

#include <optional>

namespace zc {

/// Settings by which the update of a parameter differs from the others', as
/// PyTorch's param_groups: the state's property `group`.
struct ParameterGroup {
  double rateScale = 1;              // times the learning rate
  std::optional<double> weightDecay; // none: the optimizer's

  static ParameterGroup of(train::StateOp parameter);
  void setOn(train::StateOp parameter) const;

  bool operator<(const ParameterGroup &other) const {
    return std::pair(rateScale, weightDecay) <
           std::pair(other.rateScale, other.weightDecay);
  }
};

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_PARAMETERGROUP_H
