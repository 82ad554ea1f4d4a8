//===- WindowOps.cpp - which ops go over images by windows ----------------===//
#include "dialects/Train/Ops/WindowOps.h"

#include "dialects/Train/Ops/ConvSupport.h"
#include "dialects/Train/Ops/PoolSupport.h"
#include "dialects/Train/TrainDialect.h"
#include "llvm/ADT/TypeSwitch.h"

#include <optional>

using namespace mlir;

namespace zc::train {

static std::optional<Window> findWindow(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Window>>(op)
      .Case<ConvOp, ConvInputGradOp>([](auto conv) {
        return windowOf(conv,
                        conv.getFilter().getType().getShape().drop_front(2));
      })
      .Case<MaxPoolOp>(
          [](auto pool) { return windowOf(pool, pool.getWindow()); })
      .Case<AveragePoolOp>([](auto pool) { return averageWindowOf(pool); })
      .Default([](Operation *) { return std::nullopt; });
}

bool sharesPlaces(Operation *imageOp, int64_t dim) {
  const std::optional<Window> window = findWindow(imageOp);
  if (!window)
    return true;
  for (auto [place, spatial] : llvm::enumerate(window->spatialDims()))
    if (spatial == dim)
      return (window->sizes[place] - 1) * window->dilations[place] >=
             window->strides[place];
  return true;
}

} // namespace zc::train
