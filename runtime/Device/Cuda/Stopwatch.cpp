#include "runtime/Device/Cuda/Stopwatch.h"

namespace zc::cuda {

Result<std::unique_ptr<Stopwatch>> Stopwatch::open(const Driver &driver,
                                                   CUstream stream) {
  std::unique_ptr<Stopwatch> watch(new Stopwatch(driver, stream));
  ZC_CUDA_CALL(driver, cuEventCreate, &watch->begin, CU_EVENT_DEFAULT);
  ZC_CUDA_CALL(driver, cuEventCreate, &watch->end, CU_EVENT_DEFAULT);
  return watch;
}

Stopwatch::~Stopwatch() {
  for (CUevent event : {begin, end})
    if (event)
      driver.cuEventDestroy(event);
}

Result<float>
Stopwatch::time(const std::function<Status(CUstream)> &enqueue) const {
  ZC_RETURN_IF_ERROR(enqueue(stream));
  return timeRuns(3, enqueue);
}

Result<float>
Stopwatch::timeRuns(int runs,
                    const std::function<Status(CUstream)> &enqueue) const {
  ZC_CUDA_CALL(driver, cuEventRecord, begin, stream);
  for (int i = 0; i < runs; ++i)
    ZC_RETURN_IF_ERROR(enqueue(stream));
  ZC_CUDA_CALL(driver, cuEventRecord, end, stream);
  ZC_CUDA_CALL(driver, cuEventSynchronize, end);
  float time = 0;
  ZC_CUDA_CALL(driver, cuEventElapsedTime, &time, begin, end);
  return time;
}

} // namespace zc::cuda
