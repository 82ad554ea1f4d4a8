//===- Windows.cpp - the sliding windows of conv and pooling --------------===//
#include "passes/Import/Lowering/Windows.h"

using namespace mlir;
using namespace zc;

// An attribute with `count` entries, all `absent` if the node lacks it.
static FailureOr<SmallVector<int64_t>>
readList(NodeContext &context, StringRef name, size_t count, int64_t absent) {
  auto values = context.node.getInts(name);
  if (!values || values->empty())
    return SmallVector<int64_t>(count, absent);
  if (values->size() != count) {
    context.emitError() << "expected " << name << " to have " << count
                        << " entries, found " << values->size();
    return failure();
  }
  return SmallVector<int64_t>(*values);
}

static void padToSame(Windows &windows, ArrayRef<int64_t> spatial,
                      bool moreBelow) {
  for (unsigned dim = 0; dim < windows.rank(); ++dim) {
    int64_t stride = windows.strides[dim];
    int64_t count = (spatial[dim] + stride - 1) / stride;
    int64_t total = std::max<int64_t>(
        (count - 1) * stride + windows.span(dim) - spatial[dim], 0);
    windows.low[dim] = moreBelow ? total - total / 2 : total / 2;
    windows.high[dim] = total - windows.low[dim];
  }
}

static LogicalResult checkWindows(NodeContext &context,
                                  const Windows &windows) {
  auto positive = [](int64_t value) { return value > 0; };
  if (llvm::all_of(windows.kernel, positive) &&
      llvm::all_of(windows.strides, positive) &&
      llvm::all_of(windows.dilations, positive))
    return success();
  return context.emitError()
         << "expected positive kernel sizes, strides and dilations";
}

FailureOr<Windows> zc::readWindows(NodeContext &context,
                                   ArrayRef<int64_t> input,
                                   ArrayRef<int64_t> kernel) {
  if (input.size() < 3 || input.size() > 5) {
    context.emitError() << "expected an input of 3 to 5 dims (N, C and up to "
                           "three spatial ones), found "
                        << input.size();
    return failure();
  }
  size_t count = input.size() - 2;
  auto sizes = readList(context, "kernel_shape", count, 0);
  auto strides = readList(context, "strides", count, 1);
  auto dilations = readList(context, "dilations", count, 1);
  auto pads = readList(context, "pads", 2 * count, 0);
  if (failed(sizes) || failed(strides) || failed(dilations) || failed(pads))
    return failure();
  Windows windows{kernel.empty() ? *sizes : SmallVector<int64_t>(kernel),
                  *strides, *dilations,
                  SmallVector<int64_t>(ArrayRef(*pads).take_front(count)),
                  SmallVector<int64_t>(ArrayRef(*pads).drop_front(count))};
  if (failed(checkWindows(context, windows)))
    return failure();
  StringRef automatic = context.node.getString("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER")
    padToSame(windows, input.drop_front(2), automatic == "SAME_LOWER");
  else if (automatic == "VALID")
    windows.low = windows.high = SmallVector<int64_t>(count, 0);
  return windows;
}

void zc::fitToResult(Windows &windows, ArrayRef<int64_t> input,
                     ArrayRef<int64_t> result) {
  for (unsigned dim = 0; dim < windows.rank(); ++dim) {
    int64_t size = input[dim + 2], count = result[dim + 2];
    if (windows.count(dim, size) == count)
      continue;
    windows.high[dim] = (count - 1) * windows.strides[dim] + windows.span(dim) -
                        size - windows.low[dim];
  }
}
