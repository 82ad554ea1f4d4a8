//===- FewElements.cpp - an op of few elements ----------------------------===//
#include "compiler/Interpreter/FewElements.h"

#include "dialects/Interfaces/OpInterfaces.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include <algorithm>

using namespace mlir;

namespace zc::interpreter {

/// Dims of equal sizes stay equal, and those of one element stay so.
static Type shrink(Type type) {
  constexpr int64_t kMost = 4; // two parts of two
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  for (int64_t &size : shape)
    size = std::min(size, kMost);
  return tensor.clone(shape);
}

/// The elements of a constant, where all are one number.
static SplatElementsAttr splatOf(Operation *op) {
  auto constant = dyn_cast<train::ConstantOp>(op);
  return constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                  : SplatElementsAttr();
}

OwningOpRef<ModuleOp> makeFewElements(Operation *op) {
  SplatElementsAttr splat = splatOf(op);
  if (op->getNumRegions() > 0 ||
      !(splat || isa<ElementwiseOpInterface>(op) ||
        isa<train::BroadcastOp, train::ReduceOp>(op)))
    return {};
  OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  IRMapping operands;
  for (Value operand : op->getOperands())
    operands.map(operand, module->getBody()->addArgument(
                              shrink(operand.getType()), op->getLoc()));
  Operation *few = builder.clone(*op, operands);
  for (Value result : few->getResults())
    result.setType(shrink(result.getType()));
  if (splat)
    cast<train::ConstantOp>(few).setValueAttr(
        splat.resizeSplat(cast<ShapedType>(shrink(splat.getType()))));
  return module;
}

} // namespace zc::interpreter
