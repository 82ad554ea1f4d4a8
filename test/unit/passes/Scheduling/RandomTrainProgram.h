//===- RandomTrainProgram.h - programs that nobody would write --*- C++ -*-===//
#ifndef ZC_TEST_UNIT_PASSES_SCHEDULING_RANDOMTRAINPROGRAM_H
#define ZC_TEST_UNIT_PASSES_SCHEDULING_RANDOMTRAINPROGRAM_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <random>

namespace zc {

/// Appends the states @s0, @s1, ... and a program @step of random fused ops to
/// the module. Ops read states, inputs and earlier results, also through
/// reshapes, may work in place here and there, and results, arguments and views
/// of them are returned as states and outputs. Some ops are collectives; what
/// another computes is told by the constant in its body.
mlir::func::FuncOp buildRandomProgram(mlir::ModuleOp module,
                                      std::mt19937 &random);

/// The number of what all collectives compute.
inline constexpr int64_t kCollectiveFunction = 100;

/// The number in the body of a fused op or a kernel.
int64_t getFunctionNumber(mlir::Region &body);

} // namespace zc

#endif // ZC_TEST_UNIT_PASSES_SCHEDULING_RANDOMTRAINPROGRAM_H
