//===- MeasurePeak.h - what a plan needs, exactly ---------------*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_MEASUREPEAK_H
#define ZC_PASSES_MEMORY_MEASUREPEAK_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Memory/EncodeKept.h"
#include "passes/Memory/MarkOffload.h"
#include "llvm/ADT/BitVector.h"

#include <string>

namespace zc {

/// Bytes of a module's regions, and how its programs offload.
struct Peak {
  int64_t persistent = 0;
  int64_t flight = 0;    // of micro-batches under way, in a role of a pipeline
  int64_t transient = 0; // of the program that needs most
  std::string program;   // its name
  int64_t staying = 0;   // persistent ones of --zc-keep-busy-states
  /// Seconds for which programs wait for copies: in a micro-batch, and at a
  /// step's end.
  double waiting = 0, waitingAtEnd = 0;

  int64_t total() const { return persistent + flight + transient; }

  /// Names the owner of the transient values, for people: `part` of a run, as
  /// in "one step", or a program that runs beside the steps.
  std::string ownerOfTransient(llvm::StringRef part) const;
};

/// The peak of a module whose programs have offsets.
Peak readPeak(mlir::ModuleOp module);

/// Runs passes on a module that is measured and thrown away, without verifying
/// the IR after each.
mlir::LogicalResult runUnverified(mlir::ModuleOp module,
                                  const mlir::OpPassManager &passes);

/// In units of 1024 bytes, rounded up, so that the printed number suffices.
std::string printBytes(int64_t bytes);

/// Runs `rest`, the passes up to offsets, on a copy of `module` whose step, if
/// it has one, keeps only `kept`, encoded as `encoding` says, and offloads what
/// `offload` says. Fails as those passes do, and where there are none.
mlir::FailureOr<Peak> measurePeak(mlir::ModuleOp module,
                                  const llvm::BitVector &kept,
                                  const OffloadChoice &offload,
                                  const EncodingChoice &encoding,
                                  const mlir::OpPassManager &rest);

} // namespace zc

#endif // ZC_PASSES_MEMORY_MEASUREPEAK_H
