//===- Coordinates.cpp - which rank of the mesh this one is ---------------===//
#include "dialects/Dist/Coordinates.h"

#include "dialects/Dist/DistDialect.h"

using namespace mlir;
using namespace zc::train;

namespace zc::dist {

StateOp getCoordinateState(ModuleOp module, StringAttr axis) {
  StateOp last;
  for (auto state : module.getOps<StateOp>()) {
    if (state.getCoordinateAttr() == axis)
      return state;
    last = state;
  }
  OpBuilder builder = last ? OpBuilder(last->getNextNode())
                           : OpBuilder::atBlockBegin(module.getBody());
  std::string name = ("coordinate." + axis.getValue()).str();
  OperationState fields(NameLoc::get(builder.getStringAttr(name)),
                        StateOp::getOperationName());
  auto type = RankedTensorType::get({}, builder.getI64Type());
  fields.addAttribute("sym_name", builder.getStringAttr(name));
  fields.addAttribute("type", TypeAttr::get(type));
  fields.addAttribute("kind",
                      builder.getStringAttr(stringifyStateKind(kScalar)));
  fields.addAttribute("coordinate", axis);
  return cast<StateOp>(builder.create(fields));
}

} // namespace zc::dist
