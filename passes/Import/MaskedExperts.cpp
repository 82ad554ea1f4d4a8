//===- MaskedExperts.cpp - sums over all experts --------------------------===//
//
// y = sum over e of g_e f_e(x), where g_e is the sum over a token's choices c_j
// of w_j [c_j = e], is the sum over j of w_j f_c_j(x). The first computes every
// expert for every token; the second, a row for each choice.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/IR/Matchers.h"
#include "passes/Import/ChosenRows.h"
#include "passes/Import/Lowering/TensorBuilder.h"

using namespace mlir;
using namespace zc;
using namespace zc::train;

namespace {

int64_t lastDim(Value value) { return typeOf(value).getShape().back(); }

/// The expert that a mask selects, and the choices and weights [tokens..., k]
/// that the mask is made of.
struct Gate {
  Value chosen, weights;
  int64_t expert;
};

/// One expert's term of a sum.
struct Term {
  Gate gate;
  Value value; // of all tokens, before it is masked
};

/// The gate before it was broadcast and reshaped.
Value stripViews(Value value) {
  if (auto spread = value.getDefiningOp<BroadcastOp>())
    value = spread.getInput();
  while (auto view = value.getDefiningOp<ReshapeOp>())
    value = view.getInput();
  return value;
}

/// chosen == a number that is the same everywhere, as 0 or 1.
std::optional<std::pair<Value, int64_t>> matchMask(Value mask) {
  auto convert = mask.getDefiningOp<ConvertOp>();
  auto compare =
      convert ? convert.getInput().getDefiningOp<CompareOp>() : CompareOp();
  if (!compare || compare.getPredicate() != Predicate::Eq)
    return std::nullopt;
  for (auto [value, number] : {std::pair(compare.getLhs(), compare.getRhs()),
                               std::pair(compare.getRhs(), compare.getLhs())}) {
    DenseElementsAttr constant;
    if (isa<IntegerType>(typeOf(value).getElementType()) &&
        matchPattern(number, m_Constant(&constant)) && constant.isSplat())
      return std::pair(Value(value),
                       constant.getSplatValue<APInt>().getSExtValue());
  }
  return std::nullopt;
}

/// Sum over choices of weights times a mask; `gate` has one number a token.
std::optional<Gate> matchGate(Value gate) {
  auto sum = stripViews(gate).getDefiningOp<ReduceOp>();
  if (!sum || sum.getKind() != ReduceKind::Sum || sum.getDims().size() != 1 ||
      sum.getDims().front() != typeOf(sum.getInput()).getRank() - 1)
    return std::nullopt;
  auto product = sum.getInput().getDefiningOp<MulOp>();
  if (!product)
    return std::nullopt;
  for (unsigned side : {0, 1})
    if (auto mask = matchMask(product->getOperand(side)))
      return Gate{mask->first, product->getOperand(1 - side), mask->second};
  return std::nullopt;
}

/// Whether a gate was spread along the last dim of `value` alone.
bool isOfTokens(const Gate &gate, Value value) {
  ArrayRef<int64_t> shape = typeOf(value).getShape();
  ArrayRef<int64_t> tokens = typeOf(gate.weights).getShape().drop_back();
  return shape.size() > 1 && llvm::equal(shape.drop_back(), tokens);
}

/// Whether `spread` repeats one number a token along its last dim.
bool isSpreadGate(Value spread, const Gate &gate) {
  auto broadcast = spread.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return false;
  int64_t rank = typeOf(spread).getRank();
  RankedTensorType input = typeOf(broadcast.getInput());
  auto expected = llvm::seq<int64_t>(0, input.getRank());
  return llvm::equal(broadcast.getDims(), expected) &&
         input.getRank() >= rank - 1 &&
         (input.getRank() == rank - 1 || input.getShape().back() == 1) &&
         isOfTokens(gate, spread);
}

std::optional<Term> matchTerm(Value value) {
  auto product = value.getDefiningOp<MulOp>();
  if (!product || !value.hasOneUse())
    return std::nullopt;
  for (unsigned side : {0, 1}) {
    auto gate = matchGate(product->getOperand(side));
    if (gate && isSpreadGate(product->getOperand(side), *gate))
      return Term{*gate, product->getOperand(1 - side)};
  }
  return std::nullopt;
}

/// Computes for rows, one a choice, what the experts compute for all tokens.
class RowBuilder {
public:
  RowBuilder(OpBuilder &builder, Location loc, const Gate &gate, int64_t count)
      : builder(builder), loc(loc), experts(count),
        chosenRows(builder, loc, {gate.chosen, gate.weights}, count) {}

  /// Computes for each row its own expert's value, [rows, width]; null if the
  /// experts do not compute alike, or not each token by itself.
  Value build(ArrayRef<Value> each) {
    if (llvm::all_equal(each))
      return repeat(each.front());
    if (auto found = made.find(each.front()); found != made.end())
      return found->second;
    Value result = areAlike(each) ? buildOp(each) : Value();
    return made[each.front()] = result;
  }

  Value sum(Value rows, Value like) { return chosenRows.sum(rows, like); }

private:
  /// Whether all dims but the last count the tokens.
  bool isTokenwise(Value value) const {
    RankedTensorType type = typeOf(value);
    return type.getRank() > 1 && type.getShape().back() > 0 &&
           type.getNumElements() ==
               chosenRows.countTokens() * type.getShape().back();
  }

  RankedTensorType rowsOf(Value value) const {
    return chosenRows.typeLike(value, lastDim(value));
  }

  Value repeat(Value value) {
    if (!isTokenwise(value))
      return Value();
    Value &found = made[value];
    if (!found)
      found = chosenRows.repeat(value);
    return found;
  }

  static bool areAlike(ArrayRef<Value> each) {
    Operation *first = each.front().getDefiningOp();
    return first && first->getNumResults() == 1 &&
           llvm::all_of(each, [&](Value value) {
             Operation *op = value.getDefiningOp();
             return op && op->getName() == first->getName() &&
                    op->getAttrDictionary() == first->getAttrDictionary() &&
                    value.getType() == each.front().getType() &&
                    llvm::equal(op->getOperandTypes(),
                                first->getOperandTypes());
           });
  }

  static SmallVector<Value> operands(ArrayRef<Value> each, unsigned index) {
    return llvm::map_to_vector(each, [&](Value value) {
      return value.getDefiningOp()->getOperand(index);
    });
  }

  /// [experts, ...], of each its own.
  Value stack(ArrayRef<Value> each) {
    RankedTensorType type = typeOf(each.front());
    SmallVector<int64_t> shape(type.getShape());
    shape.insert(shape.begin(), 1);
    auto parts = llvm::map_to_vector(
        each, [&](Value value) { return reshape(builder, loc, value, shape); });
    shape.front() = experts;
    return ConcatOp::create(builder, loc, withShape(type, shape), parts, 0);
  }

  Value buildOp(ArrayRef<Value> each) {
    Operation *op = each.front().getDefiningOp();
    if (!isTokenwise(each.front()))
      return Value();
    if (auto product = dyn_cast<MatmulOp>(op))
      return buildProduct(product, each);
    if (auto spread = dyn_cast<BroadcastOp>(op))
      return buildBias(spread, each);
    if (auto view = dyn_cast<ReshapeOp>(op))
      return isTokenwise(view.getInput()) &&
                     lastDim(view.getInput()) == lastDim(each.front())
                 ? build(operands(each, 0))
                 : Value();
    if (auto slice = dyn_cast<SliceOp>(op))
      return buildSlice(slice, each);
    if (!isa<ElementwiseOpInterface>(op))
      return Value();
    SmallVector<Value> rows;
    for (unsigned index = 0; index < op->getNumOperands(); ++index) {
      rows.push_back(build(operands(each, index)));
      if (!rows.back())
        return Value();
    }
    OperationState state(loc, op->getName());
    state.addOperands(rows);
    state.addTypes(rowsOf(each.front()));
    state.addAttributes(op->getAttrs());
    return builder.create(state)->getResult(0);
  }

  Value buildProduct(MatmulOp op, ArrayRef<Value> each) {
    if (typeOf(op.getRhs()).getRank() != 2 || !isTokenwise(op.getLhs()) ||
        op.getTransposeLhs())
      return Value();
    Value rows = build(operands(each, 0));
    if (!rows)
      return Value();
    return chosenRows.multiply(rows, stack(operands(each, 1)),
                               op.getTransposeRhs());
  }

  /// A vector for all tokens: each row looks up its expert's.
  Value buildBias(BroadcastOp op, ArrayRef<Value> each) {
    RankedTensorType type = typeOf(op.getInput());
    if (type.getRank() != 1 ||
        op.getDims().front() != typeOf(op.getResult()).getRank() - 1 ||
        type.getDimSize(0) != lastDim(op.getResult()))
      return Value();
    return chosenRows.lookUp(stack(operands(each, 0)));
  }

  Value buildSlice(SliceOp op, ArrayRef<Value> each) {
    ArrayRef<int64_t> from = typeOf(op.getInput()).getShape();
    ArrayRef<int64_t> to = typeOf(op.getResult()).getShape();
    if (from.drop_back() != to.drop_back() || !isTokenwise(op.getInput()))
      return Value();
    Value rows = build(operands(each, 0));
    if (!rows)
      return Value();
    return SliceOp::create(
        builder, loc, rowsOf(op.getResult()), rows,
        builder.getDenseI64ArrayAttr({0, op.getOffsets().back()}),
        builder.getDenseI64ArrayAttr({1, op.getStrides().back()}));
  }

  OpBuilder &builder;
  Location loc;
  int64_t experts;
  ChosenRows chosenRows;
  DenseMap<Value, Value> made;
};

/// The summands of a tree of additions that nothing else uses.
void flatten(Value value, bool isRoot, SmallVectorImpl<Value> &leaves) {
  auto add = value.getDefiningOp<AddOp>();
  if (!add || (!isRoot && !value.hasOneUse())) {
    leaves.push_back(value);
    return;
  }
  flatten(add.getLhs(), false, leaves);
  flatten(add.getRhs(), false, leaves);
}

bool isInnerSum(AddOp add) {
  return add->hasOneUse() && isa<AddOp>(*add->getUsers().begin());
}

/// Terms by the choices and weights of their gates.
using Layers = llvm::MapVector<std::pair<Value, Value>, SmallVector<Term>>;

/// In the order of experts, of which each has one; else none.
SmallVector<Value> orderExperts(ArrayRef<Term> terms) {
  SmallVector<Value> each(terms.size());
  for (const Term &term : terms) {
    int64_t expert = term.gate.expert;
    if (expert < 0 || expert >= int64_t(terms.size()) || each[expert])
      return {};
    each[expert] = term.value;
  }
  return each;
}

bool replaceSum(AddOp root) {
  SmallVector<Value> leaves, rest;
  flatten(root, /*isRoot=*/true, leaves);
  Layers layers;
  for (Value leaf : leaves) {
    if (auto term = matchTerm(leaf))
      layers[{term->gate.chosen, term->gate.weights}].push_back(*term);
    else
      rest.push_back(leaf);
  }
  if (layers.size() != 1)
    return false;
  ArrayRef<Term> terms = layers.front().second;
  const Gate &gate = terms.front().gate;
  SmallVector<Value> each = orderExperts(terms);
  // As many choices as experts cost as much as all of them.
  if (each.size() < 2 || lastDim(gate.weights) >= int64_t(each.size()))
    return false;
  OpBuilder builder(root);
  RowBuilder rowBuilder(builder, root.getLoc(), gate, each.size());
  Value rows = rowBuilder.build(each);
  if (!rows)
    return false;
  Value sum = rowBuilder.sum(rows, root.getResult());
  for (Value other : rest)
    sum = AddOp::create(builder, root.getLoc(), other, sum);
  root.replaceAllUsesWith(sum);
  root.erase();
  return true;
}

} // namespace

int64_t zc::replaceMaskedExperts(ModuleOp module) {
  SmallVector<AddOp> roots;
  module.walk([&](AddOp add) {
    if (!isInnerSum(add))
      roots.push_back(add);
  });
  return llvm::count_if(roots, replaceSum);
}
