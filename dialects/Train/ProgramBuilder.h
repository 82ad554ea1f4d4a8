//===- ProgramBuilder.h - growing a program --------------------*- C++ -*-===//
//
// A program is a func.func whose arguments and results say what they are bound
// to (dialects/Train/TrainDialect.td). Passes add to both ends of it.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_DIALECTS_TRAIN_PROGRAMBUILDER_H
#define ZC_DIALECTS_TRAIN_PROGRAMBUILDER_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace zc {

// Scalar states. `lr` and `seed` are written by the host, `optimizer.step`
// counts the steps that are done.
inline constexpr llvm::StringLiteral kLearningRate = "lr";
inline constexpr llvm::StringLiteral kSeed = "seed";
/// Prefix of scalar states, float64, that hold numbers of the optimizer, such
/// as `weight-decay` of --weight-decay; `zc run` may change them.
inline constexpr llvm::StringLiteral kSettingStatePrefix = "setting.";
inline constexpr llvm::StringLiteral kStepCount = "optimizer.step";
/// The steps whose gradients the second moments have seen, of an optimizer that
/// stops taking them in.
inline constexpr llvm::StringLiteral kVarianceStep = "optimizer.variance_step";
/// The number of the micro-batch in its step, from 0.
inline constexpr llvm::StringLiteral kMicroBatch = "micro_batch";

/// The factor of the loss that keeps small gradients from underflow in fp16,
/// and the number of steps without overflow; the states exist if the loss is to
/// be scaled.
inline constexpr llvm::StringLiteral kLossScale = "loss_scale";
inline constexpr llvm::StringLiteral kGoodSteps = "loss_scale.good_steps";

/// The metric of a step that its gradients are of.
inline constexpr llvm::StringLiteral kLoss = "loss";

/// Prefix of the states that accumulate over micro-batches.
inline constexpr llvm::StringLiteral kAccumulatedPrefix = "accumulated.";

/// The metric of a step that is to be accumulated: how many losses its "loss"
/// is the sum of. Without it, "loss" is a term of a sum.
inline constexpr llvm::StringLiteral kLossCount = "loss_count";

/// Metrics of experts, sums over samples: see ExpertMetrics.h.
inline constexpr llvm::StringLiteral kExpertTokens = "moe_tokens";
inline constexpr llvm::StringLiteral kExpertOverflow = "moe_overflow";

/// Adds an argument with one or more attributes; returns its value.
mlir::Value addArgument(mlir::func::FuncOp program, mlir::Type type,
                        llvm::ArrayRef<mlir::NamedAttribute> attributes,
                        mlir::Location loc);

/// Appends a result with attributes.
void addResult(mlir::func::FuncOp program, mlir::Value value,
               llvm::ArrayRef<mlir::NamedAttribute> attributes);

/// Adds many arguments and results. A function's type lists all of them and is
/// made anew for each, and never freed; here once, when this goes. Until then
/// nothing else may change or ask for either.
class ProgramGrowth {
public:
  explicit ProgramGrowth(mlir::func::FuncOp program);
  ~ProgramGrowth();
  ProgramGrowth(const ProgramGrowth &) = delete;
  ProgramGrowth &operator=(const ProgramGrowth &) = delete;

  /// These do as the functions of the same names below.
  mlir::Value getStateArgument(train::StateOp state);
  void addResult(mlir::Value value,
                 llvm::ArrayRef<mlir::NamedAttribute> attributes);

private:
  mlir::func::FuncOp program;
  llvm::DenseMap<mlir::Attribute, mlir::Value> arguments; // by state
  llvm::SmallVector<mlir::Attribute> argumentAttributes, resultAttributes;
  llvm::SmallVector<mlir::Value> results;
};

/// A parameter and the gradient that a program computes of it.
struct Gradient {
  train::StateOp parameter;
  mlir::Value value;
};

/// Takes the gradients out of a program's results; in their order.
llvm::SmallVector<Gradient> takeGradients(mlir::func::FuncOp program);

/// The name of an optimizer's state, "state.fc.weight.exp_avg".
std::string getSlotName(llvm::StringRef parameter, llvm::StringRef slot);

/// The attribute that binds an argument or a result to a state.
mlir::NamedAttribute bindTo(train::StateOp state);

/// Drops result `index`.
void eraseResult(mlir::func::FuncOp program, unsigned index);

/// Removes ops whose results nothing reads and that have no other effect.
void eraseDeadOps(mlir::func::FuncOp program);

/// Removes arguments that nothing reads: weights of branches that no result
/// needs, inputs of other outputs.
void eraseUnusedArguments(mlir::func::FuncOp program);

/// The number of the result that is metric `name`, or none.
std::optional<unsigned> findMetric(mlir::func::FuncOp program,
                                   llvm::StringRef name);

/// Adds the number of `result` to the list `attribute` of the op that makes it.
void markResult(mlir::OpResult result, llvm::StringRef attribute);

/// The argument bound to state `name`, or null.
mlir::Value findStateArgument(mlir::func::FuncOp program, llvm::StringRef name);

/// The argument bound to `state`, added if there is none.
mlir::Value getStateArgument(mlir::func::FuncOp program, train::StateOp state);

/// The state that an argument of a program is bound to, or null.
mlir::FlatSymbolRefAttr stateOf(mlir::Value value);

/// The name of an argument's state or input; empty for what has none.
llvm::StringRef nameOf(mlir::BlockArgument argument);

/// A new state at the end of the module's states.
train::StateOp addState(mlir::ModuleOp module, llvm::StringRef name,
                        mlir::Type type, train::StateKind kind,
                        mlir::Location loc);

/// The state that is a copy of `parameter`, or null.
train::StateOp findCopy(train::StateOp parameter);

/// The scalar state of that name, added if there is none; a diagnostic when a
/// tensor of the model has the name.
mlir::FailureOr<train::StateOp>
getScalarState(mlir::ModuleOp module, llvm::StringRef name, mlir::Type type);

/// A diagnostic: `taken` has a name that zc needs.
mlir::LogicalResult refuseName(mlir::Operation *taken, llvm::StringRef name);

} // namespace zc

#endif // ZC_DIALECTS_TRAIN_PROGRAMBUILDER_H
