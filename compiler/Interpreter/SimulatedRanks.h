//===- SimulatedRanks.h - compressed steps on one rank ----------*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_SIMULATEDRANKS_H
#define ZC_COMPILER_INTERPRETER_SIMULATEDRANKS_H

#include "mlir/IR/BuiltinOps.h"

namespace zc::interpreter {

/// Makes a plain program of one rank from @apply.compressed as
/// --zc-build-compressed-step leaves it, whose tensors have the ranks along a
/// dim ([ranks, shares, N]) and say how they are divided: nothing is divided,
/// an exchange between ranks is no more than its value, and the rows of a sum's
/// terms are the shares that several ranks of the interpreter are given of it
/// (shareOfTerm).
void simulateRanks(mlir::ModuleOp module);

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_SIMULATEDRANKS_H
