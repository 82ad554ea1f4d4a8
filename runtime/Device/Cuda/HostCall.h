// Work of the host in the order of a GPU's streams.
#ifndef ZC_RUNTIME_DEVICE_CUDA_HOSTCALL_H
#define ZC_RUNTIME_DEVICE_CUDA_HOSTCALL_H

#include "runtime/Device/Cuda/Executables.h"

#include <mutex>

namespace zc::cuda {

/// The first failure of the host's work: the driver's thread that meets it has
/// nobody to tell.
class HostFailure {
public:
  void note(Status status) {
    std::lock_guard<std::mutex> lock(mutex);
    if (first.ok())
      first = std::move(status);
  }
  /// Tells the failure once.
  Status take() {
    std::lock_guard<std::mutex> lock(mutex);
    return std::exchange(first, Status());
  }

private:
  std::mutex mutex;
  Status first;
};

/// Launches `executable` of the device `host` on a thread of the driver, which
/// must not call the driver. All but `executable` must outlive the result.
ExecutableResult makeHostCall(const Driver &driver, Device &host,
                              std::unique_ptr<Executable> executable,
                              HostFailure &failure);

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_HOSTCALL_H
