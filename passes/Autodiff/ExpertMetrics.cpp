//===- ExpertMetrics.cpp - how a router spreads its tokens ----------------===//
#include "passes/Autodiff/ExpertMetrics.h"

#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

/// A router's choices: rows of groups, or numbers of experts.
struct Layer {
  Operation *reader; // what first reads them
  Value counts; // [groups of tokens, experts] or, where there are none, [1, ..]
  int64_t capacity; // 0: no limit
};

/// How many of `groups` [rows] are each expert.
Value countRows(OpBuilder &builder, Location loc, Value groups,
                int64_t experts) {
  int64_t rows = shapeOf(groups).front();
  auto integer = getElementTypeOrSelf(groups.getType());
  Value ids = IotaOp::create(builder, loc,
                             RankedTensorType::get({experts}, integer), 1);
  SmallVector<int64_t> both{rows, experts};
  Value isOf = compare(builder, loc, Predicate::Eq,
                       broadcast(builder, loc, groups, both, {0}),
                       broadcast(builder, loc, ids, both, {1}));
  Value ones = convert(builder, loc, isOf, builder.getF32Type());
  return reshape(builder, loc, reduceSum(builder, loc, ones, {0}),
                 {1, experts});
}

/// If metrics are of single layers, counts are placed behind the layer and in
/// its node, so that no cut parts the two.
class LayerFinder {
public:
  LayerFinder(OpBuilder &builder, Location loc, bool byLayer)
      : builder(builder), loc(loc), byLayer(byLayer) {}

  SmallVector<Layer> run(func::FuncOp step) {
    SmallVector<Operation *> readers;
    step.walk([&](Operation *op) {
      if (isa<ExpertSlotsOp, GroupedMatmulOp>(op))
        readers.push_back(op);
    });
    for (Operation *op : readers)
      if (auto slots = dyn_cast<ExpertSlotsOp>(op))
        add(slots);
      else
        add(cast<GroupedMatmulOp>(op));
    return std::move(layers);
  }

  /// Where ops of a layer's metrics go.
  Location moveTo(Operation *reader) {
    if (!byLayer)
      return loc;
    builder.setInsertionPointAfter(reader);
    return reader->getLoc();
  }

private:
  void add(ExpertSlotsOp slots) {
    Location at = moveTo(slots);
    int64_t tokens = shapeOf(slots.getGroups())[1] / slots.getChoices();
    const auto capacity = int64_t(slots.getCapacity());
    layers.push_back(
        {slots, convert(builder, at, slots.getCounts(), builder.getF32Type()),
         capacity < tokens ? capacity : 0});
  }

  void add(GroupedMatmulOp product) {
    Value groups = product.getGroups();
    if (shapeOf(groups).size() != 1 || !seen.insert(groups).second)
      return;
    Location at = moveTo(product);
    layers.push_back(
        {product, countRows(builder, at, groups, product.getExperts()), 0});
  }

  OpBuilder &builder;
  Location loc;
  bool byLayer;
  DenseSet<Value> seen;
  SmallVector<Layer> layers;
};

/// The rows beyond what each group of tokens has room for.
Value countOverflow(OpBuilder &builder, Location loc, const Layer &layer) {
  Value room =
      splat(builder, loc, layer.counts.getType(), double(layer.capacity));
  Value beyond = SubOp::create(builder, loc, layer.counts, room);
  beyond = ReluOp::create(builder, loc, beyond);
  return reshape(builder, loc, reduceSum(builder, loc, beyond, {0, 1}), {1});
}

} // namespace

std::string getLayerMetric(StringRef metric, int64_t layer) {
  return (metric + "." + Twine(layer)).str();
}

StringRef findLayerMetric(StringRef name) {
  for (StringRef metric : {kExpertTokens, kExpertOverflow})
    if (name.starts_with((metric + ".").str()))
      return metric;
  return "";
}

void addExpertMetrics(func::FuncOp step, bool byLayer) {
  OpBuilder builder(step.getBody().front().getTerminator());
  Location loc = NameLoc::get(builder.getStringAttr("moe"));
  SmallVector<Value> tokens, overflows;
  LayerFinder finder(builder, loc, byLayer);
  for (const Layer &layer : finder.run(step)) {
    Location at = byLayer ? layer.reader->getLoc() : loc;
    if (byLayer)
      builder.setInsertionPointAfter(layer.counts.getDefiningOp());
    if (layer.capacity > 0)
      overflows.push_back(countOverflow(builder, at, layer));
    // A row of the table is as long as the first layer's.
    int64_t experts = shapeOf(layer.counts)[1];
    if (!tokens.empty() && shapeOf(tokens.front())[1] != experts)
      continue;
    tokens.push_back(reshape(
        builder, at, reduceSum(builder, at, layer.counts, {0}), {1, experts}));
  }
  auto add = [&](StringRef name, Value value) {
    addResult(step, value,
              builder.getNamedAttr(kMetricAttr, builder.getStringAttr(name)));
  };
  if (tokens.empty())
    return;
  if (byLayer) {
    for (auto [layer, value] : llvm::enumerate(tokens))
      add(getLayerMetric(kExpertTokens, layer), value);
    for (auto [layer, value] : llvm::enumerate(overflows))
      add(getLayerMetric(kExpertOverflow, layer), value);
    return;
  }
  auto type = cast<RankedTensorType>(tokens.front().getType());
  Value all = tokens.front();
  if (tokens.size() > 1)
    all = ConcatOp::create(
        builder, loc,
        withShape(type, {int64_t(tokens.size()), type.getDimSize(1)}), tokens,
        0);
  add(kExpertTokens, all);
  if (overflows.empty())
    return;
  Value overflow = overflows.front();
  for (Value more : ArrayRef(overflows).drop_front())
    overflow = AddOp::create(builder, loc, overflow, more);
  add(kExpertOverflow, overflow);
}

} // namespace zc
