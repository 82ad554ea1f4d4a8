//===- Optimizers.h - all update rules --------------------------*- C++ -*-===//
//
// The table of optimizers, by the names that `--optimizer` has for them: one
// row each. A further optimizer is a further row and its rule.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_AUTODIFF_OPTIMIZERS_OPTIMIZERS_H
#define ZC_PASSES_AUTODIFF_OPTIMIZERS_OPTIMIZERS_H

#include "passes/Autodiff/Optimizers/Optimizer.h"

namespace zc {

struct OptimizerKind {
  llvm::StringLiteral name;

  /// An element's update looks at no other element, whoever computes it.
  bool isElementwise;
  /// It looks at a parameter's rows and columns, which a vector does not have.
  bool looksAtRows;

  // The options whose numbers it has: --momentum, --nesterov, and --beta1 with
  // --beta2 and --eps.
  bool hasMomentum, hasNesterov, hasBetas;

  /// Without --weight-decay.
  double weightDecay;

  std::unique_ptr<Optimizer> (*make)(const BuildOptimizerStepPassOptions &);

  /// Numbers that are kept for an element of a parameter, about.
  double countMoments(double momentum) const {
    return hasBetas ? 2 : hasMomentum && momentum > 0 ? 1 : 0;
  }
};

/// In the order in which help lists them.
llvm::ArrayRef<OptimizerKind> getOptimizers();

/// The rule of that name, or null.
const OptimizerKind *findOptimizer(llvm::StringRef name);

/// The rule of a name that --optimizer accepts.
const OptimizerKind &getOptimizer(llvm::StringRef name);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_OPTIMIZERS_OPTIMIZERS_H
