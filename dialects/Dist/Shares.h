//===- Shares.h - a divided tensor as rows of ranks' parts ------*- C++ -*-===//
//
// If an axis (tp) shards parameters already, a ZeRO unit holds the shares of
// the ranks along that axis, one behind the other.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_DIALECTS_DIST_SHARES_H
#define ZC_DIALECTS_DIST_SHARES_H

#include "dialects/Dist/DistDialect.h"

#include <optional>

namespace zc::dist {

/// How a tensor falls in equal shares: along the only dim that axes divide.
struct ShareRule {
  int64_t dim = 0;
  int64_t count = 1;    // of shares; 1: the tensor is whole
  mlir::ArrayAttr axes; // that divide the dim
};

/// The shares of a tensor of `type`; nothing where axes divide several dims or
/// the dim unevenly. A null sharding: whole.
std::optional<ShareRule> getShares(mlir::RankedTensorType type,
                                   ShardingAttr sharding, MeshAttr mesh);

/// Tensors as one concatenation, `length` elements a share, zeros at its end:
/// [length] where they are whole, else [count, length], whose row r holds the
/// elements of their r-th shares, row-major. The rules have one count.
mlir::Value packShares(mlir::OpBuilder &builder, mlir::Location loc,
                       llvm::ArrayRef<mlir::Value> tensors,
                       llvm::ArrayRef<ShareRule> rules, int64_t length);

/// The tensor of `type` out of such a concatenation, `offset` elements from the
/// beginning of every share; `packed` may be flat, too.
mlir::Value unpackShares(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value packed, int64_t offset,
                         mlir::RankedTensorType type, const ShareRule &rule);

} // namespace zc::dist

#endif // ZC_DIALECTS_DIST_SHARES_H
