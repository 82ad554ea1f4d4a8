//===- Passes.h - from an ONNX model to the forward program -----*- C++ -*-===//
#ifndef ZC_PASSES_IMPORT_PASSES_H
#define ZC_PASSES_IMPORT_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace zc {

#define GEN_PASS_DECL
#include "passes/Import/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Import/Passes.h.inc"

} // namespace zc

#endif // ZC_PASSES_IMPORT_PASSES_H
