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

#include "llvm/Support/Error.h"

#include <functional>
#include <optional>

namespace zc {

/// Bytes of scratch memory that a device's libraries need at most for an op on
/// `threads` threads.
using WorkspaceBound = std::function<uint64_t(
    const DeviceKind &device, mlir::Operation *op, int64_t threads)>;

/// Seconds of a collective of the dist dialect on one machine, with no other
/// transfer beside it, by the way that is quickest of those the machine has, or
/// by the one that the module names. `devices` are those of the group, as the
/// machine numbers them.
using CollectiveTime =
    std::function<double(mlir::Operation *op, llvm::ArrayRef<int64_t> devices)>;

/// Asks for the description of a machine: a cluster by its name or file, of
/// devices of that kind ("cpu"), for so many ranks.
struct MachineRequest {
  std::string cluster, device;
  int64_t ranks = 1;
  bool allowsTf32 = false; // products of float32 may be rounded
};

/// A library call that stands for several ops: what its room is called, and its
/// name for `--libraries`.
struct JoinedCall {
  llvm::StringRef kind, library;
};

/// Answers from outside of passes/: libraries, algorithms of collectives,
/// cluster files. A test may leave parts out: without a bound it is 0, without
/// classes of work all is generated code, without a time of collectives it is
/// that of one message, and calls of several ops are none.
struct TargetServices {
  WorkspaceBound workspaceBound;
  std::function<llvm::SmallVector<JoinedCall>(const DeviceKind &)> joinedCalls;
  std::function<WorkClass(mlir::Operation *)> workOf;
  std::function<CollectiveTime(sched::MachineAttr)> collectiveTime;
  /// A machine without axes. Fails with a message. A test that asks for no
  /// rates and links needs none.
  std::function<llvm::Expected<sched::MachineAttr>(mlir::MLIRContext *,
                                                   const MachineRequest &)>
      describe;
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

  const MachineRates &rates() const {
    assert(machineRates && "no service describes machines");
    return *machineRates;
  }

  /// FLOPs a second of the class of work that an op is, on tensors or buffers.
  double flopsOf(mlir::Operation *op) const {
    return rates().flopsOf(services.workOf ? services.workOf(op) : WorkClass());
  }

  /// The links between ranks, innermost first; the last one joins all further
  /// ranks, too.
  llvm::ArrayRef<MachineLink> links() const { return machineLinks; }

  /// The link of ranks that differ along these axes of the mesh: the innermost
  /// one that joins all ranks of each such group. Neighbours along an axis may
  /// have a quicker one.
  LinkRates linkOf(llvm::ArrayRef<llvm::StringRef> axes) const;

  /// The link between two places along an axis: of all pairs of such ranks the
  /// one that is joined furthest outside.
  LinkRates linkBetween(llvm::StringRef axis, int64_t from, int64_t to) const;

  /// Seconds of a collective of the dist dialect, of local tensors, with no
  /// other transfer beside it.
  double collectiveSeconds(mlir::Operation *op) const;

  /// Bytes of scratch memory that libraries need at most for an op.
  uint64_t workspaceBound(mlir::Operation *op) const {
    return services.workspaceBound
               ? services.workspaceBound(kind, op, description.getThreads())
               : 0;
  }

protected:
  Target(sched::TargetAttr description, const TargetServices &services);

  sched::TargetAttr description;
  TargetServices services;
  Libraries libraries;

private:
  /// The devices of a group of ranks that differ along `axes`, ascending: of
  /// the groups one that the outermost links join. `places`: those in the group
  /// that count; empty: all do. `ranks`: the group's size where the machine
  /// does not know its axes.
  llvm::SmallVector<int64_t> devicesOf(llvm::ArrayRef<llvm::StringRef> axes,
                                       llvm::ArrayRef<int64_t> places = {},
                                       int64_t ranks = 1) const;

  /// The devices that take part in a collective.
  llvm::SmallVector<int64_t> devicesOf(mlir::Operation *collective) const;

  /// The link that joins devices, given in ascending order.
  const LinkRates &linkAmong(llvm::ArrayRef<int64_t> devices) const;

  const DeviceKind &kind;
  const sched::MachineAttr machine;
  const std::optional<MachineRates> machineRates; // none: there is no machine
  const llvm::SmallVector<MachineLink> machineLinks;
  const CollectiveTime collectiveTime; // of the machine; or null
};

/// The target of the module that `op` is or is in.
const Target &getTarget(mlir::Operation *op);

/// Every library call of a device ("cpu" or "cuda").
llvm::SmallVector<LibraryName> listLibraries(llvm::StringRef device,
                                             const TargetServices &services);
/// The answers that targets of a context get.
const TargetServices &getServices(mlir::MLIRContext *context);

/// The machine of a cluster for `--cluster`; fails with a message.
llvm::Expected<sched::MachineAttr>
describeMachine(mlir::MLIRContext *context, const MachineRequest &request);

/// Makes targets known to contexts of the registry.
void registerTargets(mlir::DialectRegistry &registry, TargetServices services);

} // namespace zc

#endif // ZC_PASSES_TARGET_TARGET_H
