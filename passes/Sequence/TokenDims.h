//===- TokenDims.h - which dims count tokens --------------------*- C++ -*-===//
#ifndef ZC_PASSES_SEQUENCE_TOKENDIMS_H
#define ZC_PASSES_SEQUENCE_TOKENDIMS_H

#include "dialects/Train/TrainDialect.h"
#include "passes/Sharding/DimClasses.h"

#include <optional>

namespace zc {

/// Dims of queries, keys and results [batch, tokens, heads, width].
constexpr int64_t kTokens = 1, kHeads = 2;

/// train.attention or its gradient.
bool isAttention(mlir::Operation *op);

/// An attention's mask; null: none.
mlir::Value getMask(mlir::Operation *attention);

/// Whether a rank's part of an attention's tokens can get the others' a part at
/// a time: queries and keys are as many, and no mask is of both.
bool canGoRound(mlir::Operation *attention);

/// Whether --zc-order-tokens has put a module's tokens in order.
bool isOrdered(mlir::ModuleOp module);

/// The places of the tokens in whose order each of `parts` ranks has chunks r
/// and 2 parts - 1 - r of 2 parts: i64. With `inverse` those that lead back.
mlir::DenseElementsAttr makeZigzagOrder(mlir::MLIRContext *context,
                                        int64_t tokens, int64_t parts,
                                        bool inverse = false);
bool isZigzagOrder(train::ConstantOp constant, int64_t parts);

/// Where the tokens of one program are: dims that the ops' sharding rules tie
/// to queries, or to what is marked by hand.
class TokenDims {
public:
  explicit TokenDims(mlir::func::FuncOp program);

  void markAttention();
  /// The tokens of values that stages of a pipeline send one another.
  void markMessages();
  void mark(DimOf dim);
  bool isMarked(DimOf dim);

  /// The dim along which `parts` ranks can each keep their tokens of a result
  /// that the host reads; none of other results.
  std::optional<int64_t> findReadDim(unsigned result, int64_t parts);

  /// Whether a dim counts groups of an attention's tokens: neighbours, that
  /// must stand side by side.
  bool mergesTokens();

  /// Operands of which an op wants a dim of tokens whole.
  llvm::SmallVector<mlir::OpOperand *> getGathers();

private:
  int findRoot(int number);
  void join(DimOf a, DimOf b);

  mlir::func::FuncOp program;
  llvm::SmallVector<DimClass> classes;
  llvm::DenseMap<DimOf, int> numbers;
  llvm::SmallVector<int> parents;
  llvm::DenseSet<int> marked;
};

} // namespace zc

#endif // ZC_PASSES_SEQUENCE_TOKENDIMS_H
