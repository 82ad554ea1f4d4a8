//===- Passes.h - where every buffer lies -----------------------*- C++ -*-===//
#ifndef ZC_PASSES_ALLOCATION_PASSES_H
#define ZC_PASSES_ALLOCATION_PASSES_H

#include "dialects/Sched/SchedDialect.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace zc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Allocation/Passes.h.inc"

} // namespace zc

#endif // ZC_PASSES_ALLOCATION_PASSES_H
