//===- Dropout.cpp - what training and evaluation make of it --------------===//
#include "passes/Autodiff/Dropout.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

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

/// Whether the op draws numbers; the importer has given it no positions, and as
/// its key a number that no other draw has.
static bool drawsNumbers(Operation *op) {
  return isa<RandomNormalOp, RandomUniformOp>(op) && op->getNumOperands() == 1;
}

static int64_t siteOf(Operation *draw) {
  Value key = draw->getOperand(0);
  if (auto spread = key.getDefiningOp<BroadcastOp>())
    key = spread.getInput();
  DenseIntElementsAttr site;
  if (!matchPattern(key, m_Constant(&site)) || !site.isSplat())
    llvm_unreachable("the importer numbers every draw");
  return site.getSplatValue<APInt>().getSExtValue();
}

/// A key that is a function of scalar states.
static FailureOr<Value> buildRunKey(func::FuncOp program,
                                    ArrayRef<StringRef> names) {
  auto module = program->getParentOfType<ModuleOp>();
  OpBuilder builder = OpBuilder::atBlockBegin(&program.getBody().front());
  auto type = RankedTensorType::get({}, builder.getI64Type());
  Location loc = NameLoc::get(builder.getStringAttr("random"));
  Value runKey;
  for (StringRef name : names) {
    FailureOr<StateOp> state = getScalarState(module, name, type);
    if (failed(state))
      return failure();
    Value value = getStateArgument(program, *state);
    runKey = runKey ? RandomKeyOp::create(builder, loc, runKey, value) : value;
  }
  return runKey;
}

/// The run's key made one of its own for `site`, at every element of `shape`.
static Value buildKey(OpBuilder &builder, Location loc, Value runKey,
                      int64_t site, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(runKey.getType());
  Value data =
      ConstantOp::create(builder, loc, DenseElementsAttr::get(type, site));
  Value key = RandomKeyOp::create(builder, loc, runKey, data);
  return broadcast(builder, loc, key, shape, {});
}

/// Gives every draw of numbers its key and positions.
static LogicalResult keyNumbers(func::FuncOp program,
                                ArrayRef<StringRef> states) {
  SmallVector<Operation *> draws;
  for (Operation &op : program.getBody().front())
    if (drawsNumbers(&op))
      draws.push_back(&op);
  if (draws.empty())
    return success();
  FailureOr<Value> runKey = buildRunKey(program, states);
  if (failed(runKey))
    return failure();
  for (Operation *draw : draws) {
    OpBuilder builder(draw);
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(draw->getResult(0).getType()).getShape();
    SmallVector<Value> operands{
        buildKey(builder, draw->getLoc(), *runKey, siteOf(draw), shape)};
    llvm::append_range(operands,
                       buildPositions(builder, draw->getLoc(), shape));
    draw->setOperands(operands);
  }
  return success();
}

LogicalResult dropNothing(func::FuncOp program) {
  Block &block = program.getBody().front();
  for (auto op : llvm::make_early_inc_range(block.getOps<DropoutOp>())) {
    op.replaceAllUsesWith(op.getInput());
    op.erase();
  }
  return keyNumbers(program, {kSeed});
}

LogicalResult dropElements(func::FuncOp step, int64_t microBatches) {
  SmallVector<StringRef> names{kSeed, kStepCount};
  if (microBatches > 1)
    names.push_back(kMicroBatch);
  if (failed(keyNumbers(step, names)))
    return failure();
  auto ops = llvm::to_vector(step.getBody().front().getOps<DropoutOp>());
  if (ops.empty())
    return success();
  FailureOr<Value> runKey = buildRunKey(step, names);
  if (failed(runKey))
    return failure();
  for (auto [site, op] : llvm::enumerate(ops)) {
    OpBuilder builder(op);
    ArrayRef<int64_t> shape = op.getType().getShape();
    Value key = buildKey(builder, op.getLoc(), *runKey, site, shape);
    auto training = DropoutTrainingOp::create(
        builder, op.getLoc(), op.getType(), op.getInput(), key,
        buildPositions(builder, op.getLoc(), shape), op.getRatioAttr());
    op.replaceAllUsesWith(training.getResult());
    op.erase();
  }
  return success();
}

} // namespace zc
