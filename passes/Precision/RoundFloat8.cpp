//===- RoundFloat8.cpp - --zc-round-float8 --------------------------------===//
//
// Scales are of whole tensors, before these are divided: a rank's part has the
// scale that one rank alone would find.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Precision/Float8Passes.h"
#include "passes/Precision/States.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_ROUNDFLOAT8PASS
#include "passes/Precision/Float8Passes.h.inc"

namespace {

/// A tensor of 8-bit floats, times `inverse`, is about the one that it is of.
struct Rounded {
  Value value, inverse;
};

/// Emits how one tensor is rounded.
class Rounder {
public:
  Rounder(OpBuilder &builder, Value value, FloatType type)
      : builder(builder), loc(value.getLoc()), value(value), type(type),
        largest(
            APFloat::getLargest(type.getFloatSemantics()).convertToDouble()) {}

  Rounded round() {
    // Far below what matters; the scale and its reciprocal are finite.
    constexpr double kLeast = 1e-12;
    Value size = measure();
    size = MaxOp::create(builder, loc, size, number(kLeast));
    Value scale = DivOp::create(builder, loc, number(largest), size);
    Value inverse = DivOp::create(builder, loc, number(1), scale);
    return {convert(builder, loc, scaled(scale), type), inverse};
  }

private:
  Value number(double value) {
    return splat(builder, loc, RankedTensorType::get({}, builder.getF32Type()),
                 value);
  }

  /// The largest magnitude: of rows first, which threads share.
  Value measure() {
    auto from = cast<RankedTensorType>(value.getType());
    auto wide = withComputeType(from);
    int64_t last = from.getRank() - 1;
    Value rows = AmaxOp::create(builder, loc,
                                withShape(wide, from.getShape().drop_back()),
                                value, ArrayRef<int64_t>{last});
    if (last == 0)
      return rows;
    return AmaxOp::create(builder, loc, withShape(wide, {}), rows,
                          llvm::to_vector(llvm::seq<int64_t>(0, last)));
  }

  /// Within what the type holds: a product may be rounded up.
  Value scaled(Value scale) {
    Value wide = widen(builder, loc, value);
    auto shape = cast<RankedTensorType>(wide.getType()).getShape();
    Value product = MulOp::create(builder, loc, wide,
                                  broadcast(builder, loc, scale, shape, {}));
    Value above = splat(builder, loc, wide.getType(), largest);
    Value below = splat(builder, loc, wide.getType(), -largest);
    product = MinOp::create(builder, loc, product, above);
    return MaxOp::create(builder, loc, product, below);
  }

  OpBuilder &builder;
  Location loc;
  Value value;
  FloatType type;
  double largest;
};

/// On ops that round a weight for the backward: no pass may take the forward's
/// in their place, which would be kept.
constexpr llvm::StringLiteral kAgainAttr = "train.float8_again";

struct RoundFloat8 : public impl::RoundFloat8PassBase<RoundFloat8> {
  void runOnOperation() override {
    SmallVector<MatmulOp> products;
    getOperation().walk([&](MatmulOp op) {
      if (op->hasAttr(kFloat8Attr))
        products.push_back(op);
    });
    for (MatmulOp op : products)
      replace(op);
  }

private:
  void replace(MatmulOp op) {
    auto types = op->getAttrOfType<ArrayAttr>(kFloat8Attr);
    auto typeOf = [&](unsigned index) {
      return cast<FloatType>(cast<TypeAttr>(types[index]).getValue());
    };
    const bool isBackward =
        isa<Float8E5M2Type>(typeOf(0)) || isa<Float8E5M2Type>(typeOf(1));
    Rounded lhs = round(op, op.getLhs(), typeOf(0), isBackward);
    Rounded rhs = round(op, op.getRhs(), typeOf(1), isBackward);
    OpBuilder builder(op);
    auto made = ScaledMatmulOp::create(
        builder, op.getLoc(), op.getType(), lhs.value, rhs.value, lhs.inverse,
        rhs.inverse, op.getTransposeLhs(), op.getTransposeRhs());
    for (NamedAttribute attribute : op->getDiscardableAttrs())
      if (attribute.getName() != kFloat8Attr)
        made->setAttr(attribute.getName(), attribute.getValue());
    op.getResult().replaceAllUsesWith(made.getResult());
    op.erase();
  }

  Rounded round(MatmulOp op, Value value, FloatType type, bool isBackward) {
    const bool again = isBackward && findReadWeight(value);
    Rounded &known = rounded[again][{value, type}];
    if (known.value)
      return known;
    OpBuilder builder(op);
    if (!findReadWeight(value))
      builder.setInsertionPointAfterValue(value);
    Operation *before =
        builder.getInsertionPoint() == builder.getBlock()->begin()
            ? nullptr
            : &*std::prev(builder.getInsertionPoint());
    known = Rounder(builder, value, type).round();
    ++numRounded;
    if (again)
      for (Operation *made = before ? before->getNextNode()
                                    : &builder.getBlock()->front();
           made != &*builder.getInsertionPoint(); made = made->getNextNode())
        made->setAttr(kAgainAttr, builder.getUnitAttr());
    return known;
  }

  /// By the type, and whether for the backward again.
  DenseMap<std::pair<Value, Type>, Rounded> rounded[2];
};

} // namespace
} // namespace zc
