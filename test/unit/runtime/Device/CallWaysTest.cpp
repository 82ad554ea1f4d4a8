// The ways of calls, through the device's interface.
#include "runtime/Device/Cpu/CpuDevice.h"

#include <gtest/gtest.h>

namespace zc {
namespace {

using kernels::ElementType;

struct Product {
  std::vector<float> a, b, c;
  std::vector<char> workspace;
  kernels::MatmulLaunch launch;

  /// c [64, 96] of a [64, 128] and b [128, 96].
  Product() : a(64 * 128, 0.5f), b(128 * 96, 0.25f), c(64 * 96), launch{} {
    launch.spec.a = {ElementType::F32, {64, 128}, {128, 1}};
    launch.spec.b = {ElementType::F32, {128, 96}, {96, 1}};
    launch.spec.c = {ElementType::F32, {64, 96}, {96, 1}};
    workspace.resize(kernels::MatmulCall::cpuWorkspace(launch.spec, 2) + 64);
    launch.a = a.data();
    launch.b = b.data();
    launch.c = c.data();
    auto place = reinterpret_cast<uintptr_t>(workspace.data());
    launch.workspace = reinterpret_cast<void *>((place + 63) / 64 * 64);
    launch.workspaceBytes = workspace.size() - 64;
  }
};

class CallWays : public ::testing::Test {
protected:
  void SetUp() override {
    DeviceOptions options;
    options.threads = 2;
    device = cpu::createCpuDevice(options);
    ASSERT_TRUE(device);
    key = device->keyOfWays(product.launch);
    if (key.empty())
      GTEST_SKIP() << "this processor has no tiles for products";
  }

  std::string wayWith(const ChosenWays &ways) {
    device->setWays(ways);
    auto made = device->prepare(product.launch);
    EXPECT_TRUE(made.ok()) << made.status().message();
    product.c.assign(product.c.size(), 0);
    EXPECT_TRUE(device->launch(**made, 0).ok());
    for (float each : product.c)
      EXPECT_EQ(each, 128 * 0.125f);
    return (*made)->way().words;
  }

  Product product;
  std::unique_ptr<Device> device;
  std::string key;
};

TEST_F(CallWays, ChoicesAreFollowed) {
  EXPECT_EQ(wayWith({{key, "library"}}), "library, measured");
  EXPECT_EQ(wayWith({{key, "tiles"}}), "tiles, measured");
  const std::string byRule = wayWith({});
  EXPECT_NE(byRule.find(" by rule"), std::string::npos) << byRule;
  // Other keys, ways of later versions, and ways that are not open here.
  EXPECT_EQ(wayWith({{key + "0", "library"}}), byRule);
  EXPECT_EQ(wayWith({{key, "a later one"}}), byRule);
  EXPECT_EQ(wayWith({{key, "library-product"}}), byRule);
  EXPECT_EQ(wayWith({{key, "rule"}}), byRule);
}

TEST_F(CallWays, KeysTellCallsApart) {
  Product other;
  EXPECT_EQ(device->keyOfWays(other.launch), key); // whatever the addresses
  other.launch.spec.accumulate = true;
  EXPECT_NE(device->keyOfWays(other.launch), key);
  other = Product();
  other.launch.spec.b.strides = {1, 128};
  EXPECT_NE(device->keyOfWays(other.launch), key);
  other = Product();
  other.launch.workspaceBytes /= 2;
  EXPECT_NE(device->keyOfWays(other.launch), key);
  DeviceOptions alone;
  EXPECT_NE(cpu::createCpuDevice(alone)->keyOfWays(product.launch), key);
  EXPECT_EQ(device->keyOfWays(CopyLaunch{}), "");
}

TEST_F(CallWays, TheQuickestIsOneOfThoseMeasured) {
  auto measured = device->measureWays(product.launch, 0.01);
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  ASSERT_GE(measured->seconds.size(), 1u);
  bool isAmong = false;
  for (const auto &[way, seconds] : measured->seconds) {
    EXPECT_GT(seconds, 0) << way;
    isAmong |= way == measured->quickest;
  }
  EXPECT_TRUE(isAmong) << measured->quickest;
}

TEST_F(CallWays, WhatDoesNotFitIsNotMeasured) {
  product.launch.workspaceBytes = 64;
  auto measured = device->measureWays(product.launch, 0.01);
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  for (const auto &[way, seconds] : measured->seconds)
    EXPECT_NE(way, "tiles");
}

} // namespace
} // namespace zc
