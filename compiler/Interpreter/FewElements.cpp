//===- FewElements.cpp - an op of few elements ----------------------------===//
#include "compiler/Interpreter/FewElements.h"
#include "compiler/Interpreter/CloneAlone.h"

#include "dialects/Interfaces/OpInterfaces.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/Verifier.h"

#include <algorithm>

using namespace mlir;

namespace zc::interpreter {

/// Elements of a factor: two parts of two.
static constexpr int64_t kMost = 4;

/// A type whose dims have as many elements as small factors leave. The rule
/// fits the type.
static Type shrink(Type type, ArrayRef<int> dims, const ShardingRule &rule) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  for (auto [size, factor] : llvm::zip_equal(shape, dims))
    if (factor != ShardingRule::kWhole && rule.factors[factor].size > kMost)
      size = size / rule.factors[factor].size * kMost;
  return tensor.clone(shape);
}

static SmallVector<Type> shrinkAll(TypeRange types,
                                   ArrayRef<SmallVector<int>> dims,
                                   const ShardingRule &rule) {
  SmallVector<Type> small;
  for (auto [type, each] : llvm::zip_equal(types, dims))
    small.push_back(shrink(type, each, rule));
  return small;
}

/// A constant has its elements as an attribute, which can be made small where
/// all are one number.
static bool resizeConstant(Operation *op) {
  auto constant = dyn_cast<train::ConstantOp>(op);
  if (!constant)
    return true;
  auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
  if (splat)
    constant.setValueAttr(splat.resizeSplat(constant.getType()));
  return bool(splat);
}

static bool isAlike(const ShardingRule &one, const ShardingRule &other) {
  return std::equal(one.factors.begin(), one.factors.end(),
                    other.factors.begin(), other.factors.end(),
                    [](const Factor &a, const Factor &b) {
                      return a.kind == b.kind && (a.size > 1) == (b.size > 1);
                    }) &&
         one.operandDims == other.operandDims &&
         one.resultDims == other.resultDims && one.linearity == other.linearity;
}

OwningOpRef<ModuleOp> makeFewElements(Operation *op, const ShardingRule &rule) {
  if (op->getNumRegions() > 0 ||
      llvm::none_of(rule.factors,
                    [](const Factor &factor) { return factor.size > kMost; }))
    return {};
  OwningOpRef<ModuleOp> module =
      cloneAlone(op, shrinkAll(op->getOperandTypes(), rule.operandDims, rule),
                 shrinkAll(op->getResultTypes(), rule.resultDims, rule));
  Operation *small = &module->getBody()->front();
  ScopedDiagnosticHandler silent(op->getContext(),
                                 [](Diagnostic &) { return success(); });
  if (!resizeConstant(small) || failed(verify(small)))
    return {};
  const ShardingRule own = cast<ShardableOpInterface>(small).getShardingRule();
  if (!own.check(small).empty() || !isAlike(own, rule))
    return {};
  return module;
}

} // namespace zc::interpreter
