//===- Passes.h - what ranks send one another -------------------*- C++ -*-===//
#ifndef ZC_PASSES_COLLECTIVES_PASSES_H
#define ZC_PASSES_COLLECTIVES_PASSES_H

#include "dialects/Dist/DistDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace zc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Collectives/Passes.h.inc"

} // namespace zc

#endif // ZC_PASSES_COLLECTIVES_PASSES_H
