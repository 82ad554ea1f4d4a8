//===- Passes.h - which values exist ----------------------------*- C++ -*-===//
#ifndef ZC_PASSES_FUSION_PASSES_H
#define ZC_PASSES_FUSION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace zc {

#define GEN_PASS_DECL
#include "passes/Fusion/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Fusion/Passes.h.inc"

} // namespace zc

#endif // ZC_PASSES_FUSION_PASSES_H
