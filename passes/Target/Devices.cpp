//===- Devices.cpp --------------------------------------------------------===//
#include "passes/Target/Devices.h"

#include "passes/Target/Cpu/CpuTarget.h"
#include "passes/Target/Cpu/LibraryPatterns.h"
#include "passes/Target/Cuda/CudaTarget.h"
#include "passes/Target/Cuda/LibraryPatterns.h"
#include "passes/Target/Target.h"

using namespace mlir;

namespace zc {

template <typename DeviceTarget>
static std::unique_ptr<Target> makeTarget(sched::TargetAttr description,
                                          const TargetServices &services) {
  return std::make_unique<DeviceTarget>(description, services);
}

ArrayRef<DeviceKind> getDeviceKinds() {
  // Measured on CPUs, GPT-2 124M on two ranks of a thread: a step takes 2.2 s
  // with buckets of 1 MiB, 2.5 with 4, 3.0 with 16, 3.1 with 64. On GPUs the
  // default is PyTorch's.
  static constexpr DeviceKind kDevices[] = {
      {sched::kCpuDevice, /*isHost=*/true, /*runsThreadBlocks=*/false,
       /*storesSparse=*/true, cpu::getLibraryNames, int64_t(1) << 20,
       /*isArch=*/nullptr, "usual-cpu", makeTarget<CpuTarget>},
      {sched::kCudaDevice, /*isHost=*/false, /*runsThreadBlocks=*/true,
       /*storesSparse=*/false, cuda::getLibraryNames, int64_t(25) << 20,
       CudaTarget::isArch, "usual-gpu", makeTarget<CudaTarget>}};
  return kDevices;
}

const DeviceKind *findDeviceKind(StringRef name) {
  const auto *found =
      llvm::find_if(getDeviceKinds(),
                    [&](const DeviceKind &each) { return each.name == name; });
  return found == getDeviceKinds().end() ? nullptr : found;
}

const DeviceKind &getDeviceKind(StringRef name) {
  if (const DeviceKind *kind = findDeviceKind(name))
    return *kind;
  // #sched.target has been verified, and so has the command line.
  llvm::report_fatal_error("no device '" + name + "'");
}

bool runsThreadBlocks(StringRef device) {
  return getDeviceKind(device).runsThreadBlocks;
}

} // namespace zc
