//===- TiledFunction.h - kernels whose threads have tiles -------*- C++ -*-===//
//
// Some ops are not divided by their dims. A product of experts' rows finds in
// memory which rows these are, and how many: it has as many teams as there
// could be tiles of rows, and those without a tile end at once. Windows of a
// pooling overlap: each thread has elements of the result.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_CODEGEN_CUDA_TILEDFUNCTION_H
#define ZC_PASSES_CODEGEN_CUDA_TILEDFUNCTION_H

#include "dialects/Sched/SchedDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc::cuda {

/// On a kernel's function: it says itself which thread does what, and when they
/// wait for one another. A team runs it for one block, `begin`.
inline constexpr llvm::StringLiteral kOwnThreadsAttr = "sched.own_threads";

/// The op that `body` consists of, if it is computed by such a function:
/// train.expert_order, grouped_matmul or its gradient with an order, a max
/// pooling with places or its gradient; or null.
mlir::Operation *findTiledOp(mlir::Block &body);

/// Adds the function of a kernel of such an op to `module`, with its threads
/// set.
mlir::func::FuncOp buildTiledFunction(sched::KernelOp kernel,
                                      mlir::ModuleOp module);

} // namespace zc::cuda

#endif // ZC_PASSES_CODEGEN_CUDA_TILEDFUNCTION_H
