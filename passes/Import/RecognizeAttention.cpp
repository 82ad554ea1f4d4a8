//===- RecognizeAttention.cpp - softmax(q k^T) v as one op ----------------===//
//
// Exporters write attention as its parts: two products, scalings of q, k or the
// scores, a mask that is a constant. Whole, it needs no score matrix, and
// blocks that a causal mask hides are never computed.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Import/Passes.h"

#include <optional>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_RECOGNIZEATTENTIONPASS
#include "passes/Import/Passes.h.inc"

namespace {

/// Masked scores are so small that their exponential is 0 next to any other.
constexpr double kHidden = -1e30;

/// What a constant mask does to the scores.
enum class Mask { Causal, Other };

Mask classify(DenseElementsAttr mask) {
  ArrayRef<int64_t> shape = cast<ShapedType>(mask.getType()).getShape();
  int64_t rows = shape[0], columns = shape[1], index = 0;
  if (rows != columns)
    return Mask::Other;
  for (const APFloat &element : mask.getValues<APFloat>()) {
    bool seen = index % columns <= index / columns;
    double value = element.convertToDouble();
    if (seen ? value != 0 : !(value <= kHidden))
      return Mask::Other;
    ++index;
  }
  return Mask::Causal;
}

/// The parts of one attention: query, key, value [batch, heads, tokens, width]
/// or without heads.
struct Parts {
  Value query, key, value;
  double scale = 1;
  bool causal = false;
};

std::optional<double> splatNumber(Value value) {
  DenseElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat() ||
      !isa<FloatType>(constant.getElementType()))
    return std::nullopt;
  return constant.getSplatValue<APFloat>().convertToDouble();
}

/// `value` without multiplications by constants, which go to `scale`.
Value takeScale(Value value, double &scale) {
  while (true) {
    if (auto product = value.getDefiningOp<MulOp>()) {
      auto right = splatNumber(product.getRhs());
      auto left = splatNumber(product.getLhs());
      if (!right && !left)
        return value;
      scale *= right ? *right : *left;
      value = right ? product.getLhs() : product.getRhs();
    } else if (auto quotient = value.getDefiningOp<DivOp>()) {
      auto divisor = splatNumber(quotient.getRhs());
      if (!divisor || *divisor == 0)
        return value;
      scale /= *divisor;
      value = quotient.getLhs();
    } else {
      return value;
    }
  }
}

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// An operand of a batched product with its last two dims swapped if `swap`.
Value swapLast(OpBuilder &builder, Location loc, Value value, bool swap) {
  if (!swap)
    return value;
  int64_t rank = typeOf(value).getRank();
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(permutation[rank - 2], permutation[rank - 1]);
  return transpose(builder, loc, value, permutation);
}

struct RecognizeAttention
    : public impl::RecognizeAttentionPassBase<RecognizeAttention> {
  void runOnOperation() override {
    SmallVector<MatmulOp> products;
    getOperation().walk([&](MatmulOp op) { products.push_back(op); });
    for (MatmulOp op : products) {
      OpBuilder builder(op);
      if (std::optional<Parts> parts = match(op, builder)) {
        replace(op, *parts, builder);
        ++numRecognized;
      }
    }
  }

private:
  /// The parts of the attention whose last product is `op`.
  std::optional<Parts> match(MatmulOp op, OpBuilder &builder) {
    auto softmax = op.getLhs().getDefiningOp<SoftmaxOp>();
    RankedTensorType type = typeOf(op.getResult());
    int64_t rank = type.getRank();
    if (!softmax || op.getTransposeLhs() || !softmax->hasOneUse() ||
        (rank != 3 && rank != 4) ||
        static_cast<int64_t>(softmax.getDim()) != rank - 1)
      return std::nullopt;
    Parts parts;
    Value scores = softmax.getInput();
    if (auto sum = scores.getDefiningOp<AddOp>()) {
      bool right = isCausalMask(sum.getRhs());
      if (!right && !isCausalMask(sum.getLhs()))
        return std::nullopt;
      parts.causal = true;
      scores = right ? sum.getLhs() : sum.getRhs();
    }
    auto product = takeScale(scores, parts.scale).getDefiningOp<MatmulOp>();
    if (!product || product.getTransposeLhs() || !product->hasOneUse())
      return std::nullopt;
    parts.query = takeScale(product.getLhs(), parts.scale);
    Value key = takeScale(product.getRhs(), parts.scale);
    int64_t width = typeOf(parts.query).getDimSize(rank - 1);
    if (type.getDimSize(rank - 1) != width)
      return std::nullopt;
    Location loc = op.getLoc();
    parts.key = swapLast(builder, loc, key, !product.getTransposeRhs());
    parts.value = swapLast(builder, loc, op.getRhs(), op.getTransposeRhs());
    return parts;
  }

  /// Whether `value` is a constant [queries, keys] mask, the same in all heads.
  bool isCausalMask(Value value) {
    int64_t rank = typeOf(value).getRank();
    ArrayRef<int64_t> shape = typeOf(value).getShape().take_back(2);
    if (auto spread = value.getDefiningOp<BroadcastOp>()) {
      ArrayRef<int64_t> dims = spread.getDims();
      int64_t count = dims.size();
      if (count < 2 || dims[count - 2] != rank - 2 ||
          dims[count - 1] != rank - 1)
        return false;
      value = spread.getInput();
    }
    if (typeOf(value).getNumElements() != shape[0] * shape[1] ||
        typeOf(value).getShape().take_back(2) != shape)
      return false;
    while (auto view = value.getDefiningOp<ReshapeOp>())
      value = view.getInput();
    DenseElementsAttr data = constantData(value);
    if (!data || !isa<FloatType>(data.getElementType()))
      return false;
    auto [known, isNew] = masks.try_emplace(data, Mask::Other);
    if (isNew) {
      auto matrix = RankedTensorType::get(shape, data.getElementType());
      known->second = classify(data.reshape(matrix));
    }
    return known->second == Mask::Causal;
  }

  /// The elements of a constant, or of the constant state an argument is.
  DenseElementsAttr constantData(Value value) {
    DenseElementsAttr data;
    if (matchPattern(value, m_Constant(&data)))
      return data;
    auto argument = dyn_cast<BlockArgument>(value);
    auto program =
        argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
                 : func::FuncOp();
    auto name = program ? program.getArgAttrOfType<FlatSymbolRefAttr>(
                              argument.getArgNumber(), kStateAttr)
                        : FlatSymbolRefAttr();
    auto state = name ? getOperation().lookupSymbol<StateOp>(name) : StateOp();
    if (!state || state.getKind() != kConstant || !state.getValue())
      return nullptr;
    return dyn_cast<DenseElementsAttr>(*state.getValue());
  }

  /// [batch, heads, tokens, width] to [batch, tokens, heads, width] or back;
  /// without heads there is one.
  static Value moveHeads(OpBuilder &builder, Location loc, Value value) {
    RankedTensorType type = typeOf(value);
    if (type.getRank() == 4)
      return transpose(builder, loc, value, {0, 2, 1, 3});
    ArrayRef<int64_t> shape = type.getShape();
    return reshape(builder, loc, value, {shape[0], shape[1], 1, shape[2]});
  }

  static void replace(MatmulOp op, const Parts &parts, OpBuilder &builder) {
    Location loc = op.getLoc();
    Value query = moveHeads(builder, loc, parts.query);
    Value key = moveHeads(builder, loc, parts.key);
    Value value = moveHeads(builder, loc, parts.value);
    ArrayRef<int64_t> shape = typeOf(query).getShape();
    auto sums = withShape(query.getType(), {shape[0], shape[2], shape[1]});
    auto attention =
        AttentionOp::create(builder, loc, query.getType(), sums, query, key,
                            value, builder.getF64FloatAttr(parts.scale),
                            parts.causal ? builder.getUnitAttr() : UnitAttr());
    Value result = attention.getResult();
    if (typeOf(op.getResult()).getRank() == 4)
      result = moveHeads(builder, loc, result);
    else
      result = reshape(builder, loc, result, typeOf(op.getResult()).getShape());
    op.getResult().replaceAllUsesWith(result);
    op.erase();
  }

  DenseMap<Attribute, Mask> masks;
};

} // namespace
} // namespace zc
