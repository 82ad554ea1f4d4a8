//===- ExchangedDims.cpp - ops that divide another dim --------------------===//
#include "passes/Sharding/ExchangedDims.h"

#include "dialects/Train/Tokens.h"

using namespace mlir;

namespace zc {

static dist::ReshardOp findReshard(Value result) {
  for (Operation *user : result.getUsers())
    if (auto found = dyn_cast<dist::ReshardOp>(user);
        found && found->hasAttr(kExchangeAttr))
      return found;
  return nullptr;
}

static dist::ReshardOp addReshard(OpResult result, DenseI64ArrayAttr dims) {
  Operation *op = result.getOwner();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  auto reshard = dist::ReshardOp::create(builder, op->getLoc(), result);
  dist::setTraffic(reshard, dist::kActivations);
  reshard->setAttr(kExchangeAttr, dims);
  result.replaceUsesWithIf(reshard->getResult(0), [&](OpOperand &use) {
    return !use.getOwner()->hasAttr(kExchangeAttr);
  });
  return reshard;
}

/// Whether two values are of the same samples, tokens and heads, whatever the
/// width of these.
static bool areAlike(Value a, Value b) {
  auto shapeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  return shapeOf(a).size() == shapeOf(b).size() &&
         shapeOf(a).drop_back() == shapeOf(b).drop_back();
}

/// The axes that came from dim `from` of an operand to another of `result`;
/// nothing where the result stays as it is.
static std::optional<Axes> findExchanged(OpResult result, int64_t from,
                                         const DenseMap<Value, Layout> &layouts,
                                         dist::MeshAttr mesh) {
  Operation *op = result.getOwner();
  if (op->hasAttr(kGatheredAttr)) { // a product: tokens of either operand
    int axis = mesh.findAxis(kTokenAxis);
    const bool divides =
        from >= 0 && axis >= 0 &&
        cast<RankedTensorType>(result.getType()).getDimSize(from) %
                (groupSize(layouts.at(result).dims[from], mesh) *
                 mesh.getSizes()[axis]) ==
            0;
    return divides ? std::optional(Axes{axis}) : std::nullopt;
  }
  // Each is like an operand, or read by its like alone.
  unsigned index = result.getResultNumber();
  if (index >= op->getNumOperands() || !areAlike(op->getOperand(index), result))
    return std::nullopt;
  return layouts.at(op->getOperand(index)).dims[from];
}

Operation *moveBack(Operation *op, const DenseMap<Value, Layout> &layouts,
                    dist::MeshAttr mesh) {
  auto dims = op->getAttrOfType<DenseI64ArrayAttr>(kExchangeAttr);
  if (!dims || isa<dist::ReshardOp>(op))
    return op->getNextNode();
  for (OpResult result : op->getResults()) {
    auto axes = findExchanged(result, dims[0], layouts, mesh);
    if (!axes)
      continue;
    Layout layout = layouts.at(result);
    for (int axis : *axes)
      if (llvm::is_contained(layout.dims[dims[1]], axis)) {
        llvm::erase(layout.dims[dims[1]], axis);
        layout.dims[dims[0]].push_back(axis);
      }
    dist::ReshardOp reshard = findReshard(result);
    if (!reshard)
      reshard = addReshard(result, dims);
    reshard->setAttr(dist::kShardingAttr, layout.toAttr(mesh));
  }
  return op->getNextNode();
}

} // namespace zc
