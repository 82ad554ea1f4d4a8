//===- Roles.cpp - the roles of a pipeline --------------------------------===//
#include "passes/Analysis/Roles.h"

#include "dialects/Train/TrainDialect.h"

using namespace mlir;

namespace zc {

SmallVector<ModuleOp> getRoles(ModuleOp module) {
  SmallVector<ModuleOp> roles;
  for (auto nested : module.getOps<ModuleOp>())
    if (nested->hasAttr(train::kRoleAttr))
      roles.push_back(nested);
  if (roles.empty())
    roles.push_back(module);
  return roles;
}

} // namespace zc
