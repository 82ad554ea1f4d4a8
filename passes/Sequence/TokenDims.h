//===- TokenDims.h - which dims count tokens --------------------*- C++ -*-===//
#ifndef ZC_PASSES_SEQUENCE_TOKENDIMS_H
#define ZC_PASSES_SEQUENCE_TOKENDIMS_H

#include "dialects/Train/TrainDialect.h"
#include "passes/Sequence/UnfusedAttention.h"
#include "passes/Sharding/DimClasses.h"
#include "llvm/ADT/IntEqClasses.h"

#include <optional>

namespace zc {

/// Dims of queries, keys and results [batch, tokens, heads, width].
constexpr int64_t kTokens = 1, kHeads = 2;
/// The dim of a mask [batch, heads, queries, keys] that counts keys.
constexpr int64_t kMaskKeys = 3;

/// train.attention or its gradient.
bool isAttention(mlir::Operation *op);

/// An attention's mask; null: none.
mlir::Value getMask(mlir::Operation *attention);

/// The size of dim kTokens.
int64_t countTokens(mlir::Value value);

/// Whether an attention has a mask of queries and keys, not of keys alone.
bool hasMaskOfQueries(mlir::Operation *attention);

/// Whether queries and keys are of the same tokens, by their number.
bool hasKeysOfQueries(mlir::Operation *attention);

/// Whether `auto` lets keys go round: queries and keys are as many, and there
/// is no mask of both. Under such a mask a ring computes all blocks, and each
/// rank holds rows of all keys: there keys go round only where the user asks
/// for it.
bool canGoRound(mlir::Operation *attention);

/// Whether an attention that does not divide its heads gathers all keys, in the
/// way that `attention` (--sp-attention) says.
bool gathersKeys(mlir::Operation *op, llvm::StringRef attention);

/// Whether --zc-order-tokens has put a module's tokens in order.
bool isOrdered(mlir::ModuleOp module);

/// The places of the tokens in whose order each of `parts` ranks has chunks r
/// and 2 parts - 1 - r of 2 parts: i64. With `inverse` those that lead back.
mlir::DenseElementsAttr makeZigzagOrder(mlir::MLIRContext *context,
                                        int64_t tokens, int64_t parts,
                                        bool inverse = false);
bool isZigzagOrder(train::ConstantOp constant, int64_t parts);

/// The dims of tokens in one program: those that the ops' sharding rules tie to
/// queries, or to dims marked by hand.
class TokenDims {
public:
  explicit TokenDims(mlir::func::FuncOp program);

  void markAttention();
  /// Whether there is any, of one op or of several.
  bool hasAttention();
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

  /// Whether rules tie two dims together.
  bool areTied(DimOf a, DimOf b);
  /// Whether the dim counts an attention's queries.
  bool isOfAttention(DimOf dim);

  /// Whether ranks have parts of the dim: it is that of an argument whose
  /// tokens are divided.
  bool isDivided(DimOf dim);

  /// Whether an input that is to be divided counts the same tokens.
  bool isOfInput(DimOf dim);

  /// The dim of an input that is marked, and does not count samples.
  std::optional<int64_t> findInputDim(mlir::BlockArgument input);

  /// Attentions of several ops.
  const UnfusedAttentions &getUnfused() const { return unfused; }

private:
  void forEachQuery(llvm::function_ref<void(DimOf)> body);
  /// The set of classes that join() has tied a class to.
  int findSet(int number) const {
    return static_cast<int>(sets.findLeader(number));
  }
  void join(DimOf a, DimOf b);

  mlir::func::FuncOp program;
  UnfusedAttentions unfused;
  llvm::SmallVector<DimClass> classes;
  llvm::DenseMap<DimOf, int> numbers;
  llvm::IntEqClasses sets; // of classes
  llvm::DenseSet<int> marked;
};

} // namespace zc

#endif // ZC_PASSES_SEQUENCE_TOKENDIMS_H
