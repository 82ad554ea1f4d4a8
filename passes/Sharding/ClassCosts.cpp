//===- ClassCosts.cpp - what dividing a class of dims gains ---------------===//
#include "passes/Sharding/ClassCosts.h"

#include "dialects/Train/StateLookup.h"
#include "dialects/Train/TrainDialect.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

/// Operations that a rank does while it sends a byte.
static constexpr double kFlopsPerByte = 50;

double ClassGain::score() const { return flops - kFlopsPerByte * sent; }

static double bytesOfTensor(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return double(type.getNumElements()) * type.getElementTypeBitWidth() / 8;
}

/// Values that a gradient reaches on its way to a parameter.
static DenseSet<Value> findActive(func::FuncOp program) {
  DenseSet<Value> active;
  for (BlockArgument argument : program.getArguments())
    if (StateOp state = findState(argument);
        state && state.getKind() == kParameter)
      active.insert(argument);
  for (Operation &op : program.getBody().front())
    if (llvm::any_of(op.getOperands(),
                     [&](Value operand) { return active.contains(operand); }))
      for (Value result : op.getResults())
        if (isa<FloatType>(getElementTypeOrSelf(result)))
          active.insert(result);
  return active;
}

ClassCosts::ClassCosts(func::FuncOp program)
    : program(program), active(findActive(program)) {}

bool ClassCosts::isBatch(const DimOf &dim) const {
  auto argument = dyn_cast<BlockArgument>(dim.value);
  auto batch = argument ? func::FuncOp(program).getArgAttrOfType<IntegerAttr>(
                              argument.getArgNumber(), kBatchDimAttr)
                        : IntegerAttr();
  return batch && batch.getInt() == dim.dim;
}

bool ClassCosts::isBatch(const DimClass &dims) const {
  return llvm::any_of(dims.dims,
                      [&](const DimOf &dim) { return isBatch(dim); });
}

ClassGain ClassCosts::gainOf(const DimClass &dims) const {
  double flops = 0, sent = 0;
  DenseSet<Value> summed;
  for (const FactorUse &use : dims.factors) {
    if (auto cost = dyn_cast<CostOpInterface>(use.op))
      flops += cost.getFlops();
    ShardingRule rule = cast<ShardableOpInterface>(use.op).getFinerRule();
    if (rule.factors[use.factor].kind == FactorKind::Sum)
      for (Value result : use.op->getResults())
        sent += bytesOfTensor(result);
    for (auto [operand, dims] :
         llvm::zip(use.op->getOperands(), rule.operandDims))
      if (active.contains(operand) && !llvm::is_contained(dims, use.factor) &&
          summed.insert(operand).second)
        sent += bytesOfTensor(operand);
  }
  return {flops, sent};
}

bool hasWeights(const DimClass &dims) {
  return llvm::any_of(dims.getArguments(), [&](const DimOf &each) {
    StateOp state = findState(each.value);
    return state && state.getTensorType().getRank() >= 2 &&
           isa<FloatType>(state.getTensorType().getElementType());
  });
}

int64_t findRemainder(const DimClass &dims, int64_t ranks) {
  for (const FactorUse &use : dims.factors) {
    int64_t size = cast<ShardableOpInterface>(use.op)
                       .getFinerRule()
                       .factors[use.factor]
                       .size;
    if (size % ranks != 0)
      return size;
  }
  return 0;
}

bool meetsItself(const DimClass &dims) {
  DenseSet<Value> seen;
  return llvm::any_of(dims.dims, [&](const DimOf &each) {
    return !seen.insert(each.value).second;
  });
}

} // namespace zc
