//===- PartAttention.h - attention of tokens that ranks divide --*- C++ -*-===//
//
// Every rank has a part of the queries, and of the keys and values. Either the
// keys and values go round the ring of ranks, a block of scores at a time (ring
// attention, Liu et al. 2023), or every rank gathers all of them.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_SEQUENCE_PARTATTENTION_H
#define ZC_PASSES_SEQUENCE_PARTATTENTION_H

#include "dialects/Dist/DistDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace zc {

/// The parts that rings end with, by what the rank began with and their axes:
/// those of the rank behind it, which have been at all others.
using RingEnds =
    llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, mlir::Value>;

/// The ranks that divide an attention's tokens.
struct TokenGroup {
  mlir::ArrayAttr axes;
  int64_t ranks;
  /// A rank's number among them, a scalar i64.
  llvm::function_ref<mlir::Value()> coordinate;
  /// The program's: attentions add theirs, and gradients begin with them.
  RingEnds &ends;
};

/// Replaces a train.attention or train.attention_grad of a rank's parts by what
/// computes the same as all ranks' tokens would, as the op's `tokens` says.
void attendParts(mlir::Operation *op, const TokenGroup &group);

} // namespace zc

#endif // ZC_PASSES_SEQUENCE_PARTATTENTION_H
