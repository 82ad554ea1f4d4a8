//===- ShareCode.h - one code for kernels of many sizes ---------*- C++ -*-===//
//
// A network whose every layer has a width of its own has a kernel of its own
// for each, and all of them are one program but for the numbers in it: where a
// loop ends, how far a row is from the next. Such kernels share a function that
// takes the numbers as arguments, and entry points pass them.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_CODEGEN_SHARECODE_H
#define ZC_PASSES_CODEGEN_SHARECODE_H

#include "mlir/IR/BuiltinOps.h"

namespace zc {

/// On a kernel's LLVM function, and among the attributes of an alias: the
/// numbers (array<i64>) that the function takes behind its range of blocks.
inline constexpr llvm::StringLiteral kNumbersAttr = "sched.numbers";

/// Joins kernels' functions of these modules, lowered to the LLVM dialect, that
/// differ in sizes and strides alone; a shared function stays in the module of
/// its first kernel, and the others become its `sched.aliases`. The results of
/// a kernel do not change by a bit: functions that add numbers up in a register
/// are left alone, since LLVM orders such sums by how long they are.
void shareCode(llvm::ArrayRef<mlir::ModuleOp> modules);

} // namespace zc

#endif // ZC_PASSES_CODEGEN_SHARECODE_H
