//===- Passes.h - an order, then buffers ------------------------*- C++ -*-===//
#ifndef ZC_PASSES_SCHEDULING_PASSES_H
#define ZC_PASSES_SCHEDULING_PASSES_H

#include "dialects/Sched/SchedDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace zc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Scheduling/Passes.h.inc"

/// On a sched.program: the program that it is what ranks of one role run of.
inline constexpr llvm::StringLiteral kRoleOfAttr = "sched.role_of";

/// On a module: states stay on the device as --zc-keep-busy-states says.
inline constexpr llvm::StringLiteral kKeepsBusyAttr = "memory.keeps_busy";

} // namespace zc

#endif // ZC_PASSES_SCHEDULING_PASSES_H
