#include "runtime/Device/Cuda/CudaDevice.h"
#include "test/unit/runtime/Device/DeviceChecks.h"

#include <gtest/gtest.h>

namespace zc {
namespace {

class CudaConformance : public ::testing::TestWithParam<test::DeviceCheck> {};
INSTANTIATE_TEST_SUITE_P(Devices, CudaConformance,
                         ::testing::ValuesIn(test::kDeviceChecks),
                         [](const auto &info) { return info.param.name; });

TEST_P(CudaConformance, Conforms) {
  auto device = cuda::createCudaDevice({});
  ASSERT_TRUE(device.ok()) << device.status().message();
  Status status = GetParam().run(**device);
  EXPECT_TRUE(status.ok()) << status.message();
}

} // namespace
} // namespace zc
