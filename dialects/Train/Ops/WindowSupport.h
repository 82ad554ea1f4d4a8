//===- WindowSupport.h - windows that slide over images ---------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_WINDOWSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_WINDOWSUPPORT_H

#include "dialects/Train/Ops/LoopSupport.h"

namespace zc::train {

/// The window of a convolution or a pooling: per spatial dim its size, the step
/// from one place to the next, the distance of its elements, and the padding of
/// the image before and after.
struct Window {
  llvm::ArrayRef<int64_t> sizes;
  llvm::ArrayRef<int64_t> strides;
  llvm::ArrayRef<int64_t> dilations;
  llvm::ArrayRef<int64_t> padsLow;
  llvm::ArrayRef<int64_t> padsHigh;
  bool channelsLast;

  int64_t rank() const { return sizes.size(); }
  /// Where channels and spatial dims stand in an image.
  int64_t channelDim() const { return channelsLast ? rank() + 1 : 1; }
  llvm::SmallVector<int64_t> spatialDims() const;
  /// Elements of the window.
  int64_t numElements() const;
  /// The shape [batch, channels, `spatial`...] in this layout.
  llvm::SmallVector<int64_t> imageShape(int64_t batch, int64_t channels,
                                        llvm::ArrayRef<int64_t> spatial) const;
};

/// The window of an op that has these attributes.
template <typename OpTy>
Window windowOf(OpTy op, llvm::ArrayRef<int64_t> sizes) {
  return {sizes,           op.getStrides(),  op.getDilations(),
          op.getPadsLow(), op.getPadsHigh(), op.getChannelsLast()};
}

/// Checks a window against an image type and gives the number of places it has
/// per spatial dim.
llvm::FailureOr<llvm::SmallVector<int64_t>>
verifyWindow(mlir::Operation *op, const Window &window,
             mlir::RankedTensorType image);

/// Loops over the elements of the window at `place` (an index per spatial dim)
/// that lie on the image. `body` gets an element's indices in the window and in
/// the image.
void buildWindowLoops(mlir::OpBuilder &builder, mlir::Location loc,
                      const Window &window, llvm::ArrayRef<int64_t> imageSizes,
                      llvm::ArrayRef<int64_t> numPlaces, Indices place,
                      llvm::function_ref<void(Indices, Indices)> body);

/// How many elements of the window at `place` lie on the image, as an index.
mlir::Value buildWindowCount(mlir::OpBuilder &builder, mlir::Location loc,
                             const Window &window,
                             llvm::ArrayRef<int64_t> imageSizes,
                             llvm::ArrayRef<int64_t> numPlaces, Indices place);

/// The other way round: loops over the places whose window, which is dense, has
/// the image's element at `element`. `body` gets a place's indices.
void buildCoveringLoops(mlir::OpBuilder &builder, mlir::Location loc,
                        const Window &window, llvm::ArrayRef<int64_t> numPlaces,
                        Indices element,
                        llvm::function_ref<void(Indices)> body);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_WINDOWSUPPORT_H
