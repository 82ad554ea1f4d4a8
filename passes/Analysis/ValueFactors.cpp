//===- ValueFactors.cpp - the factors of a block's values -----------------===//
#include "passes/Analysis/ValueFactors.h"

using namespace mlir;

namespace zc {

void ValueFactors::name(Value value) {
  auto [found, isNew] = values.insert({value, Dims()});
  if (isNew)
    for (int64_t size : cast<ShapedType>(value.getType()).getShape())
      found->second.push_back(projection.addDim(size));
}

int ValueFactors::add(Operation *op, const ShardingRule &rule,
                      llvm::function_ref<bool(Value, int64_t)> isFree) {
  SmallVector<Dims> operands, results;
  for (Value operand : op->getOperands()) {
    name(operand);
    operands.push_back(values.lookup(operand));
    for (auto [dim, number] : llvm::enumerate(operands.back()))
      if (isFree(operand, static_cast<int64_t>(dim)))
        number = FactorProjection::kFree;
  }
  for (Value result : op->getResults()) {
    name(result);
    results.push_back(values.lookup(result));
  }
  return projection.addOp(rule, operands, results);
}

int ValueFactors::factorOf(Value value, int64_t dim) const {
  auto named = values.find(value);
  assert(named != values.end() && "a value that no op was added with");
  return projection.factorOfDim(named->second[dim]);
}

} // namespace zc
