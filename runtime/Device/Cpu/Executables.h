// The kinds of instruction, made ready for the CPU.
#ifndef ZC_RUNTIME_DEVICE_CPU_EXECUTABLES_H
#define ZC_RUNTIME_DEVICE_CPU_EXECUTABLES_H

#include "kernels/Calls/Calls.h"
#include "kernels/Cpu/Ways.h"
#include "runtime/Device/Cpu/CodeObject.h"
#include "runtime/Device/Cpu/OffloadFile.h"
#include "runtime/Device/Device.h"

namespace zc::cpu {

class CpuExecutable : public Executable {
public:
  virtual Status run() = 0;
};

using ExecutableResult = Result<std::unique_ptr<Executable>>;

/// `code` may be null when the artifact has none.
ExecutableResult makeKernel(const KernelLaunch &launch, const CodeObject *code,
                            int threads);

/// How a call with several ways is to be computed.
struct CallWay {
  kernels::Way way = kernels::Way::Rule;
  bool isMeasured = false; // else it is zc's rule
};

/// A library call; `precision` is that of products. A way that is not open
/// fails, and so does a call that CPUs have no kernel for.
ExecutableResult makeCall(const kernels::CallLaunch &launch,
                          kernels::MatmulPrecision precision,
                          const CallWay &way = {});

/// `file` is where one side lies, or null; it must outlive the executable.
ExecutableResult makeCopy(const CopyLaunch &launch, const OffloadFile *file);

} // namespace zc::cpu

#endif // ZC_RUNTIME_DEVICE_CPU_EXECUTABLES_H
