//===- PoolSupport.h - poolings and their gradients -------------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_POOLSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_POOLSUPPORT_H

#include "dialects/Train/Ops/WindowSupport.h"

namespace zc::train {

/// The dense window of an average.
template <typename OpTy> Window averageWindowOf(OpTy op) {
  static constexpr int64_t kDense[] = {1, 1, 1};
  size_t rank = std::min(op.getWindow().size(), std::size(kDense));
  return {op.getWindow(),
          op.getStrides(),
          llvm::ArrayRef(kDense).take_front(rank),
          op.getPadsLow(),
          op.getPadsHigh(),
          op.getChannelsLast()};
}

/// Checks a pooling of `image` to `pooled`, which is called `what`.
mlir::LogicalResult verifyPool(mlir::Operation *op, const Window &window,
                               mlir::RankedTensorType image,
                               llvm::StringRef what, mlir::Type pooled);

/// The same for an average, all of whose windows must lie on the image
/// somewhere.
mlir::LogicalResult verifyAverage(mlir::Operation *op, const Window &window,
                                  mlir::RankedTensorType image,
                                  llvm::StringRef what, mlir::Type pooled);

/// The type of argmax indices in `window`; -1 must fit, and their number.
mlir::RankedTensorType placesType(const Window &window,
                                  mlir::RankedTensorType pooled);

/// Checks the type of argmax indices.
mlir::LogicalResult verifyPlaces(mlir::Operation *op, const Window &window,
                                 mlir::Type places,
                                 mlir::RankedTensorType pooled);

/// Batch and channels are parallel, spatial dims whole.
ShardingRule poolShardingRule(mlir::Operation *op, const Window &window,
                              mlir::RankedTensorType image);

/// The linalg form of a pooling works on rows: all channels at one place where
/// these lie side by side in memory, else single elements.
class PoolLoops {
public:
  PoolLoops(mlir::OpBuilder &builder, mlir::Location loc, const Window &window,
            mlir::Value image, mlir::Value pooled);

  llvm::SmallVector<int64_t> rowShape() const;

  /// Calls `body` for every place of the window.
  void forEachPlace(llvm::function_ref<void()> body);
  /// Calls `body` for every element of the window at the current place that
  /// lies on the image, in row-major order.
  void forEachElement(llvm::function_ref<void()> body);

  /// The other way round: calls `body` for every element of the image, and
  /// within it for every place whose window, which is dense, has the element.
  void forEachImageElement(llvm::function_ref<void()> body);
  void forEachCoveringPlace(llvm::function_ref<void()> body);

  /// The current row of a buffer of the pooled shape.
  mlir::Value pooledRow(mlir::Value buffer);
  /// The current row of a buffer of the image's shape, where there is a current
  /// element.
  mlir::Value imageRow(mlir::Value buffer);
  /// The divisor of the average of the window at the current place, as a float
  /// of `type`: the number of its elements that lie on the image, or, with
  /// `countIncludePad`, of all its elements.
  mlir::Value averageDivisor(mlir::Type type, bool countIncludePad);
  /// The current element's row-major index in the window, within
  /// forEachElement, as an integer of `type`.
  mlir::Value elementIndex(mlir::Type type);

private:
  /// `indices` of spatial dims after those of the outer dims in `at`.
  llvm::SmallVector<mlir::OpFoldResult> withOuterOf(Indices at,
                                                    Indices indices) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  Window window;
  llvm::SmallVector<int64_t> imageShape, pooledShape;
  llvm::SmallVector<int64_t> outer;              // dims before the spatial ones
  llvm::SmallVector<int64_t> sliced;             // outer and spatial dims
  llvm::SmallVector<mlir::OpFoldResult> place;   // outer and pooled indices
  llvm::SmallVector<mlir::OpFoldResult> element; // outer and image indices
  llvm::SmallVector<mlir::OpFoldResult> inWindow;
};

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_POOLSUPPORT_H
