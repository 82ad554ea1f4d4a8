//===- ProgramParts.h - the program that an op ends up in -*- C++ -*-===//
//
// A role's micro-batch is one function until its kernels are made; then it is
// cut into the programs that an order calls: a forward and a backward for each
// stage that the role has, and where a schedule wants it the parameters'
// gradients apart from those that go on ("B" and "W" of Qi et al., Zero Bubble
// Pipeline Parallelism, ICLR 2024).
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_ANALYSIS_PROGRAMPARTS_H
#define ZC_PASSES_ANALYSIS_PROGRAMPARTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace zc {

/// On a role: how many of the model's stages it has (i64; 1 without it), and
/// that the parameters' gradients are programs of their own (unit).
inline constexpr llvm::StringLiteral kChunksAttr = "train.chunks";
/// On the module: how many roles each stage has, where they were dealt.
inline constexpr llvm::StringLiteral kStageReplicasAttr =
    "train.stage_replicas";
inline constexpr llvm::StringLiteral kSplitsWeightsAttr = "train.split_weights";

/// On a module with @micro: for how many micro-batches units stay gathered
/// (i64; 1 without it: each pass of each gathers anew).
inline constexpr llvm::StringLiteral kReshardEveryAttr = "train.reshard_every";

/// kReshardEveryAttr if gathers are programs of their own; else 0.
uint32_t getReshardEvery(mlir::Operation *role);

int64_t countChunks(mlir::Operation *role);

enum class PartKind { Forward, Backward, Weights };

struct ProgramPart {
  PartKind kind;
  int64_t chunk;
};

/// Says for each op of a role's micro-batch, or of its evaluation, which part
/// it belongs to: the first one that needs it, of those in which all that it
/// reads is there.
class ProgramParts {
public:
  /// Keeps the program by reference. Without `hasBackward` there are forwards
  /// alone.
  ProgramParts(mlir::func::FuncOp program, bool hasBackward);

  /// A result that would have to be sent before what it is made of has come;
  /// none in sound programs.
  std::optional<unsigned> findTooEarly() const { return tooEarly; }

  /// In an order in which each part follows those that it reads from.
  llvm::ArrayRef<ProgramPart> getParts() const { return parts; }

  unsigned partOf(mlir::Operation *op) const { return ofOps.lookup(op); }
  /// The part that binds the result, perhaps behind the one that computes it.
  unsigned partOfResult(unsigned result) const { return ofResults[result]; }

private:
  unsigned find(PartKind kind, int64_t chunk) const;
  unsigned firstPartOf(mlir::Value value);
  bool isOfLoss(unsigned result);
  unsigned place(unsigned result);

  mlir::func::FuncOp program;
  const bool hasBackward;
  int64_t chunks;
  bool splitsWeights;
  llvm::SmallVector<ProgramPart> parts;
  llvm::DenseMap<mlir::Operation *, unsigned> earliest, ofOps;
  llvm::SmallVector<unsigned> ofResults;
  unsigned ofLoss = 0;
  std::optional<unsigned> tooEarly;
};

} // namespace zc

#endif // ZC_PASSES_ANALYSIS_PROGRAMPARTS_H
