//===- ScatterReduce.cpp - train.scatter_reduce ---------------------------===//
#include "dialects/Train/Ops/GatherSupport.h"
#include "dialects/Train/Ops/ReduceSupport.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace zc::train {

/// How an update is combined with what is there; nothing: it replaces that.
static std::optional<ReduceKind> getCombination(ScatterKind kind) {
  switch (kind) {
  case ScatterKind::Max:
    return ReduceKind::Max;
  case ScatterKind::Min:
    return ReduceKind::Min;
  case ScatterKind::Prod:
    return ReduceKind::Prod;
  case ScatterKind::Sum:
    return ReduceKind::Sum;
  case ScatterKind::Last:
  case ScatterKind::Alike:
    return std::nullopt;
  }
  llvm_unreachable("all kinds are combined somehow");
}

/// Last, or Alike, which promises that updates of equal indices are equal:
/// each of them has the gradient, as in PyTorch's max_unpool.
static bool replaces(ScatterReduceOp op) {
  return !getCombination(op.getKind());
}

LogicalResult ScatterReduceOp::verify() {
  auto init = cast<RankedTensorType>(getInit().getType());
  if (getKind() == ScatterKind::Sum && isa<FloatType>(init.getElementType()))
    return emitOpError("a sum of floats is train.scatter_add");
  RankedTensorType indices = getIndices().getType();
  if (failed(verifyGatherDims(*this, "init", init, indices, getDim(),
                              getBatchDims())))
    return failure();
  return verifyType(*this, "updates", getUpdates().getType(),
                    gatheredType(init, indices, getDim(), getBatchDims()));
}

namespace {

/// Builds the op's gradients, in float32 where the op has 16 bits.
class ScatterGradient {
public:
  ScatterGradient(OpBuilder &builder, ScatterReduceOp op, Value grad)
      : builder(builder), loc(op.getLoc()), op(op),
        grad(widen(builder, loc, grad)),
        init(widen(builder, loc, op.getInit())),
        updates(widen(builder, loc, op.getUpdates())) {}

  void ofExtremum(MutableArrayRef<Value> operandGrads);
  void ofProduct(MutableArrayRef<Value> operandGrads);
  void ofLast(MutableArrayRef<Value> operandGrads);

private:
  Value gather(Value table) {
    return GatherOp::create(builder, loc, updates.getType(), table,
                            op.getIndices(), op.getDim(), op.getBatchDims());
  }
  Value add(Value table, Value terms) {
    return ScatterAddOp::create(builder, loc, table.getType(), table,
                                op.getIndices(), terms, op.getDimAttr(),
                                op.getBatchDimsAttr());
  }
  Value mul(Value a, Value b) { return MulOp::create(builder, loc, a, b); }
  Value isEqual(Value a, Value b) {
    return compare(builder, loc, Predicate::Eq, a, b);
  }
  Value isEqual(Value a, double b) {
    return isEqual(a, splat(builder, loc, a.getType(), b));
  }
  Value toNumbers(Value bits, Value like) {
    return ConvertOp::create(builder, loc, like.getType(), bits);
  }
  Value select(Value condition, Value a, Value b) {
    return SelectOp::create(builder, loc, condition, a, b);
  }
  Value zeros(Value like) { return splat(builder, loc, like.getType(), 0); }
  /// `factors` with ones in place of zeros.
  Value withoutZeros(Value factors, Value isZero) {
    return select(isZero, splat(builder, loc, factors.getType(), 1), factors);
  }
  /// Per update: true where no later update has the same index.
  Value isLastUpdate();
  /// The product of all factors but one's own.
  Value productOfOthers(Value factors, Value isZero, Value product,
                        Value numZeros);

  OpBuilder &builder;
  Location loc;
  ScatterReduceOp op;
  Value grad, init, updates;
};

} // namespace

void ScatterGradient::ofExtremum(MutableArrayRef<Value> operandGrads) {
  Value result = widen(builder, loc, op.getResult());
  Value initWins = toNumbers(isEqual(init, result), init);
  Value updateWins = toNumbers(isEqual(updates, gather(result)), updates);
  Value share = DivOp::create(builder, loc, grad, add(initWins, updateWins));
  operandGrads[0] = mul(initWins, share);
  operandGrads[2] = mul(updateWins, gather(share));
}

// Without zeros it is the product by the factor. One zero is multiplied by all
// the others, and they by it.
Value ScatterGradient::productOfOthers(Value factors, Value isZero,
                                       Value product, Value numZeros) {
  Value quotient =
      DivOp::create(builder, loc, product, withoutZeros(factors, isZero));
  return select(isZero, select(isEqual(numZeros, 1.0), product, zeros(product)),
                select(isEqual(numZeros, 0.0), quotient, zeros(product)));
}

void ScatterGradient::ofProduct(MutableArrayRef<Value> operandGrads) {
  Value isZeroInit = isEqual(init, 0.0), isZeroUpdate = isEqual(updates, 0.0);
  Value product =
      ScatterReduceOp::create(builder, loc, init.getType(), op.getKindAttr(),
                              withoutZeros(init, isZeroInit), op.getIndices(),
                              withoutZeros(updates, isZeroUpdate),
                              op.getDimAttr(), op.getBatchDimsAttr());
  Value numZeros =
      add(toNumbers(isZeroInit, init), toNumbers(isZeroUpdate, updates));
  operandGrads[0] =
      mul(grad, productOfOthers(init, isZeroInit, product, numZeros));
  operandGrads[2] =
      mul(gather(grad), productOfOthers(updates, isZeroUpdate, gather(product),
                                        gather(numZeros)));
}

/// Whether constant indices [N..., I...] differ within each of the N.
static bool haveDistinctIndices(ScatterReduceOp op) {
  ArrayRef<int64_t> shape = op.getIndices().getType().getShape();
  int64_t count =
      ShapedType::getNumElements(shape.drop_front(op.getBatchDims()));
  if (count <= 1)
    return true;
  DenseIntElementsAttr indices;
  if (!matchPattern(op.getIndices(), m_Constant(&indices)))
    return false;
  int64_t rows =
      cast<RankedTensorType>(op.getInit().getType()).getDimSize(op.getDim());
  DenseSet<int64_t> seen;
  for (auto [place, index] : llvm::enumerate(indices.getValues<APInt>())) {
    if (place % count == 0)
      seen.clear();
    int64_t row = index.getSExtValue(); // negative: from the end
    if (!seen.insert(row < 0 ? row + rows : row).second)
      return false;
  }
  return true;
}

// Every update leaves its number, counted along I, at its index; the one that
// was written last finds its own number there.
Value ScatterGradient::isLastUpdate() {
  int64_t batchDims = op.getBatchDims();
  RankedTensorType indices = op.getIndices().getType();
  auto numbersType = withElementType(indices, builder.getI64Type());
  Value numbers = splat(builder, loc, numbersType, 0);
  int64_t stride = 1;
  for (int64_t dim = indices.getRank() - 1; dim >= batchDims; --dim) {
    auto type = withShape(numbersType, {indices.getDimSize(dim)});
    Value along =
        broadcast(builder, loc, IotaOp::create(builder, loc, type, stride),
                  indices.getShape(), {dim});
    numbers = AddOp::create(builder, loc, numbers, along);
    stride *= indices.getDimSize(dim);
  }
  SmallVector<int64_t> places(indices.getShape().take_front(batchDims));
  auto table = cast<RankedTensorType>(init.getType());
  places.push_back(table.getDimSize(op.getDim()));
  auto placesType = withShape(numbersType, places);
  Value last = ScatterReduceOp::create(
      builder, loc, placesType, ScatterKind::Last,
      splat(builder, loc, placesType, -1), op.getIndices(), numbers, batchDims,
      op.getBatchDims());
  Value found = GatherOp::create(builder, loc, numbersType, last,
                                 op.getIndices(), batchDims, batchDims);
  GatherDims dims = gatherDimsOf(op, table);
  return broadcast(builder, loc, isEqual(found, numbers),
                   cast<RankedTensorType>(updates.getType()).getShape(),
                   dims.gatheredIndices);
}

// The update that was written has the gradient of its place: the last one of
// equal indices. (PyTorch gives it to all of them.)
void ScatterGradient::ofLast(MutableArrayRef<Value> operandGrads) {
  operandGrads[0] = ScatterReduceOp::create(
      builder, loc, grad.getType(), op.getKindAttr(), grad, op.getIndices(),
      zeros(updates), op.getDimAttr(), op.getBatchDimsAttr());
  operandGrads[2] = gather(grad);
  if (op.getKind() == ScatterKind::Last && !haveDistinctIndices(op))
    operandGrads[2] = select(isLastUpdate(), operandGrads[2], zeros(updates));
}

LogicalResult ScatterReduceOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                                   ArrayRef<bool> wanted,
                                   MutableArrayRef<Value> operandGrads) {
  ScatterGradient gradient(builder, *this, resultGrads[0]);
  if (getKind() == ScatterKind::Prod)
    gradient.ofProduct(operandGrads);
  else if (replaces(*this))
    gradient.ofLast(operandGrads);
  else
    gradient.ofExtremum(operandGrads);
  return success();
}

ShardingRule ScatterReduceOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  auto init = cast<RankedTensorType>(getInit().getType());
  addTableLoops(rule, init, gatherDimsOf(*this, init));
  if (replaces(*this))
    rule.linearity[0] = rule.linearity[2] = Linearity::Joint;
  return rule;
}

double ScatterReduceOp::getFlops() {
  return static_cast<double>(numElements(getUpdates().getType()));
}

bool ScatterReduceOp::mayShareBuffer(unsigned operand, unsigned) {
  return operand == 0;
}

void ScatterReduceOp::buildLinalg(OpBuilder &builder, Location loc,
                                  ValueRange inputs, ValueRange outputs) {
  buildScatter(
      builder, loc, inputs, outputs[0],
      gatherDimsOf(*this, cast<RankedTensorType>(getInit().getType())),
      [&](OpBuilder &nested, Location at, Value element, Value update) {
        auto kind = getCombination(getKind());
        return kind ? buildCombination(nested, at, *kind, element, update)
                    : update;
      });
}

// An extremum is one of the numbers; a product is many roundings.
Precision ScatterReduceOp::getPrecision() {
  return getKind() == ScatterKind::Prod ? Precision::Wide : Precision::Same;
}

bool ScatterReduceOp::accumulates(unsigned) { return true; }

} // namespace zc::train
