//===- EmitObject.h - kernels to a shared object ----------------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_EMITOBJECT_H
#define ZC_PASSES_CODEGEN_EMITOBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/Codegen/CpuArch.h"

#include <string>

namespace zc {

/// Compiles the modules of kernels (in the LLVM dialect), of one context, for
/// `target` at -O3, side by side, and links them into a shared object, whose
/// bytes are returned. It needs nothing but libc and libm. With `llvmText` also
/// returns the optimised LLVM IR. Reports failures as diagnostics.
mlir::FailureOr<std::string>
emitSharedObject(llvm::ArrayRef<mlir::ModuleOp> kernels, const CpuArch &target,
                 std::string *llvmText = nullptr);

} // namespace zc

#endif // ZC_PASSES_CODEGEN_EMITOBJECT_H
