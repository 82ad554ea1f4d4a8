//===- ExchangeCost.h - how long attention waits for tokens -----*- C++ -*-===//
#ifndef ZC_PASSES_SEQUENCE_EXCHANGECOST_H
#define ZC_PASSES_SEQUENCE_EXCHANGECOST_H

#include "mlir/IR/Operation.h"

namespace zc {

/// Among how many ranks attention is divided.
struct AttentionParts {
  int64_t tokens;    // of sp
  int64_t heads = 1; // of tp
};

/// Seconds of a step that one attention and its gradient add on each rank
/// because tokens are divided, by the target's rates.
struct ExchangeSeconds {
  /// Heads are divided instead: 8 all-to-all, which attention waits for.
  double heads;
  /// Keys and values go round: the turns that blocks do not hide, and the
  /// blocks' sums.
  double ring;
};

/// `attention` is a train.attention or its gradient with as many keys as
/// queries. Grouped queries' keys go round before they are repeated. A causal
/// mask is taken to be balanced (zigzag), also one that `comesApart` of a mask
/// of keys: for queries that see none, ranks then add up sums over all tokens.
/// A mask of keys is sent once for all attentions, by both ways, and not
/// counted; but what a block that is levelled by itself needs besides.
ExchangeSeconds estimateExchange(mlir::Operation *attention,
                                 const AttentionParts &parts,
                                 bool comesApart = false);

/// Whether heads can be divided, and that is no slower than a ring, or there is
/// no ring. A mask of queries and keys that `comesApart` goes round.
bool prefersHeads(mlir::Operation *attention, const AttentionParts &parts,
                  bool comesApart = false);

} // namespace zc

#endif // ZC_PASSES_SEQUENCE_EXCHANGECOST_H
