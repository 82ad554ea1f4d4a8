//===- ExpertMetrics.cpp - how a router spreads its tokens ----------------===//
#include "passes/Autodiff/ExpertMetrics.h"

#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Autodiff/ProgramBuilder.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

struct Layer {
  Value counts; // [groups of tokens, experts] or, where there are none, [1, ..]
  int64_t capacity; // 0: no limit
};

ArrayRef<int64_t> shapeOfValue(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// How many of `groups` [rows] are each expert.
Value countRows(OpBuilder &builder, Location loc, Value groups,
                int64_t experts) {
  int64_t rows = shapeOfValue(groups).front();
  auto integer = getElementTypeOrSelf(groups.getType());
  Value ids = IotaOp::create(builder, loc,
                             RankedTensorType::get({experts}, integer), 1);
  SmallVector<int64_t> both{rows, experts};
  Value isOf =
      compare(builder, loc, "eq", broadcast(builder, loc, groups, both, {0}),
              broadcast(builder, loc, ids, both, {1}));
  Value ones = convert(builder, loc, isOf, builder.getF32Type());
  return reshape(builder, loc, reduceSum(builder, loc, ones, {0}),
                 {1, experts});
}

SmallVector<Layer> findLayers(OpBuilder &builder, Location loc,
                              func::FuncOp step) {
  SmallVector<Layer> layers;
  DenseSet<Value> seen;
  step.walk([&](Operation *op) {
    if (auto slots = dyn_cast<ExpertSlotsOp>(op)) {
      int64_t tokens = shapeOfValue(slots.getGroups())[1] / slots.getChoices();
      bool isLimited = slots.getCapacity() < int64_t(tokens);
      layers.push_back(
          {convert(builder, loc, slots.getCounts(), builder.getF32Type()),
           isLimited ? int64_t(slots.getCapacity()) : 0});
    } else if (auto product = dyn_cast<GroupedMatmulOp>(op)) {
      Value groups = product.getGroups();
      if (shapeOfValue(groups).size() == 1 && seen.insert(groups).second)
        layers.push_back(
            {countRows(builder, loc, groups, product.getExperts()), 0});
    }
  });
  return layers;
}

/// The rows beyond what each group of tokens has room for.
Value countOverflow(OpBuilder &builder, Location loc, const Layer &layer) {
  Value room =
      splat(builder, loc, layer.counts.getType(), double(layer.capacity));
  Value beyond = SubOp::create(builder, loc, layer.counts, room);
  beyond = ReluOp::create(builder, loc, beyond);
  return reshape(builder, loc, reduceSum(builder, loc, beyond, {0, 1}), {1});
}

} // namespace

void addExpertMetrics(func::FuncOp step) {
  OpBuilder builder(step.getBody().front().getTerminator());
  Location loc = NameLoc::get(builder.getStringAttr("moe"));
  SmallVector<Value> tokens;
  Value overflow;
  for (const Layer &layer : findLayers(builder, loc, step)) {
    if (layer.capacity > 0) {
      Value more = countOverflow(builder, loc, layer);
      overflow =
          overflow ? Value(AddOp::create(builder, loc, overflow, more)) : more;
    }
    // A row of the table is as long as the first layer's.
    int64_t experts = shapeOfValue(layer.counts)[1];
    if (!tokens.empty() && shapeOfValue(tokens.front())[1] != experts)
      continue;
    tokens.push_back(reshape(builder, loc,
                             reduceSum(builder, loc, layer.counts, {0}),
                             {1, experts}));
  }
  auto add = [&](StringRef name, Value value) {
    addResult(step, value,
              builder.getNamedAttr(kMetricAttr, builder.getStringAttr(name)));
  };
  if (tokens.empty())
    return;
  auto type = cast<RankedTensorType>(tokens.front().getType());
  Value all = tokens.front();
  if (tokens.size() > 1)
    all = ConcatOp::create(
        builder, loc,
        withShape(type, {int64_t(tokens.size()), type.getDimSize(1)}), tokens,
        0);
  add(kExpertTokens, all);
  if (overflow)
    add(kExpertOverflow, overflow);
}

} // namespace zc
