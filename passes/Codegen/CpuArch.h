//===- CpuArch.h - processors that kernels are compiled for -----*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_CPUARCH_H
#define ZC_PASSES_CODEGEN_CPUARCH_H

#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/Triple.h"

#include <string>
#include <vector>

namespace zc {

/// The processor that a code object is compiled for.
struct CpuArch {
  std::string
      name; // "native", "x86-64-v3", "armv8.2-a": names the artifact's entry
  llvm::Triple triple;
  /// Every instruction-set extension that the code may use, as LLVM spells them
  /// ("avx512f", "dotprod").
  std::vector<std::string> extensions;

  /// The features that the runtime checks the processor for: the architecture
  /// ("x86-64", "aarch64"), then the extensions.
  std::vector<std::string> getFeatures() const;

  /// LLVM's processor that has nothing but what its architecture begins with.
  llvm::StringRef getPlainCpu() const;
};

/// The processor of a `--cpu-arch` name; "native" is this machine. On an
/// unknown name returns false and explains in `error`.
bool resolveCpuArch(llvm::StringRef name, CpuArch &target, std::string &error);

} // namespace zc

#endif // ZC_PASSES_CODEGEN_CPUARCH_H
