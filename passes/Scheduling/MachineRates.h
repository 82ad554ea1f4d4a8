//===- MachineRates.h - what the cost model takes for granted ---*- C++ -*-===//
//
// Only ratios matter: what runs beside what, and how far ahead a copy begins.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_SCHEDULING_MACHINERATES_H
#define ZC_PASSES_SCHEDULING_MACHINERATES_H

#include "mlir/IR/Operation.h"

namespace zc {

/// On the module, a string: what runs it, as `--target` has it; none: a CPU.
inline constexpr llvm::StringLiteral kTargetAttr = "sched.target";

/// Per second, and seconds that each transfer takes besides.
struct MachineRates {
  double flops, bytes;           // kernels: computed, read and written
  double copyBytes, copySeconds; // to and from the second memory
  double linkBytes, linkSeconds; // collectives
  double launchSeconds;          // one kernel behind another; 0: nothing
};

/// Of what runs the module that `op` is, or is in.
const MachineRates &ratesOf(mlir::Operation *op);

/// Whether the module's programs run while the host goes on, so that the next
/// batch is fed beside them (runtime/Plan/Feed.h).
bool isFedAhead(mlir::Operation *op);

} // namespace zc

#endif // ZC_PASSES_SCHEDULING_MACHINERATES_H
