//===- FewElements.cpp - an op of few elements ----------------------------===//
#include "compiler/Interpreter/FewElements.h"
#include "compiler/Interpreter/CloneAlone.h"

#include "dialects/Interfaces/OpInterfaces.h"
#include "dialects/Train/TrainDialect.h"

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
  OwningOpRef<ModuleOp> module =
      cloneAlone(op, llvm::map_to_vector(op->getOperandTypes(), shrink),
                 llvm::map_to_vector(op->getResultTypes(), shrink));
  if (splat)
    cast<train::ConstantOp>(module->getBody()->front())
        .setValueAttr(
            splat.resizeSplat(cast<ShapedType>(shrink(splat.getType()))));
  return module;
}

} // namespace zc::interpreter
