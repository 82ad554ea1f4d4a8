#include "runtime/Device/Cpu/CpuDevice.h"
#include "test/unit/runtime/Device/DeviceChecks.h"

#include <gtest/gtest.h>

namespace zc {
namespace {

class CpuConformance : public ::testing::TestWithParam<test::DeviceCheck> {};
INSTANTIATE_TEST_SUITE_P(Devices, CpuConformance,
                         ::testing::ValuesIn(test::kDeviceChecks),
                         [](const auto &info) { return info.param.name; });

TEST_P(CpuConformance, Conforms) {
  Status status;
  auto device = cpu::createCpuDevice({}, &status);
  ASSERT_NE(device, nullptr) << status.message();
  status = GetParam().run(*device);
  EXPECT_TRUE(status.ok()) << status.message();
}

} // namespace
} // namespace zc
