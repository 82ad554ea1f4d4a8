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
#include "passes/Import/Lowering/TensorBuilder.h"
#include "passes/Import/StackedRows.h"

using namespace mlir;
using namespace zc;
using namespace zc::train;

namespace {

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
           return place && place.getKind() == ReduceKind::Min &&
                  typeOf(column).getShape().back() == 1;
         });
}

/// The tensor of the other dims that `spread` repeats along its last dim; or
/// null.
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
  if (!compare || compare.getPredicate() != Predicate::Eq)
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
  if (!product || sum.getKind() != ReduceKind::Sum || rank < 3 ||
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
  if (!scatter || scatter.getKind() != ScatterKind::Last ||
      !isZero(scatter.getInit()))
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
  StackedRows stacked(builder, root->getLoc(), *choices, experts);
  Value rows = stacked.build(values, layout);
  if (!rows)
    return false;
  root->getResult(0).replaceAllUsesWith(stacked.sum(rows, root->getResult(0)));
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
  if (!product || op.getKind() != ReduceKind::Sum || rank < 3 ||
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
