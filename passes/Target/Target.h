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
#include "passes/Target/Devices.h"
#include "passes/Target/Libraries.h"
#include "passes/Target/MachineRates.h"

#include <functional>

namespace zc {

/// Bytes of scratch memory that a device's libraries need at most for an op on
/// `threads` threads.
using WorkspaceBound = std::function<uint64_t(
    const DeviceKind &device, mlir::Operation *op, int64_t threads)>;

/// Seconds of a collective of the dist dialect on a described machine, with no
/// other transfer beside it, by the way that is quickest of those the machine
/// has, or by the one that the module names. `devices` are those of the group,
/// as the machine numbers them.
using CollectiveTime =
    std::function<double(sched::MachineAttr machine, mlir::Operation *op,
                         llvm::ArrayRef<int64_t> devices)>;

/// A library call that stands for several ops: what its room is called, and its
/// name for `--libraries`.
struct JoinedCall {
  llvm::StringRef kind, library;
};

/// Libraries, and algorithms of collectives, which are known outside of
/// passes/. Without a bound it is 0; without a time of collectives it is that
/// of one message; without calls of several ops there are none.
struct TargetServices {
  WorkspaceBound workspaceBound;
  CollectiveTime collectiveTime;
  std::function<llvm::SmallVector<JoinedCall>(const DeviceKind &)> joinedCalls;
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

  /// The library call of a kind that stands for several ops ("norm"), as a file
  /// of passes/Fusion/Joined matches them, or an empty string: the device has
  /// none, or `--libraries` leaves it out.
  llvm::StringRef joinedLibrary(llvm::StringRef kind) const;

  /// Whether the device has a library call of that name, and `--libraries`
  /// does not leave it out.
  bool has(llvm::StringRef library) const { return libraries.has(library); }

  const DeviceKind &device() const { return kind; }
  bool runsThreadBlocks() const { return kind.runsThreadBlocks; }

  /// Whether the host goes on while a program runs, so that the next batch is
  /// fed beside it (runtime/Plan/Feed.h).
  virtual bool runsBesideHost() const { return false; }

  /// Samples of a chunk of the last layer and its loss, at most.
  virtual int64_t mostChunkSamples() const = 0;

  virtual const MachineRates &rates() const = 0;

  /// The links between ranks, innermost first; the last one joins all further
  /// ranks, too.
  virtual llvm::ArrayRef<MachineLink> links() const = 0;

  /// The link of ranks that differ along these axes of the mesh: the innermost
  /// one that joins all ranks of each such group. Neighbours along an axis may
  /// have a quicker one.
  LinkRates linkOf(llvm::ArrayRef<llvm::StringRef> axes) const;

  /// Seconds of a collective of the dist dialect, of local tensors, with no
  /// other transfer beside it: by default those of one message, of all that a
  /// rank reads and writes.
  virtual double collectiveSeconds(mlir::Operation *op) const;

  /// Bytes of scratch memory that libraries need at most for an op.
  uint64_t workspaceBound(mlir::Operation *op) const {
    return services.workspaceBound
               ? services.workspaceBound(kind, op, description.getThreads())
               : 0;
  }

protected:
  Target(sched::TargetAttr description, const TargetServices &services);

  /// The devices of a group of ranks that differ along `axes`, ascending: of
  /// the groups one that the outermost links join. `holders`: the places in the
  /// group of those that take part; empty: all do.
  llvm::SmallVector<int64_t>
  devicesOf(llvm::ArrayRef<llvm::StringRef> axes,
            llvm::ArrayRef<int64_t> holders = {}) const;

  /// The devices that take part in a collective.
  llvm::SmallVector<int64_t> devicesOf(mlir::Operation *collective) const;

  sched::TargetAttr description;
  TargetServices services;
  Libraries libraries;

private:
  const DeviceKind &kind;
};

/// The target of the module that `op` is or is in.
const Target &getTarget(mlir::Operation *op);

/// Every library call of a device ("cpu" or "cuda").
llvm::SmallVector<LibraryName> listLibraries(llvm::StringRef device,
                                             const TargetServices &services);
/// The answers that targets of a context get.
const TargetServices &getServices(mlir::MLIRContext *context);

/// Makes targets known to contexts of the registry.
void registerTargets(mlir::DialectRegistry &registry, TargetServices services);

} // namespace zc

#endif // ZC_PASSES_TARGET_TARGET_H
