//===- TeamLoops.h - linalg ops among the threads of a team -----*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_CUDA_TEAMLOOPS_H
#define ZC_PASSES_CODEGEN_CUDA_TEAMLOOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace zc::cuda {

/// The threads that work together, and the memory they share.
struct Team {
  mlir::Value thread; // this thread's index, in [0, size)
  int64_t size;
  /// Makes shared memory of `elements` elements.
  llvm::function_ref<mlir::Value(int64_t elements, mlir::Type type)> share;
};

/// Replaces `op` by loops in which each thread computes its part. Every element
/// of an output is written by one thread; sums have one order. Callers put a
/// barrier between ops that touch the same memory.
void distribute(mlir::linalg::LinalgOp op, const Team &team);

} // namespace zc::cuda

#endif // ZC_PASSES_CODEGEN_CUDA_TEAMLOOPS_H
