//===- CheapValues.cpp - values that each user may have for itself --------===//
#include "passes/Sharding/CheapValues.h"

#include "dialects/Interfaces/OpInterfaces.h"

using namespace mlir;

namespace zc {

static double bytesOf(TypeRange types) {
  double bytes = 0;
  for (Type type : types)
    bytes += double(numElements(type)) *
             cast<ShapedType>(type).getElementTypeBitWidth();
  return bytes;
}

/// Whether ranks may have parts of a dim that the op wants whole: each then
/// computes a term of a sum, which is sent.
static bool readsRanksRows(Operation *op) {
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  return shardable && shardable.getShardingRule().operandDims !=
                          shardable.getFinerRule().operandDims;
}

void separateCheapValues(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    auto cost = dyn_cast<CostOpInterface>(op);
    if (!cost || cost.getFlops() > 0 || op.getNumResults() != 1 ||
        readsRanksRows(&op) ||
        bytesOf(op.getResultTypes()) <= bytesOf(op.getOperandTypes()))
      continue;
    OpBuilder builder(&op);
    for (OpOperand &use :
         llvm::make_early_inc_range(llvm::drop_begin(op.getUses())))
      use.set(builder.clone(op)->getResult(0));
  }
}

} // namespace zc
