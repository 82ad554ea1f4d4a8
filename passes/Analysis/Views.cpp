//===- Views.cpp - values that are the memory of another ------------------===//
#include "passes/Analysis/Views.h"

#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/Analysis/Tensors.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

/// Dims behind the first that is longer than 1 are taken whole.
static bool hasNoGaps(SliceOp slice) {
  ArrayRef<int64_t> from = shapeOf(slice.getInput());
  ArrayRef<int64_t> to = shapeOf(slice.getResult());
  bool mustBeWhole = false;
  for (auto [whole, part, stride] : llvm::zip(from, to, slice.getStrides())) {
    if ((mustBeWhole && part != whole) || (part > 1 && stride != 1))
      return false;
    mustBeWhole |= part > 1;
  }
  return true;
}

/// The root of a value that is a view of it, and the bytes before it there.
struct Place {
  Value root;
  int64_t offset = 0;
};

static Place findPlace(Value value) {
  Place place{value};
  while (Operation *op = place.root.getDefiningOp()) {
    if (!isa<ReshapeOp>(op) && !isPartInPlace(op))
      break;
    auto type = cast<ShapedType>(op->getResult(0).getType());
    place.offset +=
        getViewOffset(op) * ((type.getElementTypeBitWidth() + 7) / 8);
    place.root = op->getOperand(0);
  }
  return place;
}

static bool isInMemory(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto program =
        dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    return program &&
           program.getArgAttr(argument.getArgNumber(), kStateAttr) != nullptr;
  }
  auto gather = value.getDefiningOp<dist::CollectiveOpInterface>();
  return gather && gather.getWhatIsSent() == dist::kParameters;
}

bool isPartInPlace(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice || !hasNoGaps(slice))
    return false;
  Place from = findPlace(slice.getInput());
  int64_t width =
      (cast<ShapedType>(slice.getType()).getElementTypeBitWidth() + 7) / 8;
  int64_t offset = from.offset + getViewOffset(slice) * width;
  return isInMemory(from.root) && offset % kPartAlignment == 0;
}

Value getViewed(Operation *op) {
  if (isa<ReshapeOp, SliceOp>(op))
    return op->getOperand(0);
  return {};
}

int64_t getViewOffset(Operation *view) {
  auto slice = dyn_cast<SliceOp>(view);
  if (!slice)
    return 0;
  int64_t offset = 0;
  for (auto [size, begin] :
       llvm::zip(shapeOf(slice.getInput()), slice.getOffsets()))
    offset = offset * size + begin;
  return offset;
}

} // namespace zc
