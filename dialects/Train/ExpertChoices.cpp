#include "dialects/Train/ExpertChoices.h"

#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;
using namespace zc::train;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// How often rows [tokens..., times, features] repeat each token's row, or 0.
static int64_t countRepeats(Value rows) {
  while (auto view = rows.getDefiningOp<ReshapeOp>())
    rows = view.getInput();
  auto spread = rows.getDefiningOp<BroadcastOp>();
  if (!spread)
    return 0;
  ArrayRef<int64_t> from = typeOf(spread.getInput()).getShape();
  ArrayRef<int64_t> to = typeOf(rows).getShape();
  int64_t times = static_cast<int64_t>(to.size()) - 2;
  SmallVector<int64_t> repeated(to);
  for (auto [index, dim] : llvm::enumerate(spread.getDims()))
    if (from[index] == to[dim])
      repeated[dim] = 1;
  for (int64_t dim = 0; dim < static_cast<int64_t>(to.size()); ++dim)
    if (repeated[dim] != 1 && dim != times)
      return 0;
  return times >= 0 ? repeated[times] : 0;
}

/// The columns of a concatenation, which differ from one another, or 1.
static int64_t countColumns(Value groups) {
  while (Operation *op = groups.getDefiningOp()) {
    if (auto concat = dyn_cast<ConcatOp>(op)) {
      RankedTensorType type = typeOf(concat.getResult());
      int64_t last = type.getRank() - 1;
      bool areColumns = last > 0 &&
                        static_cast<int64_t>(concat.getDim()) == last &&
                        type.getDimSize(last) ==
                            static_cast<int64_t>(concat.getNumOperands());
      return areColumns ? type.getDimSize(last) : 1;
    }
    if (isa<ReshapeOp, ConvertOp>(op))
      groups = op->getOperand(0);
    else if (auto select = dyn_cast<SelectOp>(op)) // counts from the beginning
      groups = select.getOnFalse();
    else
      return 1;
  }
  return 1;
}

int64_t zc::train::countChoices(GroupedMatmulOp product) {
  int64_t repeats = countRepeats(product.getRows());
  return repeats > 1 ? repeats : countColumns(product.getGroups());
}
