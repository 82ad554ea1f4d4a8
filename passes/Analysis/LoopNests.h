//===- LoopNests.h - what one loop nest can compute -------------*- C++ -*-===//
//
// Fusion forms regions by these questions, code generation compiles them by the
// same answers.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_ANALYSIS_LOOPNESTS_H
#define ZC_PASSES_ANALYSIS_LOOPNESTS_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace zc {

/// A constant that is the same everywhere.
bool isSplatConstant(mlir::Operation *op);

/// Whether `op` only reads its operand at other places (broadcast, transpose, a
/// slice in loops).
bool isMovedRead(mlir::Operation *op);

/// For such an op: from the loops over its result to its operand, of these
/// shapes.
mlir::AffineMap movedReadMap(mlir::OpBuilder &builder, mlir::Operation *op,
                             llvm::ArrayRef<int64_t> inputShape,
                             llvm::ArrayRef<int64_t> resultShape);

/// Whether `op` is a concat in loops: either operand is read at the index
/// within its half.
bool isJoinOfHalves(mlir::Operation *op);

/// From the loops over such a concat's result, of that shape, to either
/// operand.
mlir::AffineMap halfReadMap(mlir::OpBuilder &builder,
                            llvm::ArrayRef<int64_t> resultShape);

/// Whether `op` can be computed inside another op's loop nest: elementwise ops,
/// splat constants, moved reads, halves that are joined.
bool isInlinable(mlir::Operation *op);

/// The op of a region that a library computes that the call is named after: the
/// first that is not inlinable, or the only one.
mlir::Operation &findCalled(mlir::Block &body);

/// Whether `op`'s linalg form is one loop nest that reads its only operand
/// once, so that inlinable ops can be computed in it.
bool isPlainReduction(mlir::Operation *op);

/// Whether `body` lowers to a single loop nest, in which every input's element
/// is read before the outputs' elements at its place are written: then an input
/// that is only read at its own place may share memory with an output.
bool isSingleLoopNest(mlir::Block &body);

/// Whether, in such a body, `input` is only read at the place being written.
bool isReadInPlace(mlir::Block &body, mlir::BlockArgument input);

} // namespace zc

#endif // ZC_PASSES_ANALYSIS_LOOPNESTS_H
