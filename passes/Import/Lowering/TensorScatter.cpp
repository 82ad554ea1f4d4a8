//===- TensorScatter.cpp - new rows of a cache ----------------------------===//
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"

using namespace mlir;
using namespace zc;

/// [B, ..., rows along `axis`, ...] -> [B, rows, ...], or back.
static Value moveRows(TensorBuilder &build, Value value, int64_t axis,
                      bool back) {
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(0, rankOf(value)));
  int64_t from = back ? 1 : axis, to = back ? axis : 1;
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return build.transpose(value, order);
}

/// The row of the update that stands at each place of the cache, [B, places];
/// less than 0 or too large where the cache keeps what it has.
static Value findRows(NodeContext &context, int64_t samples, int64_t places) {
  TensorBuilder &build = context.build;
  Type integer = build.builder.getI64Type();
  Value rows = build.iota({samples, places}, 1, integer);
  Value begin = context.operand(2);
  if (!begin)
    return rows;
  rows = build.sub(rows, build.broadcast(build.convert(begin, integer),
                                         {samples, places}, 0));
  if (context.node.getString("mode", "linear") != "circular")
    return rows;
  Value wrapped = build.add(rows, build.splatLike(rows, double(places)));
  return build.select(build.compare(Predicate::Lt, rows, 0.0), wrapped, rows);
}

static LogicalResult lowerTensorScatter(NodeContext &context) {
  TensorBuilder &build = context.build;
  Value cache = context.operand(0), update = context.operand(1);
  FailureOr<int64_t> axis =
      context.getAxis(context.node.getInt("axis", -2), rankOf(cache));
  if (failed(axis))
    return failure();
  if (*axis == 0 || rankOf(update) != rankOf(cache) ||
      shapeOf(update)[*axis] > shapeOf(cache)[*axis])
    return context.emitError() << "cannot put " << update.getType() << " into "
                               << cache.getType() << " along dim " << *axis;
  cache = moveRows(build, cache, *axis, false);
  update = moveRows(build, update, *axis, false);
  double count = static_cast<double>(shapeOf(update)[1]);
  Value rows = findRows(context, shapeOf(cache)[0], shapeOf(cache)[1]);
  Value safe = build.min(build.max(rows, build.splatLike(rows, 0)),
                         build.splatLike(rows, count - 1));
  Value isNew = build.broadcast(build.compare(Predicate::Eq, safe, rows),
                                shapeOf(cache), {0, 1});
  Value fresh = build.gather(update, safe, 1, /*batchDims=*/1);
  return context.set(
      moveRows(build, build.select(isNew, fresh, cache), *axis, true));
}

void zc::registerTensorScatter(LoweringRegistry &registry) {
  registry.add("TensorScatter", 24, 24, lowerTensorScatter);
}
