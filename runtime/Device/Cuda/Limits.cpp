#include "runtime/Device/Cuda/Limits.h"
#include "runtime/Device/Cuda/Stopwatch.h"

#include <algorithm>

namespace zc::cuda {
namespace {

/// More than caches hold, of either side.
constexpr uint64_t kBytes = 128u << 20;
constexpr int kRuns = 5;

/// Two pieces of memory, for as long as it takes.
class CopyBench {
public:
  CopyBench(const Driver &driver, CUstream stream)
      : driver(driver), stream(stream) {}
  ~CopyBench() {
    for (CUdeviceptr memory : {from, to})
      if (memory)
        driver.cuMemFree(memory);
  }
  CopyBench(const CopyBench &) = delete;

  /// False where the memory is taken.
  Result<bool> open() {
    for (CUdeviceptr *memory : {&from, &to}) {
      CUresult result = driver.cuMemAlloc(memory, kBytes);
      if (result == CUDA_ERROR_OUT_OF_MEMORY)
        return false;
      ZC_RETURN_IF_ERROR(driver.check(result, "cuMemAlloc"));
    }
    ZC_ASSIGN_OR_RETURN(watch, Stopwatch::open(driver, stream));
    return true;
  }

  Result<double> seconds() {
    auto copy = [&](CUstream on) {
      ZC_CUDA_CALL(driver, cuMemcpyDtoDAsync, to, from, kBytes, on);
      return Status();
    };
    ZC_ASSIGN_OR_RETURN(float milliseconds, watch->timeRuns(1, copy));
    return std::max(double(milliseconds), 1e-3) / 1e3;
  }

private:
  const Driver &driver;
  CUstream stream;
  CUdeviceptr from = 0, to = 0;
  std::unique_ptr<Stopwatch> watch;
};

} // namespace

Result<DeviceLimits> measureLimits(const Driver &driver, CUstream stream) {
  CopyBench bench(driver, stream);
  ZC_ASSIGN_OR_RETURN(bool hasMemory, bench.open());
  DeviceLimits limits;
  if (!hasMemory)
    return limits;
  double best = 1e9;
  for (int i = 0; i < kRuns; ++i) {
    ZC_ASSIGN_OR_RETURN(double seconds, bench.seconds());
    best = std::min(best, seconds);
  }
  limits.bytesPerSecond = 2.0 * kBytes / best;
  limits.flopsPerSecond = 1; // raised by the run's own products
  return limits;
}

} // namespace zc::cuda
