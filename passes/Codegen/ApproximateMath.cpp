//===- ApproximateMath.cpp - polynomials for transcendental functions -----===//
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Codegen/Float8Conversion.h"
#include "passes/Codegen/FloatMath.h"
#include "passes/Codegen/Passes.h"

using namespace mlir;

namespace zc {
#define GEN_PASS_DEF_APPROXIMATEMATHPASS
#include "passes/Codegen/Passes.h.inc"

namespace {

/// A float32 rounded to the nearest bfloat16, of two the even one; NaN stays
/// NaN. The last operation on integers is no selection: LLVM would select among
/// bfloat16, which on a processor with AVX2 alone makes calls.
struct RoundToBFloat16 : public OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isBF16() || !op.getIn().getType().isF32())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIntOp::create(b, value, 32);
    };
    Value bits = arith::BitcastOp::create(b, b.getI32Type(), op.getIn());
    Value isNan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO,
                                        op.getIn(), op.getIn());
    Value kept = arith::ShRUIOp::create(b, bits, constant(16));
    Value odd = arith::AndIOp::create(b, kept, constant(1));
    Value half = arith::AddIOp::create(b, odd, constant(0x7fff));
    Value rounded = arith::ShRUIOp::create(
        b, arith::AddIOp::create(b, bits, half), constant(16));
    Value quiet =
        arith::SelectOp::create(b, isNan, constant(0x7fc0), constant(0));
    Value all = arith::OrIOp::create(b, rounded, quiet);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(
        op, op.getType(), arith::TruncIOp::create(b, b.getI16Type(), all));
    return success();
  }
};

/// A function of float32 as arithmetic.
template <typename Op, floatmath::Function build>
struct ExpandFunction : public OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, build(b, op.getOperand()));
    return success();
  }
};

/// Numbers of float64, which what follows computes with.
struct Wide {
  ImplicitLocOpBuilder &b;

  Value number(double value) {
    return arith::ConstantOp::create(b, b.getF64FloatAttr(value));
  }
  Value is(arith::CmpFPredicate predicate, Value x, double value) {
    return arith::CmpFOp::create(b, predicate, x, number(value));
  }
  /// x times the quotient of two numbers that err alike.
  Value scaled(Value x, Value above, Value below) {
    return arith::DivFOp::create(b, arith::MulFOp::create(b, x, above), below);
  }
  /// `near` or `far` by `isSmall`; x itself if `counted`, 1 + x or so, rounds
  /// to 1.
  Value choose(Value x, Value counted, Value isSmall, Value near, Value far) {
    Value result = arith::SelectOp::create(b, isSmall, near, far);
    Value isOne = is(arith::CmpFPredicate::OEQ, counted, 1);
    return arith::SelectOp::create(b, isOne, x, result);
  }
};

/// e^x - 1 of float64, by W. Kahan: the rounding error of e^x next to 1 recurs
/// in its logarithm, and cancels.
struct ExpandWideExpM1 : public OpRewritePattern<math::ExpM1Op> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpM1Op op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF64())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Wide wide{b};
    Value x = op.getOperand(), power = math::ExpOp::create(b, x);
    Value above = arith::SubFOp::create(b, power, wide.number(1));
    Value near = wide.scaled(x, above, math::LogOp::create(b, power));
    Value isSmall =
        wide.is(arith::CmpFPredicate::OLT, math::AbsFOp::create(b, x), 0.5);
    rewriter.replaceOp(op, wide.choose(x, power, isSmall, near, above));
    return success();
  }
};

/// log(1 + x) of float64, likewise.
struct ExpandWideLog1p : public OpRewritePattern<math::Log1pOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Log1pOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF64())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Wide wide{b};
    Value x = op.getOperand();
    Value sum = arith::AddFOp::create(b, x, wide.number(1));
    Value log = math::LogOp::create(b, sum);
    Value added = arith::SubFOp::create(b, sum, wide.number(1));
    Value near = wide.scaled(x, log, added);
    Value isSmall = wide.is(arith::CmpFPredicate::OLT, x, 1);
    rewriter.replaceOp(op, wide.choose(x, sum, isSmall, near, log));
    return success();
  }
};

/// Computes it in float64 by erfc.
struct ExpandNormalTail : public OpRewritePattern<train::NormalTailOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(train::NormalTailOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = op.getInput(), scale = op.getScale();
    if (op.getType().isF32()) {
      rewriter.replaceOp(op, floatmath::buildNormalTail(b, x, scale));
      return success();
    }
    auto times = [&](Value value, double factor) -> Value {
      Value number =
          arith::ConstantOp::create(b, b.getFloatAttr(value.getType(), factor));
      return arith::MulFOp::create(b, value, number);
    };
    Value tail = math::ErfcOp::create(b, times(x, 0.70710678118654752440));
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, tail, times(scale, 0.5));
    return success();
  }
};

void addFunctions(RewritePatternSet &patterns) {
  using namespace floatmath;
  patterns.add<ExpandFunction<math::ExpOp, buildExp>,
               ExpandFunction<math::ExpM1Op, buildExpM1>,
               ExpandFunction<math::LogOp, buildLog>,
               ExpandFunction<math::Log1pOp, buildLog1P>,
               ExpandFunction<math::TanhOp, buildTanh>,
               ExpandFunction<math::SinhOp, buildSinh>,
               ExpandFunction<math::CoshOp, buildCosh>,
               ExpandFunction<math::AsinhOp, buildAsinh>,
               ExpandFunction<math::AcoshOp, buildAcosh>,
               ExpandFunction<math::AtanhOp, buildAtanh>,
               ExpandFunction<math::ErfOp, buildErf>,
               ExpandFunction<math::SinOp, buildSin>,
               ExpandFunction<math::CosOp, buildCos>,
               ExpandFunction<math::TanOp, buildTan>,
               ExpandFunction<math::AsinOp, buildAsin>,
               ExpandFunction<math::AcosOp, buildAcos>,
               ExpandFunction<math::AtanOp, buildAtan>, ExpandNormalTail,
               ExpandWideExpM1, ExpandWideLog1p>(patterns.getContext());
}

struct ApproximateMath : public impl::ApproximateMathPassBase<ApproximateMath> {
  using ApproximateMathPassBase::ApproximateMathPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    addFunctions(patterns);
    addFloat8Conversions(patterns);
    // On most processors LLVM rounds to bfloat16 by calls; as shifts and sums
    // it is vectors everywhere, and the same bits.
    if (expandBFloat16) {
      patterns.add<RoundToBFloat16>(&getContext(), /*benefit=*/2);
      arith::populateExpandBFloat16Patterns(patterns);
    }
    // If the rounds end early, the ops that remain are correct all the same.
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace zc
