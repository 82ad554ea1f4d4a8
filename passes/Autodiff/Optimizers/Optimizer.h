//===- Optimizer.h - one update rule ----------------------------*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_OPTIMIZERS_OPTIMIZER_H
#define ZC_PASSES_AUTODIFF_OPTIMIZERS_OPTIMIZER_H

#include "passes/Autodiff/Passes.h"

#include "mlir/IR/Builders.h"

#include <memory>
#include <string>
#include <vector>

namespace zc {

/// A moment kept per parameter: its name ("exp_avg"), as PyTorch's state dict
/// has it, and its type.
struct Slot {
  std::string name;
  mlir::RankedTensorType type;
};

/// Inputs of one parameter's update; parameter and gradient have one shape.
struct ParameterUpdate {
  mlir::Value parameter;
  mlir::Value gradient;
  /// Whether weight decay applies.
  bool decays = true;
  /// One per slot; replaced by their new values.
  llvm::SmallVector<mlir::Value> moments;
};

/// A number of an update rule: known when compiling, or a scalar state that a
/// run may change.
struct RuleNumber {
  double value = 0;
  /// Float64 of no dims; null: `value` is compiled.
  mlir::Value state = {};
};

/// Called with the name of a number, as `--weight-decay` is without dashes, and
/// the number.
using NumberVisitor =
    llvm::function_ref<void(llvm::StringRef name, RuleNumber &number)>;

/// An optimizer of `--optimizer`, as train ops; scalars are tensors of no dims.
class Optimizer {
public:
  virtual ~Optimizer() = default;

  /// The moments kept for a parameter of that type. They begin as zeros.
  virtual std::vector<Slot> slots(mlir::RankedTensorType parameter) const = 0;

  /// Whether elements whose gradients are zeros change no other's update.
  virtual bool ignoresZeros() const { return true; }

  /// Visits the numbers whose values no code and no slot depends on: a decay of
  /// 0 is not computed at all, and is not among them.
  virtual void visitNumbers(NumberVisitor visit) = 0;

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
std::unique_ptr<Optimizer> makeAdafactor(const BuildOptimizerStepPassOptions &);
std::unique_ptr<Optimizer> makeSm3(const BuildOptimizerStepPassOptions &);

/// `rule` and, in the slot "ema", an exponential moving average of what it
/// makes of each parameter.
std::unique_ptr<Optimizer> makeAveraged(std::unique_ptr<Optimizer> rule,
                                        double decay);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_OPTIMIZERS_OPTIMIZER_H
