//===- MeasurePeak.h - what a plan needs, exactly ---------------*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_MEASUREPEAK_H
#define ZC_PASSES_MEMORY_MEASUREPEAK_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/Memory/EncodeKept.h"
#include "passes/Memory/MarkOffload.h"
#include "llvm/ADT/BitVector.h"

namespace zc {

/// Bytes of the persistent and the transient region of a module.
struct Peak {
  int64_t persistent = 0;
  int64_t transient = 0; // of the program that needs most

  int64_t total() const { return persistent + transient; }
};

/// Schedules and allocates a copy of `module` whose step, if it has one, keeps
/// only `kept`, encoded as `encoding` says, and offloads what `offload` says;
/// `prefetch` as in SchedulingOptions. Fails as those phases do.
mlir::FailureOr<Peak> measurePeak(mlir::ModuleOp module,
                                  const llvm::BitVector &kept,
                                  const OffloadChoice &offload,
                                  const EncodingChoice &encoding,
                                  int64_t prefetch);

} // namespace zc

#endif // ZC_PASSES_MEMORY_MEASUREPEAK_H
