// A device on the fake of NVIDIA's driver, for tests.
#ifndef ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_CUDATEST_H
#define ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_CUDATEST_H

#include "runtime/Device/Cuda/CudaDevice.h"
#include "test/unit/runtime/Device/Cuda/FakeDriver.h"

#include <gtest/gtest.h>

namespace zc::test {

class CudaTest : public ::testing::Test {
protected:
  /// A new device, to which nothing is known; calls so far are forgotten.
  void SetUp() override {
    auto created = cuda::createCudaDevice({});
    ASSERT_TRUE(created.ok()) << created.status().message();
    device = std::move(*created);
    zcFakeCudaForget();
  }

  void run(const Launch &launch) {
    auto made = device->prepare(launch);
    ASSERT_TRUE(made.ok()) << made.status().message();
    ASSERT_TRUE(device->launch(**made, 0).ok());
    ASSERT_TRUE(device->synchronize(0).ok());
  }

  std::unique_ptr<Device> device;
};

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_CUDATEST_H
