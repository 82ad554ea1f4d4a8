//===- Passes.h - what ranks send one another -------------------*- C++ -*-===//
#ifndef ZC_PASSES_COLLECTIVES_PASSES_H
#define ZC_PASSES_COLLECTIVES_PASSES_H

#include "dialects/Dist/DistDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace zc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Collectives/Passes.h.inc"

struct RanksOptions {
  std::string mesh;               // "dp=4,tp=2", slowest first
  std::string gradients;          // what they are reduced in: fp32, bf16
  bool sumsWhole = false;         // gradients' sums, of which parts are kept
  bool hasServer = false;         // the first rank along dp updates parameters
  int64_t bucketBytes = 1 << 20;  // of gradients that are reduced together
  int64_t fewestBuckets = 16;     // unless single gradients are larger
  int64_t mostBytes = 0;          // of a buffer that gradients wait in; 0: any
  int64_t tokenParts = 1;         // ranks that divide the tokens
  int64_t headParts = 1;          // ranks that divide attentions' heads already
  std::string attention = "auto"; // how it divides tokens; FindTokens
  bool divideMessages = false;    // over tp
  bool dividesResiduals = false;  // their tokens, over tp
  bool asksForResiduals = false;  // an error where these do not divide
  bool keepsResiduals = false;    // whole, where products have read them
};

/// On a dist.all_reduce: it stays one, though each rank needs only its part.
inline constexpr llvm::StringLiteral kStaysWholeAttr = "dist.stays_whole";

/// From programs of one rank to programs of a rank of the mesh.
void buildRanksPipeline(mlir::OpPassManager &manager,
                        const RanksOptions &options);

} // namespace zc

#endif // ZC_PASSES_COLLECTIVES_PASSES_H
