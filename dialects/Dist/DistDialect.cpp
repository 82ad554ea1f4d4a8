//===- DistDialect.cpp ----------------------------------------------------===//
#include "dialects/Dist/DistDialect.h"

using namespace mlir;
using namespace zc::dist;

#include "dialects/Dist/DistDialect.cpp.inc"
#include "dialects/Dist/StepPass.cpp.inc"

#include "dialects/Dist/DistInterfaces.cpp.inc"

SmallVector<zc::train::StateOp> zc::dist::getUnitMembers(ModuleOp module,
                                                         StringRef unit) {
  SmallVector<train::StateOp> members;
  if (auto nested = module.lookupSymbol<ModuleOp>(kUnitModule))
    for (auto member : nested.getOps<train::StateOp>())
      if (member.getUnit() == unit)
        members.push_back(member);
  return members;
}

std::optional<zc::Traffic> zc::dist::getTraffic(Operation *op) {
  auto traffic = op->getAttrOfType<StringAttr>(kTrafficAttr);
  return traffic ? symbolizeTraffic(traffic.getValue()) : std::nullopt;
}

void zc::dist::setTraffic(Operation *op, Traffic traffic) {
  op->setAttr(kTrafficAttr,
              StringAttr::get(op->getContext(), stringifyTraffic(traffic)));
}

std::optional<StepPass> zc::dist::getPass(Operation *op) {
  auto pass = op->getAttrOfType<StringAttr>(kPassAttr);
  return pass ? symbolizeStepPass(pass.getValue()) : std::nullopt;
}

void zc::dist::setPass(Operation *op, StepPass pass) {
  op->setAttr(kPassAttr,
              StringAttr::get(op->getContext(), stringifyStepPass(pass)));
}

ArrayRef<int64_t> zc::dist::getBlocks(train::StateOp state, int64_t dim) {
  ArrayAttr all = state.getBlocksAttr();
  return all ? cast<DenseI64ArrayAttr>(all[dim]).asArrayRef()
             : ArrayRef<int64_t>();
}

void DistDialect::initialize() {
  registerAttrs();
  addOperations<
#define GET_OP_LIST
#include "dialects/Dist/DistOps.cpp.inc"
      >();
}
