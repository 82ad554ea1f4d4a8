//===- Roles.h - the roles of a pipeline ------------------------*- C++ -*-===//
#ifndef ZC_PASSES_ANALYSIS_ROLES_H
#define ZC_PASSES_ANALYSIS_ROLES_H

#include "mlir/IR/BuiltinOps.h"

namespace zc {

/// The modules that hold the programs of one role each, in the roles' order:
/// the nested modules with `train.role`, or else the module itself.
llvm::SmallVector<mlir::ModuleOp> getRoles(mlir::ModuleOp module);

} // namespace zc

#endif // ZC_PASSES_ANALYSIS_ROLES_H
