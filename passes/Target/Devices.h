//===- Devices.h - the kinds of devices that zc compiles for ----*- C++ -*-===//
//
// The table of devices, by the names that `--target` and
// `#sched.target<device>` have for them: one row each, which may be asked
// before there is a module. A further device is a further row, a Target and its
// name in dialects/Sched.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_TARGET_DEVICES_H
#define ZC_PASSES_TARGET_DEVICES_H

#include "dialects/Sched/TargetAttr.h"
#include "passes/Target/Libraries.h"

#include <memory>

namespace zc {

class Target;
struct TargetServices;

struct DeviceKind {
  llvm::StringLiteral name;

  /// Kernels run on the host's own threads and in its memory; else one thread
  /// of the host feeds a device that has a memory of its own.
  bool isHost;

  /// Blocks of threads, with memory of their own, run a kernel, many at once;
  /// else each of a few threads walks over rows. The passes that run depend on
  /// it.
  bool runsThreadBlocks;

  /// There are kernels that store tensors without their zeros.
  bool storesSparse;

  /// The library calls of one op, as `--libraries` names them.
  llvm::ArrayRef<LibraryName> (*libraries)();

  /// Bytes of gradients that are reduced together, by default. Those are copied
  /// twice, which pays up to about where the copies take as long as a message's
  /// latency.
  int64_t bucketBytes;

  /// Whether a text names one kind of these devices (`--target cuda:sm_90`);
  /// null: the name alone is all that is said of them.
  bool (*isArch)(llvm::StringRef text);

  /// The cluster file of the machine that such devices usually are in, for
  /// compilations without `--cluster`.
  llvm::StringLiteral usualMachine;

  std::unique_ptr<Target> (*makeTarget)(sched::TargetAttr,
                                        const TargetServices &);
};

/// Every kind of device, the default first.
llvm::ArrayRef<DeviceKind> getDeviceKinds();

/// The device of that name, or null.
const DeviceKind *findDeviceKind(llvm::StringRef name);

/// The device of a name that #sched.target accepts.
const DeviceKind &getDeviceKind(llvm::StringRef name);

/// Whether the kernels of a device of that name run in blocks of threads.
bool runsThreadBlocks(llvm::StringRef device);

} // namespace zc

#endif // ZC_PASSES_TARGET_DEVICES_H
