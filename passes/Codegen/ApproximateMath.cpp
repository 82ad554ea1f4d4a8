//===- ApproximateMath.cpp - polynomials for transcendental functions -----===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Codegen/Passes.h"

using namespace mlir;

namespace zc {
#define GEN_PASS_DEF_APPROXIMATEMATHPASS
#include "passes/Codegen/Passes.h.inc"

namespace {

struct ApproximateMath : public impl::ApproximateMathPassBase<ApproximateMath> {
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
    arith::populateExpandBFloat16Patterns(patterns);
    // Where the rounds end early, what is left is correct all the same.
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace zc
