//===- Float8Conversion.cpp - floats of 8 bits as integers ----------------===//
#include "passes/Codegen/Float8Conversion.h"

#include "dialects/Train/Float8Ops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <cmath>

using namespace mlir;

namespace zc {
namespace {

/// The meaning of a type's bits.
struct Format {
  explicit Format(Type type)
      : isE5M2(isa<Float8E5M2Type>(type)), mantissa(isE5M2 ? 2 : 3),
        bias(isE5M2 ? 15 : 7) {}

  /// The exponent of the smallest normal number.
  int least() const { return 1 - bias; }
  /// By how many bits float32's mantissa is longer.
  int shift() const { return 23 - mantissa; }
  /// The first bits that are no number.
  int notANumber() const { return isE5M2 ? 0x7c : 0x7f; }

  bool isE5M2;
  int mantissa, bias;
};

/// Integers of 32 bits, and float32.
struct Bits {
  ImplicitLocOpBuilder &b;

  Value integer(int64_t value) {
    return arith::ConstantIntOp::create(b, value, 32);
  }
  Value number(double value) {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
  }
  Value ofFloat(Value x) {
    return arith::BitcastOp::create(b, b.getI32Type(), x);
  }
  Value asFloat(Value bits) {
    return arith::BitcastOp::create(b, b.getF32Type(), bits);
  }
  Value masked(Value x, int64_t mask) {
    return arith::AndIOp::create(b, x, integer(mask));
  }
  Value added(Value x, int64_t y) {
    return arith::AddIOp::create(b, x, integer(y));
  }
  Value isBelow(Value x, int64_t y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, integer(y));
  }
};

struct RoundToFloat8 : public OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!train::isFloat8(op.getType()) || !op.getIn().getType().isF32())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Bits bits{b};
    const Format to(op.getType());
    Value all = bits.ofFloat(op.getIn()), size = bits.masked(all, 0x7fffffff);
    Value sign =
        bits.masked(arith::ShRUIOp::create(b, all, bits.integer(24)), 0x80);
    // Half of the last bit, less one where that is even, carries into it.
    Value odd = bits.masked(
        arith::ShRUIOp::create(b, size, bits.integer(to.shift())), 1);
    Value carried = arith::AddIOp::create(
        b, bits.added(size, (int64_t(1) << (to.shift() - 1)) - 1), odd);
    Value normal =
        bits.added(arith::ShRUIOp::create(b, carried, bits.integer(to.shift())),
                   -(int64_t(127 - to.bias) << to.mantissa));
    // A number whose last bit counts the smallest steps, added, rounds to them.
    const double unit = std::ldexp(1.0, to.least() - to.mantissa + 23);
    Value steps = bits.ofFloat(
        arith::AddFOp::create(b, bits.asFloat(size), bits.number(unit)));
    Value small =
        arith::SubIOp::create(b, steps, bits.ofFloat(bits.number(unit)));
    Value isSmall = bits.isBelow(size, int64_t(to.least() + 127) << 23);
    Value code = arith::SelectOp::create(b, isSmall, small, normal);
    Value isNan = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, size,
                                        bits.integer(0x7f800000));
    code = arith::SelectOp::create(b, isNan, bits.integer(0x7f), code);
    code = arith::OrIOp::create(b, code, sign);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(
        op, op.getType(), arith::TruncIOp::create(b, b.getI8Type(), code));
    return success();
  }
};

struct WidenFloat8 : public OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!train::isFloat8(op.getIn().getType()) || !op.getType().isF32())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Bits bits{b};
    const Format from(op.getIn().getType());
    Value all = arith::ExtUIOp::create(
        b, b.getI32Type(),
        arith::BitcastOp::create(b, b.getI8Type(), op.getIn()));
    Value size = bits.masked(all, 0x7f);
    Value sign =
        arith::ShLIOp::create(b, bits.masked(all, 0x80), bits.integer(24));
    Value moved = arith::ShLIOp::create(b, size, bits.integer(from.shift()));
    Value normal = bits.added(moved, int64_t(127 - from.bias) << 23);
    // Numbers below the smallest normal one count the smallest steps.
    Value small = bits.ofFloat(arith::MulFOp::create(
        b, arith::SIToFPOp::create(b, b.getF32Type(), size),
        bits.number(std::ldexp(1.0, from.least() - from.mantissa))));
    Value result = arith::SelectOp::create(
        b, bits.isBelow(size, int64_t(1) << from.mantissa), small, normal);
    // 0x7c of E5M2 is infinity.
    Value special =
        from.isE5M2 ? arith::OrIOp::create(b, bits.integer(0x7f800000), moved)
                          .getResult()
                    : bits.integer(0x7fc00000);
    result = arith::SelectOp::create(b, bits.isBelow(size, from.notANumber()),
                                     result, special);
    rewriter.replaceOp(op, bits.asFloat(arith::OrIOp::create(b, result, sign)));
    return success();
  }
};

/// 2^floor(log2 x) of a positive normal number: its exponent alone.
struct TakeExponent : public OpRewritePattern<math::Exp2Op> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Exp2Op op,
                                PatternRewriter &rewriter) const override {
    auto floor = op.getOperand().getDefiningOp<math::FloorOp>();
    auto log = floor ? floor.getOperand().getDefiningOp<math::Log2Op>()
                     : math::Log2Op();
    auto type = dyn_cast<FloatType>(op.getType());
    if (!log || !type || !(type.isF32() || type.isF64()))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    const unsigned width = type.getWidth();
    auto bits = b.getIntegerType(width);
    Value all = arith::BitcastOp::create(b, bits, log.getOperand());
    Value mask = arith::ConstantIntOp::create(
        b, width == 32 ? 0x7f800000 : 0x7ff0000000000000, width);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(
        op, type, arith::AndIOp::create(b, all, mask));
    return success();
  }
};

} // namespace

void addFloat8Conversions(RewritePatternSet &patterns) {
  patterns.add<RoundToFloat8, WidenFloat8, TakeExponent>(patterns.getContext());
}

} // namespace zc
