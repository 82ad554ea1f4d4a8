//===- FewElements.h - an op of few elements --------------------*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_FEWELEMENTS_H
#define ZC_COMPILER_INTERPRETER_FEWELEMENTS_H

#include "dialects/Interfaces/ShardingRule.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace zc::interpreter {

/// A module whose first op is the same op on smaller tensors: every factor of
/// its rule that has more than four elements has four, two parts of two. Its
/// own rule is `rule` but for those sizes, so that few elements stand for all.
/// Null where there is no such op: it would have another rule, or would not
/// verify.
mlir::OwningOpRef<mlir::ModuleOp> makeFewElements(mlir::Operation *op,
                                                  const ShardingRule &rule);

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_FEWELEMENTS_H
