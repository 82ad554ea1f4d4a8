//===- EmitObject.h - kernels to a shared object ----------------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_EMITOBJECT_H
#define ZC_PASSES_CODEGEN_EMITOBJECT_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace zc {

/// What a code object is compiled for.
struct CpuArch {
  std::string
      name; // "native", "x86-64-v3", "znver4": names the artifact's entry
  std::string cpu; // LLVM's name of the processor
  /// Every instruction-set extension the code may use, as LLVM spells them
  /// ("avx512f"); what the runtime asks the processor for.
  std::vector<std::string> features;
};

/// The target of a `--cpu-arch` name; "native" is this machine. On an unknown
/// name returns false and explains in `error`.
bool resolveCpuArch(llvm::StringRef name, CpuArch &target, std::string &error);

/// Compiles the modules of kernels (in the LLVM dialect), of one context, for
/// `target` at -O3, side by side, and links them into a shared object, whose
/// bytes are returned. It needs nothing but libc and libm. With `llvmText` also
/// returns the optimised LLVM IR. Reports failures as diagnostics.
mlir::FailureOr<std::string>
emitSharedObject(llvm::ArrayRef<mlir::ModuleOp> kernels, const CpuArch &target,
                 std::string *llvmText = nullptr);

} // namespace zc

#endif // ZC_PASSES_CODEGEN_EMITOBJECT_H
