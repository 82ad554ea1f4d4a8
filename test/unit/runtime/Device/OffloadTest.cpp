#include "runtime/Device/Cpu/CpuDevice.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <numeric>
#include <sys/resource.h>

namespace zc {
namespace {

TEST(Offload, CopiesToAFileAndBack) {
  auto device = cpu::createCpuDevice({});
  std::string folder = ::testing::TempDir();
  auto far = Region::allocateOffloaded(*device, 3 * 4096, folder);
  ASSERT_TRUE(far.ok()) << far.status().message();
  auto near = Region::allocate(*device, 4096);
  ASSERT_TRUE(near.ok());
  std::vector<char> numbers(4096), back(4096, 1);
  // Bytes that were not written are zero.
  ASSERT_TRUE(device->copyOut(back.data(), far->base(), 4096, 0).ok());
  EXPECT_EQ(back, numbers);
  std::iota(numbers.begin(), numbers.end(), char(1));
  ASSERT_TRUE(device->copyIn(near->base(), numbers.data(), 4096, 0).ok());
  for (CopyLaunch copy : {CopyLaunch{near->base(), far->base() + 5000, 4096},
                          CopyLaunch{far->base() + 5000, near->base(), 4096}}) {
    auto ready = device->prepare(copy);
    ASSERT_TRUE(ready.ok());
    ASSERT_TRUE(device->launch(**ready, 2).ok());
    ASSERT_TRUE(device->copyOut(back.data(), near->base(), 4096, 0).ok());
    EXPECT_EQ(back, numbers);
    std::fill_n(near->base(), 4096, 0); // only the file has them
  }
  ASSERT_TRUE(device->copyOut(back.data(), far->base() + 5000, 4096, 0).ok());
  EXPECT_EQ(back, numbers);
}

TEST(Offload, LeavesNothingBehindAndTellsOfAFullDisk) {
  auto device = cpu::createCpuDevice({});
  std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "zc-offload-test";
  std::filesystem::create_directory(folder);
  {
    auto region = Region::allocateOffloaded(*device, 8192, folder);
    ASSERT_TRUE(region.ok());
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
  struct rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit small = before;
  small.rlim_cur = 4096;
  ::setrlimit(RLIMIT_FSIZE, &small);
  auto refused = Region::allocateOffloaded(*device, 8192, folder);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("cannot offload 8192 bytes"),
            std::string::npos);
  EXPECT_NE(refused.status().message().find("--offload-dir"),
            std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove(folder);
}

} // namespace
} // namespace zc
