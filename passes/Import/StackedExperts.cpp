//===- StackedExperts.cpp - sums over a dim of experts --------------------===//
//
// y = sum over e of g[t, e] f_e(x)[t], where g has a token's weights w_j at its
// choices c_j and else 0, is the sum over j of w_j f_c_j(x)[t]. All f_e are
// computed at once, with a dim of experts among those of tokens and one of
// features.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/IR/Matchers.h"
#include "passes/Import/ChosenRows.h"

using namespace mlir;
using namespace zc;
using namespace zc::train;

namespace {

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

bool isZero(Value value) {
  DenseElementsAttr constant;
  return matchPattern(value, m_Constant(&constant)) && isSplatOf(constant, 0);
}

/// Whether a token's choices differ from one another: columns of a TopK, each
/// the first place of the maximum of those that were not chosen before.
bool areDistinct(Value chosen) {
  while (auto view = chosen.getDefiningOp<ReshapeOp>())
    chosen = view.getInput();
  auto columns = chosen.getDefiningOp<ConcatOp>();
  if (!columns)
    return typeOf(chosen).getShape().back() == 1;
  int64_t last = typeOf(chosen).getRank() - 1;
  return int64_t(columns.getDim()) == last &&
         llvm::all_of(columns.getInputs(), [](Value column) {
           auto view = column.getDefiningOp<ReshapeOp>();
           auto place =
               view ? view.getInput().getDefiningOp<ReduceOp>() : ReduceOp();
           return place && place.getKind() == "min" &&
                  typeOf(column).getShape().back() == 1;
         });
}

/// What `spread` repeats along its last dim, of the other dims; or null.
Value matchRepeated(Value spread) {
  auto broadcast = spread.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return Value();
  ArrayRef<int64_t> shape = typeOf(spread).getShape().drop_back();
  Value input = broadcast.getInput();
  auto dims = llvm::seq<int64_t>(0, typeOf(input).getRank());
  if (!llvm::equal(broadcast.getDims(), dims))
    return Value();
  if (auto view = input.getDefiningOp<ReshapeOp>();
      view && dims.size() == shape.size() + 1)
    input = view.getInput();
  return typeOf(input).getShape() == shape ? input : Value();
}

/// 0, 1, ... along the last dim.
bool isCounted(Value spread) {
  auto broadcast = spread.getDefiningOp<BroadcastOp>();
  if (!broadcast || broadcast.getDims().size() != 1 ||
      broadcast.getDims().front() != typeOf(spread).getRank() - 1)
    return false;
  Value input = broadcast.getInput();
  if (auto iota = input.getDefiningOp<IotaOp>())
    return iota.getStride() == 1;
  DenseIntElementsAttr constant;
  if (!matchPattern(input, m_Constant(&constant)))
    return false;
  for (auto [place, value] : llvm::enumerate(constant.getValues<APInt>()))
    if (value.getSExtValue() != int64_t(place))
      return false;
  return true;
}

/// 1 where a choice is the number of its place in the last dim, else 0.
Value matchOneHot(Value value) {
  while (auto convert = value.getDefiningOp<ConvertOp>())
    value = convert.getInput();
  auto compare = value.getDefiningOp<CompareOp>();
  if (!compare || compare.getPredicate() != "eq")
    return Value();
  for (unsigned side : {0, 1})
    if (isCounted(compare->getOperand(1 - side)))
      return matchRepeated(compare->getOperand(side));
  return Value();
}

/// The sum over choices of weights times one-hot numbers.
std::optional<Choices> matchSum(ReduceOp sum) {
  auto product = sum.getInput().getDefiningOp<MulOp>();
  int64_t rank = typeOf(sum.getInput()).getRank();
  if (!product || sum.getKind() != "sum" || rank < 3 ||
      sum.getDims() != ArrayRef<int64_t>(rank - 2))
    return std::nullopt;
  for (unsigned side : {0, 1}) {
    Value chosen = matchOneHot(product->getOperand(side));
    Value weights = matchRepeated(product->getOperand(1 - side));
    if (chosen && weights)
      return Choices{chosen, weights};
  }
  return std::nullopt;
}

/// Weights put at their places in zeros [tokens..., experts].
std::optional<Choices> matchGates(Value gates) {
  while (auto view = gates.getDefiningOp<ReshapeOp>())
    gates = view.getInput();
  if (auto sum = gates.getDefiningOp<ReduceOp>())
    return matchSum(sum);
  auto scatter = gates.getDefiningOp<ScatterReduceOp>();
  if (!scatter || scatter.getKind() != "last" || !isZero(scatter.getInit()))
    return std::nullopt;
  int64_t last = typeOf(gates).getRank() - 1;
  Value chosen = scatter.getIndices();
  if (int64_t(scatter.getDim()) != last ||
      int64_t(scatter.getBatchDims()) != last ||
      typeOf(chosen).getShape() != typeOf(scatter.getUpdates()).getShape())
    return std::nullopt;
  if (auto select = chosen.getDefiningOp<SelectOp>()) // from the beginning
    if (!areDistinct(select.getOnFalse()))
      return std::nullopt;
  if (!chosen.getDefiningOp<SelectOp>() && !areDistinct(chosen))
    return std::nullopt;
  return Choices{chosen, scatter.getUpdates()};
}

/// What dims count. Tokens may have several, in a row.
enum class Axis { Experts, Tokens, Features };

/// Of each axis, in the order of their dims, which dims it has.
struct AxisDims {
  Axis axis;
  int64_t begin, end;

  bool operator==(const AxisDims &other) const {
    return axis == other.axis && begin == other.begin && end == other.end;
  }
};
using Layout = SmallVector<AxisDims, 3>;

/// Computes for rows, one a choice, what is computed for all experts.
class RowBuilder {
public:
  RowBuilder(OpBuilder &builder, Location loc, const Choices &choices,
             int64_t experts)
      : builder(builder), loc(loc), experts(experts),
        chosenRows(builder, loc, choices, experts) {}

  /// [rows, features], or null.
  Value build(Value value, const Layout &layout) {
    if (auto found = made.find(value); found != made.end())
      return found->second.first == layout ? found->second.second : Value();
    Operation *op = value.getDefiningOp();
    if (!op)
      return Value();
    Value result = buildOp(op, value, layout);
    made[value] = {layout, result};
    return result;
  }

  Value sum(Value rows, Value like) { return chosenRows.sum(rows, like); }

private:
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

  /// Where the same axes are in another shape; empty if they are not.
  static Layout relate(Value from, const Layout &layout, Value to) {
    ArrayRef<int64_t> shape = typeOf(to).getShape();
    Layout found;
    int64_t dim = 0, rank = shape.size();
    for (AxisDims each : layout) {
      int64_t size = sizeOf(from, each), begin = dim, product = 1;
      while (dim < rank && (dim == begin || product < size || shape[dim] == 1))
        product *= shape[dim++];
      if (product != size)
        return {};
      found.push_back({each.axis, begin, dim});
    }
    return dim == rank ? found : Layout{};
  }

  RankedTensorType rowsOf(Value value, const Layout &layout) const {
    return chosenRows.typeLike(value,
                               sizeOf(value, find(layout, Axis::Features)));
  }

  Value buildOp(Operation *op, Value value, const Layout &layout) {
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

  Value buildView(ReshapeOp view, const Layout &layout) {
    Layout before = relate(view.getResult(), layout, view.getInput());
    if (!before.empty())
      return build(view.getInput(), before);
    // Tokens, and the products of all experts beside each other.
    auto product = view.getInput().getDefiningOp<MatmulOp>();
    ArrayRef<int64_t> shape = typeOf(view.getInput()).getShape();
    if (!product || shape.size() != 2 || layout[0].axis != Axis::Tokens ||
        layout[1].axis != Axis::Experts ||
        shape[0] != chosenRows.countTokens() || product.getTransposeLhs() ||
        product.getTransposeRhs())
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

  Value buildTranspose(TransposeOp turn, const Layout &layout) {
    ArrayRef<int64_t> order = turn.getPermutation();
    Layout before;
    for (AxisDims each : layout) {
      for (int64_t dim = each.begin + 1; dim < each.end; ++dim)
        if (order[dim] != order[dim - 1] + 1)
          return Value();
      int64_t begin = order[each.begin];
      before.push_back({each.axis, begin, begin + each.end - each.begin});
    }
    llvm::sort(before,
               [](AxisDims a, AxisDims b) { return a.begin < b.begin; });
    return build(turn.getInput(), before);
  }

  static bool isExpertsFirst(Value value, const Layout &layout) {
    return typeOf(value).getRank() == 3 && layout[0].axis == Axis::Experts &&
           layout[1].axis == Axis::Tokens;
  }

  /// [experts, tokens, K] x [experts, K, N].
  Value buildProduct(MatmulOp op, const Layout &layout) {
    if (!isExpertsFirst(op.getResult(), layout) || op.getTransposeLhs() ||
        typeOf(op.getRhs()).getRank() != 3)
      return Value();
    Value rows = build(op.getLhs(), layout);
    return rows ? chosenRows.multiply(rows, op.getRhs(), op.getTransposeRhs())
                : Value();
  }

  /// Of all tokens the same for each expert, or of an expert for all tokens.
  Value buildSpread(BroadcastOp spread, const Layout &layout) {
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
    if (isOf(Axis::Tokens, Axis::Features))
      return chosenRows.repeat(
          reshape(builder, loc, input, {chosenRows.countTokens(), width}));
    if (isOf(Axis::Experts, Axis::Features))
      return chosenRows.lookUp(reshape(builder, loc, input, {experts, width}));
    return Value();
  }

  Value buildSlice(SliceOp slice, const Layout &layout) {
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

  OpBuilder &builder;
  Location loc;
  int64_t experts;
  ChosenRows chosenRows;
  DenseMap<Value, std::pair<Layout, Value>> made;
};

bool replaceSum(Operation *root, Value gates, int64_t expected, Value values,
                const Layout &layout) {
  std::optional<Choices> choices = matchGates(gates);
  if (!choices)
    return false;
  while (auto view = gates.getDefiningOp<ReshapeOp>())
    gates = view.getInput();
  ArrayRef<int64_t> shape = typeOf(choices->weights).getShape();
  int64_t experts = typeOf(gates).getShape().back();
  // As many choices as experts cost as much as all of them.
  if (experts < 2 || shape.back() >= experts || experts != expected)
    return false;
  OpBuilder builder(root);
  RowBuilder rowBuilder(builder, root->getLoc(), *choices, experts);
  Value rows = rowBuilder.build(values, layout);
  if (!rows)
    return false;
  root->getResult(0).replaceAllUsesWith(
      rowBuilder.sum(rows, root->getResult(0)));
  root->erase();
  return true;
}

/// gates [tokens, 1, experts] x values [tokens, experts, features].
bool replaceProduct(MatmulOp op) {
  RankedTensorType gates = typeOf(op.getLhs()), values = typeOf(op.getRhs());
  if (gates.getRank() != 3 || values.getRank() != 3 ||
      gates.getDimSize(1) != 1 || op.getTransposeLhs() || op.getTransposeRhs())
    return false;
  return replaceSum(
      op, op.getLhs(), values.getDimSize(1), op.getRhs(),
      {{Axis::Tokens, 0, 1}, {Axis::Experts, 1, 2}, {Axis::Features, 2, 3}});
}

/// The sum over experts of gates, repeated along the features, times values
/// [tokens..., experts, features].
bool replaceReduction(ReduceOp op) {
  auto product = op.getInput().getDefiningOp<MulOp>();
  int64_t rank = typeOf(op.getInput()).getRank();
  if (!product || op.getKind() != "sum" || rank < 3 ||
      op.getDims() != ArrayRef<int64_t>(rank - 2))
    return false;
  Layout layout = {{Axis::Tokens, 0, rank - 2},
                   {Axis::Experts, rank - 2, rank - 1},
                   {Axis::Features, rank - 1, rank}};
  for (unsigned side : {0, 1})
    if (Value gates = matchRepeated(product->getOperand(side)))
      if (replaceSum(op, gates, typeOf(gates).getShape().back(),
                     product->getOperand(1 - side), layout))
        return true;
  return false;
}

} // namespace

int64_t zc::replaceStackedExperts(ModuleOp module) {
  SmallVector<Operation *> roots;
  module.walk([&](Operation *op) {
    if (isa<MatmulOp, ReduceOp>(op))
      roots.push_back(op);
  });
  return llvm::count_if(roots, [](Operation *op) {
    auto product = dyn_cast<MatmulOp>(op);
    return product ? replaceProduct(product)
                   : replaceReduction(cast<ReduceOp>(op));
  });
}
