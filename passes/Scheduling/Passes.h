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

/// On a module: states stay on the device as --zc-keep-busy-states says; and of
/// how many bytes that made it keep (i64), if any.
inline constexpr llvm::StringLiteral kKeepsBusyAttr = "train.keeps_busy";
inline constexpr llvm::StringLiteral kStayingAttr = "train.staying";

/// On a module: the seconds that its programs wait for copies of --zc-offload,
/// by the cost model, if any: in a micro-batch, and at the end of a step
/// (array<f64: micro-batch, end>).
inline constexpr llvm::StringLiteral kWaitingAttr = "train.waiting";

} // namespace zc

#endif // ZC_PASSES_SCHEDULING_PASSES_H
