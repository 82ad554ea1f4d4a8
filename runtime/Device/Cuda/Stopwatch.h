// How long the GPU takes.
#ifndef ZC_RUNTIME_DEVICE_CUDA_STOPWATCH_H
#define ZC_RUNTIME_DEVICE_CUDA_STOPWATCH_H

#include "runtime/Device/Cuda/Driver.h"

#include <functional>
#include <memory>

namespace zc::cuda {

class Stopwatch {
public:
  static Result<std::unique_ptr<Stopwatch>> open(const Driver &driver,
                                                 CUstream stream);
  ~Stopwatch();
  Stopwatch(const Stopwatch &) = delete;

  /// Milliseconds of three runs behind one, which warms up.
  Result<float> time(const std::function<Status(CUstream)> &enqueue) const;

  /// Milliseconds of so many runs, the first of which may be cold.
  Result<float> timeRuns(int runs,
                         const std::function<Status(CUstream)> &enqueue) const;

private:
  Stopwatch(const Driver &driver, CUstream stream)
      : driver(driver), stream(stream) {}

  const Driver &driver;
  CUstream stream;
  CUevent begin = nullptr, end = nullptr;
};

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_STOPWATCH_H
