//===- UnfusedAttention.h - attention that is several ops -------*- C++ -*-===//
#ifndef ZC_PASSES_SEQUENCE_UNFUSEDATTENTION_H
#define ZC_PASSES_SEQUENCE_UNFUSEDATTENTION_H

#include "dialects/Train/TrainDialect.h"
#include "passes/Sharding/DimClasses.h"

namespace zc {

/// One product of an unfused attention: of queries and keys, of weights and
/// values, or a gradient of these. The numbers are of factors of its sharding
/// rule.
struct ScoreProduct {
  train::MatmulOp op;
  int queries, keys, heads;
  bool makesScores; // its result is [.., queries, keys]
};

/// An attention whose scores or weights something changes that is no mask:
/// dropout, a bias that is learned. It is products around a softmax, in the
/// backward, too.
struct UnfusedAttention {
  train::SoftmaxOp softmax;
  /// The op that an attention of one op does not have.
  mlir::Operation *reason;
  llvm::SmallVector<ScoreProduct> products;

  /// The dim of scores that counts queries.
  DimOf getQueries() const;
  /// Where scores are [samples x heads, queries, keys], the heads of each of
  /// `samples` samples.
  int64_t countHeads(int64_t samples) const;
};

/// The attentions of a program.
class UnfusedAttentions {
public:
  explicit UnfusedAttentions(mlir::func::FuncOp program);

  llvm::ArrayRef<UnfusedAttention> get() const { return found; }
  /// Whether a value has an element for each query and key.
  bool isScores(mlir::Value value) const { return scores.contains(value); }
  /// Keys that every query needs, whoever has them.
  WholeFactors getWhole() const;

private:
  llvm::SmallVector<UnfusedAttention> found;
  llvm::DenseSet<mlir::Value> scores;
};

} // namespace zc

#endif // ZC_PASSES_SEQUENCE_UNFUSEDATTENTION_H
