//===- ScalarOps.h - arith and math ops as instructions ---------*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_SCALAROPS_H
#define ZC_COMPILER_INTERPRETER_SCALAROPS_H

#include "compiler/Interpreter/Machine.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace zc::interpreter {

/// The instruction of a scalar op of the arith or math dialect, without its
/// registers; nothing for any other op.
std::optional<Instruction> scalarInstruction(mlir::Operation *op,
                                             Precision precision);

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_SCALAROPS_H
