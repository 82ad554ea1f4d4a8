//===- Target.h - the machine that programs are compiled for ----*- C++ -*-===//
//
// The one place that knows how devices differ: which library computes an op,
// how much memory that takes, how kernels run, how fast the machine is. Passes
// ask; none compares the names of devices. A target is made of a module's
// `sched.target`, so that all that changes an artifact stands in the IR.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_TARGET_TARGET_H
#define ZC_PASSES_TARGET_TARGET_H

#include "dialects/Sched/TargetAttr.h"
#include "passes/Target/Libraries.h"
#include "passes/Target/MachineRates.h"

#include <functional>

namespace zc {

/// Bytes of scratch memory that a device's libraries need at most for an op on
/// `threads` threads. Libraries are known outside of passes/.
using WorkspaceBound =
    std::function<uint64_t(mlir::Operation *op, int64_t threads)>;

/// Bounds of each device; without one they are 0.
struct WorkspaceBounds {
  WorkspaceBound cpu, cuda;
};

class Target {
public:
  virtual ~Target() = default;

  /// The library call for an op, or an empty string: generated code computes
  /// it. One that `--libraries` leaves out is none.
  virtual llvm::StringRef libraryFor(mlir::Operation *op) const = 0;

  /// Whether an op with operands of 16 bits is to be computed in float32, with
  /// conversions around it.
  virtual bool needsFloat32(mlir::Operation *op) const = 0;

  /// Whether a convolution may be computed by Winograd's way, which rounds in
  /// another order.
  virtual bool allowsWinograd(mlir::Operation *) const { return false; }

  /// Whether a library normalises such images, of train.batch_norm_training
  /// and its gradient, together with the ReLU behind them.
  virtual bool fusesNorm(mlir::Operation *) const { return false; }

  /// Whether a product's library also computes what follows the product.
  virtual bool fusesEpilogues() const { return false; }

  /// Whether it also adds up a product's, or a factor's, columns there.
  virtual bool fusesSums() const { return false; }

  /// Whether a ReLU leaves a bit per element for its gradient, which the
  /// library then takes to be 1 at exactly 0.
  virtual bool takesReluBits() const { return false; }

  /// See below.
  bool runsThreadBlocks() const;

  /// Whether the host goes on while a program runs, so that the next batch is
  /// fed beside it (runtime/Plan/Feed.h).
  virtual bool runsBesideHost() const { return false; }

  /// Samples of a chunk of the last layer and its loss, at most.
  virtual int64_t mostChunkSamples() const = 0;

  virtual const MachineRates &rates() const = 0;

  /// Bytes of scratch memory that libraries need at most for an op.
  uint64_t workspaceBound(mlir::Operation *op) const {
    return bound ? bound(op, description.getThreads()) : 0;
  }

protected:
  Target(sched::TargetAttr description, WorkspaceBound bound);

  sched::TargetAttr description;
  Libraries libraries;

private:
  WorkspaceBound bound;
};

/// Whether blocks of threads, with memory of their own, run a kernel of a
/// device ("cpu" or "cuda"), many at once; else each of a few threads walks
/// over rows. The passes that run depend on it.
bool runsThreadBlocks(llvm::StringRef device);

/// The target of the module that `op` is or is in.
const Target &getTarget(mlir::Operation *op);

/// Makes targets known to contexts of the registry, with what their libraries
/// need.
void registerTargets(mlir::DialectRegistry &registry, WorkspaceBounds bounds);

} // namespace zc

#endif // ZC_PASSES_TARGET_TARGET_H
