//===- Optimizer.h - one update rule ----------------------------*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_OPTIMIZERS_OPTIMIZER_H
#define ZC_PASSES_AUTODIFF_OPTIMIZERS_OPTIMIZER_H

#include "passes/Autodiff/Passes.h"

#include "mlir/IR/Builders.h"

#include <memory>
#include <string>
#include <vector>

namespace zc {

/// What one parameter is updated from. All tensors have its shape.
struct ParameterUpdate {
  mlir::Value parameter;
  mlir::Value gradient;
  /// Whether weight decay applies.
  bool decays = true;
  /// One per slot; replaced by their new values.
  llvm::SmallVector<mlir::Value> moments;
};

/// An optimizer of `--optimizer`, as train ops; scalars are tensors of no dims.
class Optimizer {
public:
  virtual ~Optimizer() = default;

  /// Names of the moments kept per parameter ("exp_avg"), as PyTorch's state
  /// dict has them. They begin as zeros.
  virtual std::vector<std::string> slots() const = 0;

  /// Builds what all parameters share, once per step. `lr` is float32, `step`
  /// float64, the number of this step from 1.
  virtual void buildShared(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value lr, mlir::Value step) = 0;

  /// The parameter's new value.
  virtual mlir::Value update(mlir::OpBuilder &builder, mlir::Location loc,
                             ParameterUpdate &update) = 0;
};

std::unique_ptr<Optimizer> makeSgd(const BuildOptimizerStepPassOptions &);
std::unique_ptr<Optimizer> makeAdam(const BuildOptimizerStepPassOptions &);
std::unique_ptr<Optimizer> makeAdamW(const BuildOptimizerStepPassOptions &);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_OPTIMIZERS_OPTIMIZER_H
