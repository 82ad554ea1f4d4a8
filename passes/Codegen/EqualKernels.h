//===- EqualKernels.h - one code for kernels that differ little -*- C++ -*-===//
//
// A network of many sizes has many kernels whose code is the same but for where
// a part of an input begins, or for how many elements there are. They share a
// function; entry points say the rest.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_CODEGEN_EQUALKERNELS_H
#define ZC_PASSES_CODEGEN_EQUALKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace zc {

/// On a kernel's function: the order in which it takes the caller's buffers
/// (array<i32>), the numbers a caller must agree with (array<i64>), and how
/// many bytes later than the caller's each begins (array<i64>; without: none).
inline constexpr llvm::StringLiteral kBuffersAttr = "sched.buffers";
inline constexpr llvm::StringLiteral kSignatureAttr = "sched.signature";
inline constexpr llvm::StringLiteral kShiftsAttr = "sched.shifts";
/// On a function: other kernels that it computes, dictionaries of `name` and
/// the attributes above.
inline constexpr llvm::StringLiteral kAliasesAttr = "sched.aliases";

/// Where an input is only read as parts that begin at one place, lets the body
/// read it from there on; returns the bytes before it, an input each.
llvm::SmallVector<int64_t> takeOffsets(mlir::Block &body,
                                       llvm::ArrayRef<int64_t> shared);

/// Whether the body computes vectors of one length, each element of those at
/// its own place and of single numbers: a loop that suits any length.
bool isFlat(mlir::Block &body);

/// The name of a kernel's function and the attributes above, as an alias has
/// them.
mlir::DictionaryAttr describeKernel(mlir::FunctionOpInterface function);

/// Functions, equal ones once.
class FunctionTable {
public:
  /// Erases `function` where an equal one is known, which then stands for it.
  void add(mlir::func::FuncOp function);

  int64_t size() const { return static_cast<int64_t>(byHash.size()); }

private:
  std::multimap<size_t, mlir::func::FuncOp> byHash;
};

/// Keeps one of several equal functions in these modules: in the first module
/// that has one.
void shareFunctions(llvm::ArrayRef<mlir::ModuleOp> modules);

} // namespace zc

#endif // ZC_PASSES_CODEGEN_EQUALKERNELS_H
