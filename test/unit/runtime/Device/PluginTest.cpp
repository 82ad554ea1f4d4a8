#include "runtime/Device/Plugin.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

namespace zc {
namespace {

using namespace test;

/// openDevice's message with plugins looked for in `folder`; "" if it opens.
std::string messageIn(const std::string &folder, const std::string &kind) {
  ::setenv("ZC_PLUGIN_PATH", folder.c_str(), 1);
  auto device = openDevice(kind, {});
  ::unsetenv("ZC_PLUGIN_PATH");
  return device.ok() ? "" : device.status().message();
}

Result<std::unique_ptr<Device>> openCpu() {
  ::setenv("ZC_PLUGIN_PATH", ZC_PLUGIN_FOLDER, 1);
  DeviceOptions options;
  options.threads = 2;
  auto device = openDevice("cpu", options);
  ::unsetenv("ZC_PLUGIN_PATH");
  return device;
}

TEST(Plugin, OpensADeviceThatWorks) {
  auto device = openCpu();
  ASSERT_TRUE(device.ok()) << device.status().message();
  EXPECT_EQ((*device)->description(), "cpu, 2 threads");
  auto region = Region::allocate(**device, 100);
  ASSERT_TRUE(region.ok());
  EXPECT_EQ(region->base()[99], 0);
}

// Gradients that vanish would slow some processors down many times over. The
// calling program's own arithmetic stays as it was.
TEST(Plugin, TinyProductsAreZeros) {
  auto device = openCpu();
  ASSERT_TRUE(device.ok()) << device.status().message();
  kernels::StridedTensor row{kernels::ElementType::F32, {1, 1}, {1, 1}};
  volatile float a = 1e-20f, b = 1e-20f, c = 1;
  kernels::MatmulLaunch launch = {};
  launch.spec = {row, row, row, false};
  launch.a = const_cast<float *>(&a);
  launch.b = const_cast<float *>(&b);
  launch.c = const_cast<float *>(&c);
  auto region = Region::allocate(**device, 1 << 16);
  ASSERT_TRUE(region.ok());
  launch.workspace = region->base();
  launch.workspaceBytes = 1 << 16;
  auto prepared = (*device)->prepare(launch);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  ASSERT_TRUE((*device)->launch(**prepared, 0).ok());
  EXPECT_EQ(c, 0);
  EXPECT_GT(a * b, 0) << "the caller's mode has changed";
}

TEST(Plugin, SaysWhereItLookedForAMissingOne) {
  TemporaryFolder folder;
  std::string message = messageIn(folder.path(), "cpu");
  EXPECT_NE(message.find(folder.path("libzc_cpu.so")), std::string::npos)
      << message;
  EXPECT_NE(message.find("ZC_PLUGIN_PATH"), std::string::npos) << message;
}

TEST(Plugin, KindsNeverLeadElsewhere) {
  for (const char *kind : {"", "../cpu", "cpu/", "CPU", "cpu.so"})
    EXPECT_NE(messageIn(ZC_PLUGIN_FOLDER, kind).find("there is no device"),
              std::string::npos)
        << kind;
}

TEST(Plugin, LibrariesOfOthersAreRefused) {
  TemporaryFolder folder;
  std::filesystem::copy_file(tinyKernelsPath(), folder.path("libzc_tiny.so"));
  EXPECT_NE(messageIn(folder.path(), "tiny").find("another build of zc"),
            std::string::npos);
  writeWhole(folder.path("libzc_text.so"), "no library");
  EXPECT_NE(messageIn(folder.path(), "text").find("cannot open the plugin"),
            std::string::npos);
}

} // namespace
} // namespace zc
