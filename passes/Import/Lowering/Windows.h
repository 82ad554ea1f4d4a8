//===- Windows.h - the sliding windows of conv and pooling ------*- C++ -*-===//
#ifndef ZC_PASSES_IMPORT_LOWERING_WINDOWS_H
#define ZC_PASSES_IMPORT_LOWERING_WINDOWS_H

#include "passes/Import/Lowering/NodeContext.h"

namespace zc {

/// One entry per spatial dim, the ONNX defaults filled in and auto_pad
/// resolved.
struct Windows {
  llvm::SmallVector<int64_t> kernel, strides, dilations, low, high;

  unsigned rank() const { return kernel.size(); }
  /// Elements of the input that a window spans along `dim`.
  int64_t span(unsigned dim) const {
    return (kernel[dim] - 1) * dilations[dim] + 1;
  }
  /// Windows along `dim` of `size` elements, not counting unfinished ones.
  int64_t count(unsigned dim, int64_t size) const {
    int64_t slack = size + low[dim] + high[dim] - span(dim);
    return slack < 0 ? 0 : slack / strides[dim] + 1;
  }
};

/// Reads strides, dilations, pads, auto_pad; the kernel's shape is `kernel`, or
/// the attribute kernel_shape where that is empty. `input` is [N, C,
/// spatial...].
mlir::FailureOr<Windows> readWindows(NodeContext &context,
                                     llvm::ArrayRef<int64_t> input,
                                     llvm::ArrayRef<int64_t> kernel = {});

/// With ceil_mode the last window may hang over the padding: makes the high
/// pads such that there are as many windows as the node's result has elements.
void fitToResult(Windows &windows, llvm::ArrayRef<int64_t> input,
                 llvm::ArrayRef<int64_t> result);

} // namespace zc

#endif // ZC_PASSES_IMPORT_LOWERING_WINDOWS_H
