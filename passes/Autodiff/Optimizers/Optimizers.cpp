//===- Optimizers.cpp -----------------------------------------------------===//
#include "passes/Autodiff/Optimizers/Optimizers.h"

#include <algorithm>

using namespace mlir;

namespace zc {

/// The rule of its warm-up; Passes.td says what comes then.
static std::unique_ptr<Optimizer>
makeOneBitAdam(const BuildOptimizerStepPassOptions &given) {
  BuildOptimizerStepPassOptions options = given;
  options.weightDecay = std::max(0.0, options.weightDecay);
  return makeAdamW(options);
}

ArrayRef<OptimizerKind> getOptimizers() {
  constexpr bool kElementwise = true, kRows = true, kMomentum = true,
                 kNesterov = true, kBetas = true;
  static constexpr OptimizerKind kOptimizers[] = {
      {"sgd", kElementwise, !kRows, kMomentum, kNesterov, !kBetas, 0, makeSgd},
      {"adam", kElementwise, !kRows, !kMomentum, !kNesterov, kBetas, 0,
       makeAdam},
      {"adamw", kElementwise, !kRows, !kMomentum, !kNesterov, kBetas, 0.01,
       makeAdamW},
      {"adafactor", !kElementwise, kRows, !kMomentum, !kNesterov, !kBetas, 0,
       makeAdafactor},
      {"sm3", !kElementwise, kRows, kMomentum, !kNesterov, !kBetas, 0, makeSm3},
      // Its signs are of whole rows.
      {"onebit-adam", !kElementwise, !kRows, !kMomentum, !kNesterov, kBetas, 0,
       makeOneBitAdam}};
  return kOptimizers;
}

const OptimizerKind *findOptimizer(StringRef name) {
  const auto *found =
      llvm::find_if(getOptimizers(), [&](const OptimizerKind &each) {
        return each.name == name;
      });
  return found == getOptimizers().end() ? nullptr : found;
}

const OptimizerKind &getOptimizer(StringRef name) {
  if (const OptimizerKind *kind = findOptimizer(name))
    return *kind;
  // The command line has been checked.
  llvm::report_fatal_error("no optimizer '" + name + "'");
}

} // namespace zc
