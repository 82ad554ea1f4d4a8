//===- TrainDialect.h - a small tensor algebra for training -----*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_TRAINDIALECT_H
#define ZC_DIALECTS_TRAIN_TRAINDIALECT_H

#include "dialects/Interfaces/Marks.h"
#include "dialects/Interfaces/OpInterfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Train/OpKinds.h.inc"
#include "dialects/Train/StateKind.h.inc"
#include "dialects/Train/TrainDialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/Train/TrainOps.h.inc"

namespace zc::train {

// Names of the discardable attributes of a program (TrainDialect.td).
inline constexpr llvm::StringLiteral kStateAttr = "train.state";
inline constexpr llvm::StringLiteral kInputAttr = "train.input";
inline constexpr llvm::StringLiteral kBatchDimAttr = "train.batch_dim";
inline constexpr llvm::StringLiteral kRangeAttr = "train.range";
inline constexpr llvm::StringLiteral kLabelAttr = "train.label";
inline constexpr llvm::StringLiteral kSampleWeightAttr = "train.sample_weight";
inline constexpr llvm::StringLiteral kOutputAttr = "train.output";
inline constexpr llvm::StringLiteral kMetricAttr = "train.metric";
inline constexpr llvm::StringLiteral kGradientAttr = "train.gradient";
/// On an argument or a result: a tensor that crosses from one role of a
/// pipeline to another ({id, peer, gradient}).
inline constexpr llvm::StringLiteral kReceiveAttr = "train.receive";
inline constexpr llvm::StringLiteral kSendAttr = "train.send";

// Names of the programs.
inline constexpr llvm::StringLiteral kForwardProgram = "forward";
inline constexpr llvm::StringLiteral kInitProgram = "init";
/// Makes the 16-bit copies of the parameters.
inline constexpr llvm::StringLiteral kCopyProgram = "copy";
inline constexpr llvm::StringLiteral kStepProgram = "step";
inline constexpr llvm::StringLiteral kMicroProgram = "micro";
inline constexpr llvm::StringLiteral kApplyProgram = "apply";
/// Takes the place of kApplyProgram from some step on.
inline constexpr llvm::StringLiteral kCompressedProgram = "apply.compressed";
inline constexpr llvm::StringLiteral kEvalProgram = "eval";
/// The backward program of a micro-batch in a role of a pipeline. The forward's
/// name is kForwardProgram.
inline constexpr llvm::StringLiteral kBackwardProgram = "backward";

// Roles of a pipeline.
/// On a nested module: which role it is (i64), the coordinate along "pp".
inline constexpr llvm::StringLiteral kRoleAttr = "train.role";
/// On a role: the types of a step's metrics, whichever role computes them.
inline constexpr llvm::StringLiteral kMetricTypesAttr = "train.metric_types";
/// On an op: its stage of the pipeline (i64).
inline constexpr llvm::StringLiteral kStageAttr = "train.stage";

// Marks of tensor ops in front of regions, which have properties of these names
// (ProgramOps.td); schedules and reports go by them.
/// The results that are gradients of parameters, by their numbers.
inline constexpr llvm::StringLiteral kGradientsAttr = "train.gradients";
/// The gradients that are kept until all others are there.
inline constexpr llvm::StringLiteral kKeptGradientsAttr =
    "train.kept_gradients";
/// The results are on their way to other ranks.
inline constexpr llvm::StringLiteral kStagingAttr = "train.staging";
/// Runs behind the last op with kept gradients.
inline constexpr llvm::StringLiteral kLateAttr = "train.late";

/// Recomputation keeps the results: they are made of tensors of other ranks,
/// which would be kept in their place.
inline constexpr llvm::StringLiteral kOfOtherRanksAttr = "train.of_other_ranks";
/// The library of a fused op that is a collective.
inline constexpr llvm::StringLiteral kCollectiveLibrary = "zc.collective";

// Kinds of state.
inline constexpr StateKind kParameter = StateKind::Parameter;
/// The 16-bit copy of a parameter.
inline constexpr StateKind kCopy = StateKind::Copy;
inline constexpr StateKind kConstant = StateKind::Constant;
inline constexpr StateKind kStatistic = StateKind::Statistic;
inline constexpr StateKind kOptimizer = StateKind::Optimizer;
inline constexpr StateKind kScalar = StateKind::Scalar;
inline constexpr StateKind kAccumulator = StateKind::Accumulator;
/// A tensor that a micro-batch keeps from one program to the next: one copy for
/// each micro-batch in flight.
inline constexpr StateKind kFlight = StateKind::Flight;

// Kinds of a state's `draw`, its random initial value.
inline constexpr llvm::StringLiteral kDrawConstant = "constant";
inline constexpr llvm::StringLiteral kDrawUniform = "uniform";
inline constexpr llvm::StringLiteral kDrawNormal = "normal";
/// Normal, drawn again beyond two of its standard deviations.
inline constexpr llvm::StringLiteral kDrawTruncated = "truncated_normal";
inline constexpr llvm::StringLiteral kDrawIndex = "index";

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_TRAINDIALECT_H
