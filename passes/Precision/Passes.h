//===- Passes.h - what is stored in 16 bits ---------------------*- C++ -*-===//
#ifndef ZC_PASSES_PRECISION_PASSES_H
#define ZC_PASSES_PRECISION_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace zc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Precision/Passes.h.inc"

} // namespace zc

#endif // ZC_PASSES_PRECISION_PASSES_H
