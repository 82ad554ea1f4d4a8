// The kinds of instruction, made ready for the CPU.
#ifndef ZC_RUNTIME_DEVICE_CPU_EXECUTABLES_H
#define ZC_RUNTIME_DEVICE_CPU_EXECUTABLES_H

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
ExecutableResult makeMatmul(const MatmulLaunch &launch,
                            kernels::MatmulPrecision precision);
ExecutableResult makeConvolution(const ConvolutionLaunch &launch);
ExecutableResult makeAttention(const AttentionLaunch &launch);
ExecutableResult makeSparse(const SparseLaunch &launch);
ExecutableResult makeGroupedMatmul(const GroupedMatmulLaunch &launch);
/// `file` is where one side lies, or null; it must outlive the executable.
ExecutableResult makeCopy(const CopyLaunch &launch, const OffloadFile *file);

} // namespace zc::cpu

#endif // ZC_RUNTIME_DEVICE_CPU_EXECUTABLES_H
