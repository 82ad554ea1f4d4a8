// The kinds of instruction, made ready for a GPU.
#ifndef ZC_RUNTIME_DEVICE_CUDA_EXECUTABLES_H
#define ZC_RUNTIME_DEVICE_CUDA_EXECUTABLES_H

#include "runtime/Device/Cuda/Driver.h"
#include "runtime/Device/Device.h"

namespace zc::cuda {

class CudaExecutable : public Executable {
public:
  /// Puts the work on `stream`, also while that is being captured.
  virtual Status enqueue(CUstream stream) = 0;
};

using ExecutableResult = Result<std::unique_ptr<Executable>>;

/// Code of an artifact on the GPU.
class Module {
public:
  /// `image`: a cubin, or PTX, which the driver compiles.
  static Result<std::unique_ptr<Module>>
  load(const Driver &driver, const CodeImage &image, CUstream stream);
  ~Module();
  Module(const Module &) = delete;

  /// The kernel that a launch names, once the launch is found to agree with
  /// what it was compiled for: teams, buffers and their sizes.
  ExecutableResult makeKernel(const KernelLaunch &launch) const;

private:
  Module(const Driver &driver, std::string name, CUmodule module,
         CUstream stream)
      : driver(driver), name(std::move(name)), module(module), stream(stream) {}
  Result<std::vector<int64_t>> readSignature(const std::string &symbol) const;

  const Driver &driver;
  std::string name;
  CUmodule module;
  CUstream stream; // signatures are read on it
};

/// `fromHost`, `toHost`: which side is pinned memory of the host.
ExecutableResult makeCopy(const Driver &driver, const CopyLaunch &launch,
                          bool fromHost, bool toHost);

/// A captured program.
ExecutableResult makeGraph(const Driver &driver, CUgraph graph);

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_EXECUTABLES_H
