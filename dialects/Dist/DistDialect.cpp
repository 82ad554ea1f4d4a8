//===- DistDialect.cpp ----------------------------------------------------===//
#include "dialects/Dist/DistDialect.h"

using namespace mlir;
using namespace zc::dist;

#include "dialects/Dist/DistDialect.cpp.inc"

#include "dialects/Dist/DistInterfaces.cpp.inc"

SmallVector<zc::train::StateOp> zc::dist::getUnitMembers(ModuleOp module,
                                                         StringRef unit) {
  SmallVector<train::StateOp> members;
  if (auto nested = module.lookupSymbol<ModuleOp>(kUnitModule))
    for (auto member : nested.getOps<train::StateOp>())
      if (member->getAttrOfType<FlatSymbolRefAttr>(kUnitAttr).getValue() ==
          unit)
        members.push_back(member);
  return members;
}

void DistDialect::initialize() {
  registerAttrs();
  addOperations<
#define GET_OP_LIST
#include "dialects/Dist/DistOps.cpp.inc"
      >();
}
