//===- StackedRows.cpp - of all experts at once, the chosen rows ----------===//
//
// From the values that are summed over experts back to what experts read: each
// op has a form that works on one row a choice, or the whole stays as it was.
//
//===----------------------------------------------------------------------===//
#include "passes/Import/StackedRows.h"

#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/IR/Matchers.h"
#include "passes/Import/Lowering/TensorBuilder.h"

using namespace mlir;
using namespace zc;
using namespace zc::train;

static AxisDims find(const Layout &layout, Axis axis) {
  return *llvm::find_if(layout,
                        [&](AxisDims each) { return each.axis == axis; });
}

static int64_t sizeOf(Value value, AxisDims dims) {
  auto shape = typeOf(value).getShape();
  int64_t size = 1;
  for (int64_t dim = dims.begin; dim < dims.end; ++dim)
    size *= shape[dim];
  return size;
}

Value StackedRows::build(Value value, const Layout &layout) {
  if (auto found = made.find(value); found != made.end())
    return found->second.first == layout ? found->second.second : Value();
  Operation *op = value.getDefiningOp();
  if (!op)
    return Value();
  Value result = leaf ? leaf(value, layout) : Value();
  if (!result)
    result = buildOp(op, value, layout);
  made[value] = {layout, result};
  return result;
}

/// Where axes of the given sizes, in order, are in another shape; empty if they
/// are not.
static Layout place(ArrayRef<std::pair<Axis, int64_t>> axes, Value to) {
  ArrayRef<int64_t> shape = typeOf(to).getShape();
  Layout found;
  int64_t dim = 0, rank = shape.size();
  for (auto [axis, size] : axes) {
    int64_t begin = dim, product = 1;
    while (dim < rank && (dim == begin || product < size || shape[dim] == 1))
      product *= shape[dim++];
    if (product != size)
      return {};
    found.push_back({axis, begin, dim});
  }
  return dim == rank ? found : Layout{};
}

/// Where the same axes are in another shape, in which groups and tokens may be
/// one dim; empty if they are not.
Layout StackedRows::relate(Value from, const Layout &layout, Value to) const {
  SmallVector<std::pair<Axis, int64_t>> axes, joined;
  for (AxisDims each : layout) {
    int64_t size = sizeOf(from, each);
    axes.push_back({each.axis, size});
    if (each.axis == Axis::Tokens && !joined.empty() &&
        joined.back().first == Axis::Groups)
      joined.back() = {Axis::Tokens, size * joined.back().second};
    else
      joined.push_back({each.axis, size});
  }
  Layout found = place(axes, to);
  return found.empty() ? place(joined, to) : found;
}

/// With groups and tokens apart, where they have dims of their own.
Layout StackedRows::separateGroups(Value value, const Layout &layout) const {
  if (groups == 1 || llvm::any_of(layout, [](AxisDims each) {
        return each.axis == Axis::Groups;
      }))
    return layout;
  Layout found;
  for (AxisDims each : layout) {
    int64_t dim = each.begin, product = 1;
    while (each.axis == Axis::Tokens && dim < each.end && product < groups)
      product *= typeOf(value).getDimSize(dim++);
    if (product == groups && dim > each.begin && dim < each.end) {
      found.push_back({Axis::Groups, each.begin, dim});
      each.begin = dim;
    }
    found.push_back(each);
  }
  return found;
}

RankedTensorType StackedRows::rowsOf(Value value, const Layout &layout) const {
  return chosenRows.typeLike(value,
                             sizeOf(value, find(layout, Axis::Features)));
}

Value StackedRows::buildOp(Operation *op, Value value, const Layout &layout) {
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)) && constant.isSplat())
    return ConstantOp::create(builder, loc,
                              constant.resizeSplat(rowsOf(value, layout)));
  if (auto view = dyn_cast<ReshapeOp>(op))
    return buildView(view, layout);
  if (auto turn = dyn_cast<TransposeOp>(op))
    return buildTranspose(turn, layout);
  if (auto product = dyn_cast<MatmulOp>(op))
    return buildProduct(product, layout);
  if (auto spread = dyn_cast<BroadcastOp>(op))
    return buildSpread(spread, layout);
  if (auto slice = dyn_cast<SliceOp>(op))
    return buildSlice(slice, layout);
  if (!isa<ElementwiseOpInterface>(op) || op->getNumResults() != 1)
    return Value();
  SmallVector<Value> rows;
  for (Value operand : op->getOperands()) {
    rows.push_back(build(operand, layout));
    if (!rows.back())
      return Value();
  }
  OperationState state(loc, op->getName());
  state.addOperands(rows);
  state.addTypes(rowsOf(value, layout));
  state.addAttributes(op->getAttrs());
  return builder.create(state)->getResult(0);
}

Value StackedRows::buildView(Operation *operation, const Layout &layout) {
  auto view = cast<ReshapeOp>(operation);
  Layout before = relate(view.getResult(), layout, view.getInput());
  if (!before.empty())
    return build(view.getInput(), before);
  if (leaf)
    return Value();
  // Tokens, and the products of all experts beside each other.
  auto product = view.getInput().getDefiningOp<MatmulOp>();
  ArrayRef<int64_t> shape = typeOf(view.getInput()).getShape();
  if (!product || shape.size() != 2 || layout[0].axis != Axis::Tokens ||
      layout[1].axis != Axis::Experts || shape[0] != chosenRows.countTokens() ||
      product.getTransposeLhs() || product.getTransposeRhs())
    return Value();
  auto flat = product.getRhs().getDefiningOp<ReshapeOp>();
  auto turn =
      flat ? flat.getInput().getDefiningOp<TransposeOp>() : TransposeOp();
  if (!turn || typeOf(turn.getInput()).getRank() != 3 ||
      typeOf(turn.getInput()).getDimSize(0) != experts ||
      turn.getPermutation()[1] != 0 ||
      typeOf(turn.getResult()).getDimSize(0) != typeOf(flat).getDimSize(0))
    return Value();
  return chosenRows.multiply(chosenRows.repeat(product.getLhs()),
                             turn.getInput(),
                             /*transposed=*/turn.getPermutation()[0] == 2);
}

Value StackedRows::buildTranspose(Operation *operation, const Layout &layout) {
  auto turn = cast<TransposeOp>(operation);
  ArrayRef<int64_t> order = turn.getPermutation();
  Layout before;
  for (AxisDims each : separateGroups(turn.getResult(), layout)) {
    for (int64_t dim = each.begin + 1; dim < each.end; ++dim)
      if (order[dim] != order[dim - 1] + 1)
        return Value();
    int64_t begin = order[each.begin];
    before.push_back({each.axis, begin, begin + each.end - each.begin});
  }
  llvm::sort(before, [](AxisDims a, AxisDims b) { return a.begin < b.begin; });
  return build(turn.getInput(), before);
}

static bool isExpertsFirst(Value value, const Layout &layout) {
  return typeOf(value).getRank() == 3 && layout.size() == 3 &&
         layout[0].axis == Axis::Experts && layout[1].axis == Axis::Tokens;
}

/// [experts, tokens, K] x [experts, K, N].
Value StackedRows::buildProduct(Operation *operation, const Layout &layout) {
  auto op = cast<MatmulOp>(operation);
  if (!isExpertsFirst(op.getResult(), layout) || op.getTransposeLhs() ||
      typeOf(op.getRhs()).getRank() != 3)
    return Value();
  Value rows = build(op.getLhs(), layout);
  return rows ? chosenRows.multiply(rows, op.getRhs(), op.getTransposeRhs())
              : Value();
}

/// A broadcast whose rows are alike for all experts, or for all tokens of an
/// expert.
Value StackedRows::buildSpread(Operation *operation, const Layout &layout) {
  auto spread = cast<BroadcastOp>(operation);
  Value input = spread.getInput();
  ArrayRef<int64_t> dims = spread.getDims();
  ArrayRef<int64_t> from = typeOf(input).getShape();
  ArrayRef<int64_t> to = typeOf(spread.getResult()).getShape();
  SmallVector<int64_t> kept, wanted;
  for (auto [index, dim] : llvm::enumerate(dims)) {
    if (from[index] == 1 && to[dim] != 1)
      continue; // repeated
    kept.push_back(dim);
  }
  auto isOf = [&](Axis a, Axis b) {
    wanted.clear();
    for (AxisDims each : layout)
      if (each.axis == a || each.axis == b)
        llvm::append_range(wanted, llvm::seq(each.begin, each.end));
    return kept == wanted;
  };
  AxisDims features = find(layout, Axis::Features);
  bool isLast = features.end == typeOf(spread.getResult()).getRank();
  if (!isLast || features.end - features.begin != 1)
    return Value();
  int64_t width = to[features.begin];
  // Where tokens are places, the row of a place is not known.
  if (!leaf && isOf(Axis::Tokens, Axis::Features))
    return chosenRows.repeat(
        reshape(builder, loc, input, {chosenRows.countTokens(), width}));
  if (isOf(Axis::Experts, Axis::Features))
    return chosenRows.lookUp(reshape(builder, loc, input, {experts, width}));
  return Value();
}

Value StackedRows::buildSlice(Operation *operation, const Layout &layout) {
  auto slice = cast<SliceOp>(operation);
  AxisDims features = find(layout, Axis::Features);
  ArrayRef<int64_t> from = typeOf(slice.getInput()).getShape();
  ArrayRef<int64_t> to = typeOf(slice.getResult()).getShape();
  int64_t dim = features.begin;
  for (int64_t other = 0; other < int64_t(to.size()); ++other)
    if (other != dim && from[other] != to[other])
      return Value();
  Value rows =
      features.end - dim == 1 ? build(slice.getInput(), layout) : Value();
  if (!rows)
    return Value();
  return SliceOp::create(
      builder, loc, rowsOf(slice.getResult(), layout), rows,
      builder.getDenseI64ArrayAttr({0, slice.getOffsets()[dim]}),
      builder.getDenseI64ArrayAttr({1, slice.getStrides()[dim]}));
}
