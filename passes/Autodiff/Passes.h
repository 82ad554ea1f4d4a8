//===- Passes.h - from a forward graph to training programs -----*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_PASSES_H
#define ZC_PASSES_AUTODIFF_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace zc {

#define GEN_PASS_DECL
#include "passes/Autodiff/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Autodiff/Passes.h.inc"

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_PASSES_H
