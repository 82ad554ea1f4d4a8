//===- ApproximateMath.cpp - polynomials for transcendental functions -----===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
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

struct ApproximateMath : public impl::ApproximateMathPassBase<ApproximateMath> {
  using ApproximateMathPassBase::ApproximateMathPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return llvm::is_contained({"math.exp", "math.tanh", "math.erf",
                                 "math.log", "math.sin", "math.cos",
                                 "math.atan"},
                                name);
    });
    // On most processors LLVM rounds to bfloat16 by calls; as shifts and sums
    // it is vectors everywhere, and the same bits.
    if (expandBFloat16) {
      patterns.add<RoundToBFloat16>(&getContext(), /*benefit=*/2);
      arith::populateExpandBFloat16Patterns(patterns);
    }
    // Where the rounds end early, what is left is correct all the same.
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace zc
