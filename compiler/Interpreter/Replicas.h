//===- Replicas.h - the roles that compute one micro-batch ------*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_REPLICAS_H
#define ZC_COMPILER_INTERPRETER_REPLICAS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace zc::interpreter {

/// How many micro-batches there are until the same replicas have their turn; 1
/// where each stage of the module has one role. Fails, with a diagnostic, where
/// what is drawn depends on the micro-batch, which replicas count each for
/// itself.
llvm::FailureOr<int64_t> countTurns(mlir::ModuleOp module);

/// A module of the roles that compute micro-batch `number`, one of each stage,
/// with their @micro, as if they were all there are: on a mesh of theirs, and
/// messages name their places among them. Their own numbers stay.
mlir::OwningOpRef<mlir::ModuleOp> takeActiveRoles(mlir::ModuleOp module,
                                                  int64_t number);

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_REPLICAS_H
