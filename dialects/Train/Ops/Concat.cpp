//===- Concat.cpp - train.concat ----------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult ConcatOp::verify() {
  auto to = cast<RankedTensorType>(getType());
  int64_t dim = getDim(), sum = 0;
  if (getInputs().empty())
    return emitOpError("has no operands");
  if (dim < 0 || dim >= to.getRank())
    return emitOpError("dim ") << dim << " is none of the result";
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    auto from = cast<RankedTensorType>(input.getType());
    if (from.getRank() != to.getRank() ||
        from.getElementType() != to.getElementType())
      return emitOpError("operand ")
             << index << " differs from the result in dims or element type";
    for (int64_t other : otherDims(to.getRank(), {dim}))
      if (from.getDimSize(other) != to.getDimSize(other))
        return emitOpError("operand ")
               << index << " dim " << other << " is " << from.getDimSize(other)
               << ", the result has " << to.getDimSize(other);
    sum += from.getDimSize(dim);
  }
  if (sum != to.getDimSize(dim))
    return emitOpError("operands have ")
           << sum << " along dim " << dim << ", the result "
           << to.getDimSize(dim);
  if (getInLoops() &&
      (getInputs().size() != 2 || dim != to.getRank() - 1 ||
       getInputs().front().getType() != getInputs().back().getType()))
    return emitOpError("is in_loops, and joins no two equal parts along the "
                       "innermost dim");
  return success();
}

ShardingRule ConcatOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  auto to = cast<RankedTensorType>(getType());
  for (int64_t dim :
       otherDims(to.getRank(), {static_cast<int64_t>(getDim())})) {
    int factor = rule.addFactor(to.getDimSize(dim));
    rule.resultDims[0][dim] = factor;
    for (auto &dims : rule.operandDims)
      dims[dim] = factor;
  }
  rule.linearity.assign(getNumOperands(), Linearity::Joint);
  return rule;
}

double ConcatOp::getFlops() { return 0; }

void ConcatOp::buildLinalg(OpBuilder &builder, Location loc, ValueRange inputs,
                           ValueRange outputs) {
  unsigned rank = shapeOf(outputs[0]).size();
  SmallVector<int64_t> offsets(rank, 0), strides(rank, 1);
  for (Value input : inputs) {
    Value window =
        buildWindow(builder, loc, outputs[0], offsets, shapeOf(input), strides);
    buildCopy(builder, loc, input, window);
    offsets[getDim()] += shapeOf(input)[getDim()];
  }
}

LogicalResult ConcatOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                            ArrayRef<bool> wanted,
                            MutableArrayRef<Value> operandGrads) {
  int64_t rank = cast<RankedTensorType>(getType()).getRank();
  SmallVector<int64_t> offsets(rank, 0), strides(rank, 1);
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    if (wanted[index])
      operandGrads[index] = SliceOp::create(builder, getLoc(), input.getType(),
                                            resultGrads[0], offsets, strides);
    offsets[getDim()] +=
        cast<RankedTensorType>(input.getType()).getDimSize(getDim());
  }
  return success();
}

// One copy of each part in place of two.
static LogicalResult flattenConcat(ConcatOp op, PatternRewriter &rewriter) {
  SmallVector<Value> parts;
  for (Value input : op.getInputs()) {
    auto inner = input.getDefiningOp<ConcatOp>();
    if (inner && inner.getDim() == op.getDim() && input.hasOneUse())
      llvm::append_range(parts, inner.getInputs());
    else
      parts.push_back(input);
  }
  if (parts.size() == op.getInputs().size())
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(parts); });
  return success();
}

namespace {

/// How the operands of a concat come from equal parts of one value: slice by
/// slice reduced, perhaps reshaped, then elementwise with constants.
class ReducedSlices {
public:
  explicit ReducedSlices(ConcatOp op) : op(op), values(op.getInputs()) {}

  bool match();
  Value build(OpBuilder &builder);

private:
  bool areAlike(unsigned operand);
  bool stepBack(unsigned operand);
  bool peelElementwise();
  bool matchSlices();
  bool placesParts();
  Value partsOfSource(OpBuilder &builder);

  ConcatOp op;
  SmallVector<Value> values; // one per part, further and further back
  SmallVector<std::pair<Operation *, unsigned>> elementwise; // last one first
  ReduceOp reduce;
  SmallVector<SliceOp> slices;
  int64_t dim = -1; // along which the slices follow one another
};

} // namespace

static DenseElementsAttr splatOf(Value value) {
  DenseElementsAttr constant;
  bool found = matchPattern(value, m_Constant(&constant));
  return found && constant.isSplat() ? constant : DenseElementsAttr();
}

/// Whether all values are made by equal ops, of constants and `operand`.
bool ReducedSlices::areAlike(unsigned operand) {
  Operation *first = values.front().getDefiningOp();
  return llvm::all_of(values, [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getName() != first->getName() || !value.hasOneUse() ||
        op->getAttrDictionary() != first->getAttrDictionary() ||
        op->getResultTypes() != first->getResultTypes() ||
        op->getOperand(operand).getType() !=
            first->getOperand(operand).getType())
      return false;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (i != operand &&
          (!splatOf(op->getOperand(i)) ||
           splatOf(op->getOperand(i)) != splatOf(first->getOperand(i))))
        return false;
    return true;
  });
}

bool ReducedSlices::stepBack(unsigned operand) {
  if (!areAlike(operand))
    return false;
  for (Value &value : values)
    value = value.getDefiningOp()->getOperand(operand);
  return true;
}

bool ReducedSlices::peelElementwise() {
  while (Operation *first = values.front().getDefiningOp()) {
    if (!isa<ElementwiseOpInterface>(first))
      return true;
    unsigned operand = 0, count = first->getNumOperands();
    while (operand < count && splatOf(first->getOperand(operand)))
      ++operand;
    if (operand == count || !stepBack(operand))
      return false;
    elementwise.push_back({first, operand});
  }
  return false;
}

/// Whether the values are slices of equal size that follow one another.
bool ReducedSlices::matchSlices() {
  for (Value value : values)
    slices.push_back(value.getDefiningOp<SliceOp>());
  if (llvm::is_contained(slices, SliceOp()))
    return false;
  SliceOp first = slices[0], second = slices[1];
  ArrayRef<int64_t> start = first.getOffsets();
  for (unsigned i = 0; i < start.size(); ++i)
    if (second.getOffsets()[i] != start[i])
      dim = i;
  if (dim < 0 || first.getStrides()[dim] != 1)
    return false;
  SmallVector<int64_t> expected(start);
  int64_t size = cast<ShapedType>(first.getType()).getDimSize(dim);
  return llvm::all_of(slices, [&](SliceOp slice) {
    bool follows = slice.getInput() == first.getInput() &&
                   slice.getStrides() == first.getStrides() &&
                   slice.getOffsets() == ArrayRef(expected);
    expected[dim] += size;
    return follows;
  });
}

/// Whether the parts, one after the other where the reduction left them, are
/// the concat: as many elements come before them there as here.
bool ReducedSlices::placesParts() {
  ArrayRef<int64_t> shape =
      cast<ShapedType>(reduce.getInput().getType()).getShape();
  int64_t before = 1, wanted = 1;
  for (int64_t at = 0; at < dim; ++at)
    if (!llvm::is_contained(reduce.getDims(), at))
      before *= shape[at];
  for (int64_t size :
       cast<ShapedType>(op.getType()).getShape().take_front(op.getDim()))
    wanted *= size;
  return before == wanted && llvm::is_contained(reduce.getDims(), dim);
}

bool ReducedSlices::match() {
  if (values.size() < 2 || !peelElementwise())
    return false;
  if (values.front().getDefiningOp<ReshapeOp>() && !stepBack(0))
    return false;
  reduce = values.front().getDefiningOp<ReduceOp>();
  return reduce && stepBack(0) && matchSlices() && placesParts();
}

/// All slices, one more dim counting them.
Value ReducedSlices::partsOfSource(OpBuilder &builder) {
  SliceOp first = slices.front();
  SmallVector<int64_t> shape(cast<ShapedType>(first.getType()).getShape());
  int64_t size = shape[dim], count = slices.size();
  shape[dim] *= count;
  Value all =
      SliceOp::create(builder, op.getLoc(), withShape(first.getType(), shape),
                      first.getInput(), first.getOffsets(), first.getStrides());
  shape[dim] = size;
  shape.insert(shape.begin() + dim, count);
  return reshape(builder, op.getLoc(), all, shape);
}

Value ReducedSlices::build(OpBuilder &builder) {
  Value parts = partsOfSource(builder);
  SmallVector<int64_t> dims, shape;
  for (int64_t reduced : reduce.getDims())
    dims.push_back(reduced < dim ? reduced : reduced + 1);
  ArrayRef<int64_t> from = cast<ShapedType>(parts.getType()).getShape();
  for (int64_t kept : otherDims(from.size(), dims))
    shape.push_back(from[kept]);
  Value value = ReduceOp::create(builder, reduce.getLoc(),
                                 withShape(reduce.getType(), shape),
                                 reduce.getKind(), parts, dims);
  ArrayRef<int64_t> to = cast<ShapedType>(op.getType()).getShape();
  value = reshape(builder, op.getLoc(), value, to);
  for (auto [prototype, operand] : llvm::reverse(elementwise)) {
    Operation *whole = builder.clone(*prototype);
    for (unsigned i = 0; i < whole->getNumOperands(); ++i) {
      Value constant = whole->getOperand(i);
      if (i == operand)
        whole->setOperand(i, value);
      else
        whole->setOperand(
            i, ConstantOp::create(builder, constant.getLoc(),
                                  splatOf(constant).resizeSplat(
                                      withShape(constant.getType(), to))));
    }
    value = whole->getResult(0);
    value.setType(withShape(value.getType(), to));
  }
  return value;
}

// Turns a loop's reductions of slices, one bag of embeddings at a time, into
// one reduction, which can be sharded over samples.
static LogicalResult reduceAtOnce(ConcatOp op, PatternRewriter &rewriter) {
  ReducedSlices slices(op);
  if (!slices.match())
    return failure();
  rewriter.replaceOp(op, slices.build(rewriter));
  return success();
}

void ConcatOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *) {
  patterns.add(flattenConcat);
  patterns.add(reduceAtOnce);
}

} // namespace zc::train
