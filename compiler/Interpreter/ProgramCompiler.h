//===- ProgramCompiler.h - from linalg forms to machine code ----*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_PROGRAMCOMPILER_H
#define ZC_COMPILER_INTERPRETER_PROGRAMCOMPILER_H

#include "compiler/Interpreter/Machine.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc::interpreter {

/// Compiles a function over memrefs, made of linalg, memref, scf, arith, math
/// and affine ops. View i is argument i. Fails, with a diagnostic, at an op
/// that the machine does not know. Named linalg ops of the function are turned
/// into linalg.generic.
llvm::FailureOr<std::unique_ptr<Program>> compile(mlir::func::FuncOp func,
                                                  Precision precision);

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_PROGRAMCOMPILER_H
