//===- Copies.h - narrow copies follow their parameters ---------*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_COPIES_H
#define ZC_COMPILER_INTERPRETER_COPIES_H

#include "compiler/Interpreter/Roles.h"

namespace zc::interpreter {

/// Makes what @copy makes of the parameters in `values`, by name; nothing if
/// the module has no such program. Fails, with a diagnostic, where it cannot
/// run.
llvm::FailureOr<NamedTensors> makeCopies(Interpreter &interpreter,
                                         mlir::ModuleOp module,
                                         const llvm::StringMap<Tensor> &values);

/// The next step would begin with `values`: states as programs have left them,
/// or as they were where no program has written them. Fails, with a diagnostic
/// (kStaleCopy), where a copy is not what @copy makes of its parameter.
mlir::LogicalResult checkCopies(Interpreter &interpreter, mlir::ModuleOp module,
                                const llvm::StringMap<Tensor> &values);

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_COPIES_H
