//===- SparseSupport.h - tensors without their zeros ------------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_SPARSESUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_SPARSESUPPORT_H

#include "dialects/Train/Ops/LoopSupport.h"

namespace zc::train {

/// Elements whose values lie together: kernels::kSparseBlock.
inline constexpr int64_t kSparseBlock = 4096;

/// The types of the parts of a tensor of type `dense` of which at most
/// `capacity` elements are not zero.
mlir::RankedTensorType sparseBitsType(mlir::RankedTensorType dense);
mlir::RankedTensorType sparseOffsetsType(mlir::RankedTensorType dense);
mlir::RankedTensorType sparseValuesType(mlir::RankedTensorType dense,
                                        int64_t capacity);

/// Checks the types of the parts against that of the whole.
mlir::LogicalResult verifySparse(mlir::Operation *op,
                                 mlir::RankedTensorType dense, mlir::Type bits,
                                 mlir::Type offsets, mlir::Type values);

/// Where one of a dense buffer's elements is: its indices, its row-major index,
/// its byte of bits, its bit there, and its block.
struct SparseElement {
  llvm::SmallVector<mlir::OpFoldResult> indices;
  mlir::Value byte, mask, block, isBlockStart;
};

/// Loops over the elements of a dense buffer, the last dim innermost.
void buildSparseLoops(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value dense,
                      llvm::function_ref<void(const SparseElement &)> body);

/// How many of `values`, a sparse tensor's, come before the current element.
class SparseCount {
public:
  /// None yet.
  SparseCount(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value values);

  mlir::Value load();
  void store(mlir::Value count);
  /// Emits `body` with the place of the next value if there is room for it, and
  /// counts the value in any case. `count` is the result of load().
  void pass(mlir::Value count,
            llvm::function_ref<void(mlir::Value place)> body);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value counter, one, capacity;
};

/// Emits what `body` builds where `condition` holds.
void buildIf(mlir::OpBuilder &builder, mlir::Location loc,
             mlir::Value condition, llvm::function_ref<void()> body);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_SPARSESUPPORT_H
