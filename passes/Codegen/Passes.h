//===- Passes.h - kernels to machine code -----------------------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_PASSES_H
#define ZC_PASSES_CODEGEN_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace zc {

#define GEN_PASS_DECL
#include "passes/Codegen/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Codegen/Passes.h.inc"

/// Name of the nested module that the kernels' functions live in; of many, the
/// first, and what the names of the others begin with.
inline constexpr llvm::StringLiteral kKernelModule = "zc.kernels";

} // namespace zc

#endif // ZC_PASSES_CODEGEN_PASSES_H
