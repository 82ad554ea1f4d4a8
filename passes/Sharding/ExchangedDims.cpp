//===- ExchangedDims.cpp - ops that divide another dim --------------------===//
#include "passes/Sharding/ExchangedDims.h"

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
  reshard->setAttr(dist::kTrafficAttr,
                   builder.getStringAttr(dist::kActivations));
  reshard->setAttr(kExchangeAttr, dims);
  result.replaceUsesWithIf(reshard->getResult(0), [&](OpOperand &use) {
    return !use.getOwner()->hasAttr(kExchangeAttr);
  });
  return reshard;
}

Operation *moveBack(Operation *op, const DenseMap<Value, Layout> &layouts,
                    dist::MeshAttr mesh) {
  auto dims = op->getAttrOfType<DenseI64ArrayAttr>(kExchangeAttr);
  if (!dims || isa<dist::ReshardOp>(op))
    return op->getNextNode();
  for (OpResult result : op->getResults()) {
    // Each is like an operand, or read by its like alone.
    unsigned index = result.getResultNumber();
    if (index >= op->getNumOperands() ||
        op->getOperand(index).getType() != result.getType())
      continue;
    Layout layout = layouts.at(result);
    for (int axis : layouts.at(op->getOperand(index)).dims[dims[0]])
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
