//===- ExchangedDims.h - ops that divide another dim ------------*- C++ -*-===//
#ifndef ZC_PASSES_SHARDING_EXCHANGEDDIMS_H
#define ZC_PASSES_SHARDING_EXCHANGEDDIMS_H

#include "passes/Sharding/Layout.h"

namespace zc {

/// On an op: factors of its rule that nobody is to divide here.
inline constexpr llvm::StringLiteral kGatheredAttr = "dist.gathered";

/// Divides the results of an op with `dist.exchange` as its operands are, by
/// reshards for all readers but those that compute with that dim, too. May be
/// called again when `layouts` have changed. Returns what stands behind `op`.
mlir::Operation *moveBack(mlir::Operation *op,
                          const llvm::DenseMap<mlir::Value, Layout> &layouts,
                          dist::MeshAttr mesh);

} // namespace zc

#endif // ZC_PASSES_SHARDING_EXCHANGEDDIMS_H
