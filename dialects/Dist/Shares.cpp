//===- Shares.cpp - a divided tensor as rows of ranks' parts --------------===//
#include "dialects/Dist/Shares.h"

#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::dist {

std::optional<ShareRule> getShares(RankedTensorType type, ShardingAttr sharding,
                                   MeshAttr mesh) {
  ShareRule rule;
  rule.axes = ArrayAttr::get(type.getContext(), {});
  if (!sharding)
    return rule;
  for (auto [dim, axes] : llvm::enumerate(sharding.getDims())) {
    int64_t ranks = getGroupSize(mesh, axes);
    if (ranks == 1)
      continue;
    if (rule.count > 1 || type.getDimSize(dim) % ranks != 0)
      return std::nullopt;
    rule = {static_cast<int64_t>(dim), ranks, axes};
  }
  return rule;
}

/// With the divided dim in two: which share, and which element of it.
static SmallVector<int64_t> splitShape(ArrayRef<int64_t> shape,
                                       const ShareRule &rule) {
  SmallVector<int64_t> split(shape);
  split[rule.dim] /= rule.count;
  split.insert(split.begin() + rule.dim, rule.count);
  return split;
}

/// [count, elements / count].
static Value toRows(OpBuilder &builder, Location loc, Value tensor,
                    const ShareRule &rule) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> split = splitShape(type.getShape(), rule);
  SmallVector<int64_t> permutation =
      train::otherDims(static_cast<int64_t>(split.size()), {rule.dim});
  permutation.insert(permutation.begin(), rule.dim);
  Value rows = train::reshape(builder, loc, tensor, split);
  rows = train::transpose(builder, loc, rows, permutation);
  return train::reshape(builder, loc, rows,
                        {rule.count, type.getNumElements() / rule.count});
}

/// The inverse of that.
static Value fromRows(OpBuilder &builder, Location loc, Value rows,
                      ArrayRef<int64_t> shape, const ShareRule &rule) {
  SmallVector<int64_t> moved = splitShape(shape, rule);
  moved.erase(moved.begin() + rule.dim);
  moved.insert(moved.begin(), rule.count);
  SmallVector<int64_t> permutation;
  for (int64_t dim = 1; dim < static_cast<int64_t>(moved.size()); ++dim)
    permutation.push_back(dim);
  permutation.insert(permutation.begin() + rule.dim, 0);
  Value tensor = train::reshape(builder, loc, rows, moved);
  return train::reshape(
      builder, loc, train::transpose(builder, loc, tensor, permutation), shape);
}

Value packShares(OpBuilder &builder, Location loc, ArrayRef<Value> tensors,
                 ArrayRef<ShareRule> rules, int64_t length) {
  int64_t count = rules.front().count, rest = length;
  SmallVector<Value> parts;
  for (auto [tensor, rule] : llvm::zip_equal(tensors, rules)) {
    int64_t size =
        cast<RankedTensorType>(tensor.getType()).getNumElements() / count;
    parts.push_back(count > 1 ? toRows(builder, loc, tensor, rule)
                              : train::reshape(builder, loc, tensor, {size}));
    rest -= size;
  }
  auto withLength = [&](int64_t size) {
    SmallVector<int64_t> shape = {count, size};
    return train::withShape(tensors.front().getType(),
                            ArrayRef(shape).drop_front(count == 1));
  };
  if (rest > 0)
    parts.push_back(train::splat(builder, loc, withLength(rest), 0));
  return train::ConcatOp::create(builder, loc, withLength(length), parts,
                                 /*dim=*/count > 1);
}

Value unpackShares(OpBuilder &builder, Location loc, Value packed,
                   int64_t offset, RankedTensorType type,
                   const ShareRule &rule) {
  int64_t all = cast<RankedTensorType>(packed.getType()).getNumElements();
  SmallVector<int64_t> offsets = {offset};
  SmallVector<int64_t> shape = {type.getNumElements() / rule.count};
  if (rule.count > 1) {
    packed =
        train::reshape(builder, loc, packed, {rule.count, all / rule.count});
    offsets.insert(offsets.begin(), 0);
    shape.insert(shape.begin(), rule.count);
  }
  Value part = train::SliceOp::create(
      builder, loc, train::withShape(type, shape), packed, offsets,
      SmallVector<int64_t>(shape.size(), 1));
  return rule.count > 1 ? fromRows(builder, loc, part, type.getShape(), rule)
                        : train::reshape(builder, loc, part, type.getShape());
}

} // namespace zc::dist
