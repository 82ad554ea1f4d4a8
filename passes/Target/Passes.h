//===- Passes.h - what programs are compiled for ----------------*- C++ -*-===//
#ifndef ZC_PASSES_TARGET_PASSES_H
#define ZC_PASSES_TARGET_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace zc {

#define GEN_PASS_DECL
#include "passes/Target/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Target/Passes.h.inc"

} // namespace zc

#endif // ZC_PASSES_TARGET_PASSES_H
