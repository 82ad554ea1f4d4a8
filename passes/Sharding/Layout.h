//===- Layout.h - a sharding that passes compute with -----------*- C++ -*-===//
#ifndef ZC_PASSES_SHARDING_LAYOUT_H
#define ZC_PASSES_SHARDING_LAYOUT_H

#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/Tokens.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// [from, to], dims of the first result of an op that needs whole a dim that
/// ranks have in parts: the axes that divide `from` in operands divide `to`
/// while it computes.
inline constexpr llvm::StringLiteral kExchangeAttr = "dist.exchange";

/// Axes by their index in the mesh, slowest first.
using Axes = llvm::SmallVector<int, 2>;

/// dist.sharding, with axes as numbers.
struct Layout {
  llvm::SmallVector<Axes> dims;
  Axes unreduced; // ascending

  /// Every rank has all of it.
  static Layout replicated(int64_t rank);
  static Layout replicated(mlir::Type type);
  static Layout from(dist::ShardingAttr sharding, dist::MeshAttr mesh);

  dist::ShardingAttr toAttr(dist::MeshAttr mesh) const;

  bool isReplicated() const;
  /// Whether an axis divides some dim.
  bool divides(int axis) const;
  bool isUnreduced(int axis) const {
    return llvm::is_contained(unreduced, axis);
  }

  bool operator==(const Layout &other) const {
    return dims == other.dims && unreduced == other.unreduced;
  }
  bool operator!=(const Layout &other) const { return !(*this == other); }
};

/// The product of the axes' sizes.
int64_t groupSize(const Axes &axes, dist::MeshAttr mesh);

/// The names of `axes`, as collectives hold them.
mlir::ArrayAttr axisNames(llvm::ArrayRef<int> axes, dist::MeshAttr mesh);

/// Shardings of an op's operands or results, as the op holds them.
mlir::ArrayAttr toArrayAttr(llvm::ArrayRef<Layout> layouts,
                            dist::MeshAttr mesh);
llvm::SmallVector<Layout>
layoutsOf(mlir::Operation *op, llvm::StringRef attribute, dist::MeshAttr mesh);

/// The sharding of a value: that of the argument, or of the op's result.
/// Replicated where none is given.
Layout layoutOf(mlir::Value value, dist::MeshAttr mesh);

/// The layout that a reduction to `result` needs of its operand: dims that it
/// keeps divided are divided before, unless the reduction itself divides them.
Layout beforeReducing(Layout input, const Layout &result);

/// Whether inputs, or what stages send, are divided by tokens; or tokens that
/// have changed places are divided where that is done.
bool dividesTokens(mlir::func::FuncOp program);

} // namespace zc

#endif // ZC_PASSES_SHARDING_LAYOUT_H
