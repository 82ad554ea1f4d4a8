//===- Passes.h - an order, then buffers ------------------------*- C++ -*-===//
#ifndef ZC_PASSES_SCHEDULING_PASSES_H
#define ZC_PASSES_SCHEDULING_PASSES_H

#include "dialects/Sched/SchedDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace zc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Scheduling/Passes.h.inc"

/// On a sched.program: the program that it is what ranks of one role run of.
inline constexpr llvm::StringLiteral kRoleOfAttr = "sched.role_of";

struct SchedulingOptions {
  int64_t prefetch = 1; // gathers of states that begin ahead
};

/// From programs of fused ops to programs of instructions: both of these.
void buildSchedulingPipeline(mlir::OpPassManager &manager,
                             const SchedulingOptions &options);

/// The order of fused ops, and which collectives run beside others.
void buildOrderPipeline(mlir::OpPassManager &manager,
                        const SchedulingOptions &options);

/// From ordered programs of fused ops to programs of instructions.
void buildInstructionsPipeline(mlir::OpPassManager &manager);

} // namespace zc

#endif // ZC_PASSES_SCHEDULING_PASSES_H
