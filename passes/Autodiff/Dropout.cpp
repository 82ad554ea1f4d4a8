//===- Dropout.cpp - what training and evaluation make of it --------------===//
#include "passes/Autodiff/Dropout.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Autodiff/ProgramBuilder.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

void dropNothing(func::FuncOp program) {
  Block &block = program.getBody().front();
  for (auto op : llvm::make_early_inc_range(block.getOps<DropoutOp>())) {
    op.replaceAllUsesWith(op.getInput());
    op.erase();
  }
}

/// One vector per dim of more than one element, spread over `shape`; the sum is
/// every element's row-major index.
static SmallVector<Value> buildPositions(OpBuilder &builder, Location loc,
                                         ArrayRef<int64_t> shape) {
  SmallVector<Value> positions;
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim > 0; --dim) {
    int64_t size = shape[dim - 1];
    SmallVector<int64_t> indices;
    for (int64_t i = 0; i < size; ++i)
      indices.push_back(i * stride);
    stride *= size;
    if (size == 1)
      continue;
    auto type = RankedTensorType::get({size}, builder.getI64Type());
    Value vector = ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, ArrayRef(indices)));
    positions.push_back(broadcast(builder, loc, vector, shape,
                                  {static_cast<int64_t>(dim) - 1}));
  }
  return positions;
}

LogicalResult dropElements(func::FuncOp step, int64_t microBatches) {
  auto ops = llvm::to_vector(step.getBody().front().getOps<DropoutOp>());
  if (ops.empty())
    return success();
  auto module = step->getParentOfType<ModuleOp>();
  OpBuilder builder = OpBuilder::atBlockBegin(&step.getBody().front());
  auto type = RankedTensorType::get({}, builder.getI64Type());
  Location loc = NameLoc::get(builder.getStringAttr("dropout"));
  SmallVector<StringRef> names{kSeed, kStepCount};
  if (microBatches > 1)
    names.push_back(kMicroBatch);
  Value runKey;
  for (StringRef name : names) {
    FailureOr<StateOp> state = getScalarState(module, name, type);
    if (failed(state))
      return failure();
    Value value = getStateArgument(step, *state);
    runKey = runKey ? RandomKeyOp::create(builder, loc, runKey, value) : value;
  }
  for (auto [site, op] : llvm::enumerate(ops)) {
    builder.setInsertionPoint(op);
    ArrayRef<int64_t> shape = op.getType().getShape();
    Value key = RandomKeyOp::create(builder, loc, runKey,
                                    splat(builder, loc, type, site));
    Value spread = broadcast(builder, op.getLoc(), key, shape, {});
    auto training = DropoutTrainingOp::create(
        builder, op.getLoc(), op.getType(), op.getInput(), spread,
        buildPositions(builder, op.getLoc(), shape), op.getRatioAttr());
    op.replaceAllUsesWith(training.getResult());
    op.erase();
  }
  return success();
}

} // namespace zc
