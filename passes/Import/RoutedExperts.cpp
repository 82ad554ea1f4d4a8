//===- RoutedExperts.cpp - GShard's einsums -------------------------------===//
//
// y[g, s] = sum over e, c of K[g, s, e, c] f_e(sum over s of D[g, s, e, c]
// x[g, s]), where K has a token's weights at the places that D gives it in the
// rooms of its experts. The products with D and K only move rows.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Import/Lowering/TensorBuilder.h"
#include "passes/Import/Routing.h"
#include "passes/Import/StackedRows.h"

using namespace mlir;
using namespace zc;
using namespace zc::train;

namespace {

/// The value before it was reshaped.
Value stripReshapes(Value value) {
  while (auto view = value.getDefiningOp<ReshapeOp>())
    value = view.getInput();
  return value;
}

/// Whether two tensors [groups, ..] are products' factors whose last two dims
/// but for the groups are of these sizes.
bool isFactor(Value value, const Routing &routing, int64_t rows,
              int64_t columns) {
  SmallVector<int64_t> shape{rows, columns};
  if (typeOf(value).getRank() == 3)
    shape.insert(shape.begin(), routing.groups);
  else if (routing.groups != 1)
    return false;
  return typeOf(value).getShape() == ArrayRef(shape);
}

/// Rows in rooms: groups, experts, places, features.
Layout roomLayout(bool hasGroups) {
  Layout layout;
  int64_t dim = 0;
  if (hasGroups)
    layout.push_back({Axis::Groups, 0, ++dim});
  for (Axis axis : {Axis::Experts, Axis::Tokens, Axis::Features}) {
    layout.push_back({axis, dim, dim + 1});
    ++dim;
  }
  return layout;
}

/// The product of a sum over places and experts that moves rows back.
class RoutedLayer {
public:
  explicit RoutedLayer(MatmulOp back) : back(back), builder(back) {}

  bool replace();

private:
  bool findMask();
  Value findTokens(Value value, const Layout &layout) const;
  Choices makeChoices();
  Value weigh(const RoutedChoice &choice);
  Value decide(const RoutedChoice &choice);
  Value spread(const MaskPart &part, bool hasExperts, Type element);

  int64_t countTokens() const { return routing.groups * routing.tokens; }
  int64_t countPlaces() const { return routing.experts * routing.capacity; }

  MatmulOp back;
  OpBuilder builder;
  Value mask;
  Routing routing;
};

bool RoutedLayer::findMask() {
  if (back.getTransposeLhs() || back.getTransposeRhs())
    return false;
  mask = stripReshapes(back.getLhs());
  if (typeOf(mask).getRank() < 3)
    return false;
  std::optional<Routing> found = findRouting(mask);
  if (!found)
    return false;
  routing = *found;
  int64_t width = typeOf(back.getRhs()).getShape().back();
  // As many choices as experts cost as much as all of them.
  if (int64_t(routing.choices.size()) >= routing.experts ||
      !isFactor(back.getLhs(), routing, routing.tokens, countPlaces()) ||
      !isFactor(back.getRhs(), routing, countPlaces(), width))
    return false;
  return llvm::all_of(routing.choices, [&](const RoutedChoice &choice) {
    return typeOf(choice.chosen).getNumElements() == countTokens();
  });
}

/// The tokens that a product with the mask brings to rooms, or null.
Value RoutedLayer::findTokens(Value value, const Layout &layout) const {
  Value source = stripReshapes(value);
  auto there = source.getDefiningOp<MatmulOp>();
  if (!there || layout != roomLayout(typeOf(mask).getRank() == 4) ||
      there.getTransposeRhs())
    return Value();
  Value moved = there.getLhs();
  if (!there.getTransposeLhs()) {
    auto turn = moved.getDefiningOp<TransposeOp>();
    int64_t rank = typeOf(moved).getRank();
    if (!turn || turn.getPermutation()[rank - 1] != rank - 2 ||
        turn.getPermutation()[rank - 2] != rank - 1)
      return Value();
    moved = turn.getInput();
  }
  int64_t width = typeOf(value).getShape().back();
  if (!isFactor(moved, routing, routing.tokens, countPlaces()) ||
      !isFactor(there.getRhs(), routing, routing.tokens, width))
    return Value();
  Value dispatch = stripReshapes(moved);
  bool isSame = typeOf(dispatch).getShape() == typeOf(mask).getShape() &&
                isMaskOf(dispatch, mask, routing);
  return isSame ? there.getRhs() : Value();
}

/// A part as [groups, tokens], with `hasExperts` [groups, tokens, experts].
Value RoutedLayer::spread(const MaskPart &part, bool hasExperts, Type element) {
  SmallVector<int64_t> shape{routing.groups, routing.tokens};
  if (hasExperts)
    shape.push_back(routing.experts);
  SmallVector<int64_t> kept, dims;
  for (auto [dim, size] : llvm::zip(part.dims, typeOf(part.value).getShape())) {
    if (dim == MaskDim::None || size == 1)
      continue;
    kept.push_back(size);
    dims.push_back(dim == MaskDim::Group ? 0 : dim == MaskDim::Token ? 1 : 2);
  }
  Location loc = back.getLoc();
  Value numbers = convert(builder, loc, part.value, element);
  return broadcast(builder, loc, reshape(builder, loc, numbers, kept), shape,
                   dims);
}

/// The weight of a choice, [groups, tokens].
Value RoutedLayer::weigh(const RoutedChoice &choice) {
  Location loc = back.getLoc();
  Type element = typeOf(mask).getElementType();
  Value gate, weight;
  auto multiply = [&](Value &product, Value factor) {
    product =
        product ? Value(MulOp::create(builder, loc, product, factor)) : factor;
  };
  for (const MaskPart &part : choice.gates)
    multiply(gate, spread(part, /*hasExperts=*/true, element));
  for (const MaskPart &part : choice.weights)
    multiply(weight, spread(part, /*hasExperts=*/false, element));
  if (gate) { // of all experts that of the chosen
    int64_t experts = routing.experts;
    SmallVector<int64_t> shape{routing.groups, routing.tokens, experts};
    auto elements = cast<RankedTensorType>(choice.chosen.getType());
    Value numbers = IotaOp::create(
        builder, loc,
        RankedTensorType::get({experts}, elements.getElementType()), 1);
    Value chosen =
        reshape(builder, loc, choice.chosen, {routing.groups, routing.tokens});
    Value isChosen = compare(builder, loc, Predicate::Eq,
                             broadcast(builder, loc, chosen, shape, {0, 1}),
                             broadcast(builder, loc, numbers, shape, {2}));
    Value zero = splat(builder, loc, gate.getType(), 0);
    gate = SelectOp::create(builder, loc, gate.getType(), isChosen, gate, zero);
    multiply(weight, reduceSum(builder, loc, gate, {2}));
  }
  auto type = RankedTensorType::get({routing.groups, routing.tokens}, element);
  return weight ? weight : splat(builder, loc, type, 1);
}

/// The chosen expert, [groups, tokens]; none where a condition does not hold.
Value RoutedLayer::decide(const RoutedChoice &choice) {
  Location loc = back.getLoc();
  Value chosen = convert(
      builder, loc,
      reshape(builder, loc, choice.chosen, {routing.groups, routing.tokens}),
      builder.getI64Type());
  Value none = splat(builder, loc, chosen.getType(), -1);
  for (const MaskPart &condition : choice.conditions)
    chosen = SelectOp::create(
        builder, loc, chosen.getType(),
        spread(condition, /*hasExperts=*/false, builder.getI1Type()), chosen,
        none);
  return chosen;
}

Choices RoutedLayer::makeChoices() {
  Location loc = back.getLoc();
  SmallVector<int64_t> shape{routing.groups, routing.tokens, 1};
  SmallVector<Value> chosen, weights;
  for (const RoutedChoice &choice : routing.choices) {
    chosen.push_back(reshape(builder, loc, decide(choice), shape));
    weights.push_back(reshape(builder, loc, weigh(choice), shape));
  }
  shape.back() = chosen.size();
  auto join = [&](ArrayRef<Value> columns) -> Value {
    if (columns.size() == 1)
      return columns.front();
    return ConcatOp::create(
        builder, loc, withShape(columns.front().getType(), shape), columns, 2);
  };
  bool mayBeNone =
      llvm::any_of(routing.choices, [](const RoutedChoice &choice) {
        return !choice.conditions.empty();
      });
  return {join(chosen), join(weights), mayBeNone};
}

bool RoutedLayer::replace() {
  if (!findMask())
    return false;
  Value values = back.getRhs();
  if (auto view = values.getDefiningOp<ReshapeOp>())
    values = view.getInput();
  Layout layout = roomLayout(typeOf(mask).getRank() == 4);
  if (typeOf(values).getRank() != int64_t(layout.size()) ||
      typeOf(values).getDimSize(layout.size() - 3) != routing.experts)
    return false;
  StackedRows stacked(builder, back.getLoc(), makeChoices(), routing.experts);
  stacked.rows().limit(routing.groups, routing.capacity);
  stacked.setLeaf(routing.groups, [&](Value value, const Layout &found) {
    Value tokens = findTokens(value, found);
    return tokens ? stacked.rows().repeat(tokens) : Value();
  });
  Value rows = stacked.build(values, layout);
  if (!rows)
    return false;
  back.getResult().replaceAllUsesWith(stacked.sum(rows, back.getResult()));
  back.erase();
  return true;
}

} // namespace

int64_t zc::replaceRoutedExperts(ModuleOp module) {
  SmallVector<MatmulOp> products;
  module.walk([&](MatmulOp op) { products.push_back(op); });
  return llvm::count_if(products,
                        [](MatmulOp op) { return RoutedLayer(op).replace(); });
}
