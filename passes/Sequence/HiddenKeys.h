//===- HiddenKeys.h - keys that count for queries that see none -*- C++ -*-===//
//
// If a mask hides all keys of a query by finite numbers, in which scores are
// lost, those count, and alike, that the largest of these numbers hides. A ring
// adds up blocks of keys, so ranks must know how many of a block's keys have
// that number, and how many of all. Under a causal mask that differs from query
// to query also where the mask is one of keys: there prefixes are counted, by
// doubling, and of the ranks' other chunks of tokens only what they have alike
// for all their queries, two numbers a chunk.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_SEQUENCE_HIDDENKEYS_H
#define ZC_PASSES_SEQUENCE_HIDDENKEYS_H

#include "passes/Sequence/PartAttention.h"

namespace zc::attention {

/// A mask's word on queries' keys, [batch, heads, queries or 1] as wide as
/// kernels compute: the largest number, and how many keys have it.
struct Largest {
  mlir::Value number = mlir::Value(), count = mlir::Value();
};

/// The same of all keys that queries see; nothing where no keys are counted.
struct Hidden : Largest {
  /// Under a causal mask, how many are among the rank's own keys.
  mlir::Value own = mlir::Value();
};

/// `made` by an attention, or by its gradient: the backward fetches values, and
/// cuts them, for itself. The forward's are not kept until then.
mlir::Value ofPass(mlir::Operation *attention, mlir::Value made);

/// Every rank's value, behind a dim of ranks.
mlir::Value gatherRanks(mlir::OpBuilder &builder, mlir::Operation *attention,
                        const TokenGroup &group, mlir::Value value);

/// The counts of one attention, or of its gradient.
class HiddenKeys {
public:
  HiddenKeys(mlir::OpBuilder &builder, mlir::Operation *op,
             const TokenGroup &group)
      : op(op), group(group), builder(builder), loc(op->getLoc()) {}

  /// Whether a ring must count keys: not where one number hides and no key is
  /// after a query, for then blocks of a sample without other keys are alike;
  /// nor where minus infinity hides.
  bool areCounted() const;

  /// The numbers of the rank's `mask` and those of the others. `ownChunks`: the
  /// places of the rank's chunks of tokens among all, [chunks] of i64.
  Hidden find(mlir::Value mask, mlir::Value ownChunks);

  /// How many of a block's keys have the `hidden` number, [batch, heads,
  /// queries or 1]; all queries see all of the block.
  mlir::Value countIn(mlir::Value mask, const Largest &hidden);

private:
  Hidden findCausal(mlir::Value mask, mlir::Value ownChunks);
  Largest findLargest(mlir::Value mask);
  Largest join(const Largest &a, const Largest &b);
  Largest scan(mlir::Value numbers);
  Largest gatherChunks(const Largest &chunks, mlir::Value ownChunks);
  mlir::Value beganBefore(mlir::Value ownChunks, llvm::ArrayRef<int64_t> shape);
  mlir::Value shift(mlir::Value value, int64_t by, double first);
  mlir::Value last(mlir::Value value);
  mlir::Value cutLast(mlir::Value value, int64_t begin, int64_t size);
  mlir::Value concatLast(mlir::Value a, mlir::Value b);
  mlir::Value countWhere(mlir::Value condition, mlir::Value counts);
  mlir::Value countEqual(const Largest &part, mlir::Value number);
  mlir::Value largestOf(mlir::Value value, llvm::ArrayRef<int64_t> dims);
  mlir::Value equals(mlir::Value a, mlir::Value b);
  mlir::Value number(mlir::Value like, double value);
  mlir::Value spread(mlir::Value value, llvm::ArrayRef<int64_t> shape);

  mlir::Operation *op;
  const TokenGroup &group;
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace zc::attention

#endif // ZC_PASSES_SEQUENCE_HIDDENKEYS_H
