// The duties of every device: CpuConformanceTest.cpp runs these
// checks on the CPU, CudaConformanceTest.cpp on the fake of a GPU. A new device
// registers by a file of a few lines.
#ifndef ZC_TEST_UNIT_RUNTIME_DEVICE_DEVICECHECKS_H
#define ZC_TEST_UNIT_RUNTIME_DEVICE_DEVICECHECKS_H

#include "runtime/Device/Device.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace zc::test {

inline Status broken(const std::string &what) {
  return Status(StatusCode::Internal, what);
}

/// Prepares, launches on `stream` and waits.
inline Status runOn(Device &device, const Launch &launch, StreamId stream = 0) {
  ZC_ASSIGN_OR_RETURN(auto ready, device.prepare(launch));
  ZC_RETURN_IF_ERROR(device.launch(*ready, stream));
  return device.synchronize(stream);
}

inline std::vector<char> countUp(size_t bytes) {
  std::vector<char> numbers(bytes);
  std::iota(numbers.begin(), numbers.end(), char(1));
  return numbers;
}

inline Status memoryIsZeroedAndAligned(Device &device) {
  for (uint64_t bytes : {1, 64, 70001}) {
    ZC_ASSIGN_OR_RETURN(Region region, Region::allocate(device, bytes));
    if (reinterpret_cast<uintptr_t>(region.base()) % 64 != 0)
      return broken("memory begins within a line of 64 bytes");
    std::vector<char> back(bytes, 1);
    ZC_RETURN_IF_ERROR(device.copyOut(back.data(), region.base(), bytes, 0));
    ZC_RETURN_IF_ERROR(device.synchronize(0));
    if (back != std::vector<char>(bytes))
      return broken("memory is not zero at first");
  }
  return Status();
}

inline Status bytesComeBack(Device &device) {
  ZC_ASSIGN_OR_RETURN(Region region, Region::allocate(device, 4096));
  const std::vector<char> numbers = countUp(1001);
  std::vector<char> back(1001);
  ZC_RETURN_IF_ERROR(device.copyIn(region.base() + 3, numbers.data(), 1001, 0));
  ZC_RETURN_IF_ERROR(device.copyOut(back.data(), region.base() + 3, 1001, 0));
  ZC_RETURN_IF_ERROR(device.synchronize(0));
  return back == numbers ? Status() : broken("bytes do not come back");
}

/// From the device to its second memory, at an odd place, and back.
inline Status secondMemoryKeepsBytes(Device &device) {
  ZC_ASSIGN_OR_RETURN(Region far,
                      Region::allocateOffloaded(device, 3 * 4096, "."));
  ZC_ASSIGN_OR_RETURN(Region near, Region::allocate(device, 8192));
  const std::vector<char> numbers = countUp(4096);
  std::vector<char> back(4096);
  ZC_RETURN_IF_ERROR(device.copyIn(near.base(), numbers.data(), 4096, 0));
  ZC_RETURN_IF_ERROR(
      runOn(device, CopyLaunch{near.base(), far.base() + 5000, 4096}));
  ZC_RETURN_IF_ERROR(
      runOn(device, CopyLaunch{far.base() + 5000, near.base() + 4096, 4096}));
  ZC_RETURN_IF_ERROR(device.copyOut(back.data(), near.base() + 4096, 4096, 0));
  ZC_RETURN_IF_ERROR(device.synchronize(0));
  return back == numbers ? Status()
                         : broken("offloaded bytes do not come back");
}

/// c [2, 3] = a [2, 4] b [4, 3] of small integers, or c += that; `transposesB`:
/// b's columns follow one another in memory.
inline Status multiply(Device &device, bool accumulates, bool transposesB) {
  constexpr int64_t kM = 2, kK = 4, kN = 3;
  float a[kM * kK], b[kK * kN], c[kM * kN], expected[kM * kN];
  for (int i = 0; i < kM * kK; ++i)
    a[i] = float(i - 3);
  for (int i = 0; i < kK * kN; ++i)
    b[i] = float(i % 5 - 2);
  auto at = [&](int64_t k, int64_t n) {
    return b[transposesB ? n * kK + k : k * kN + n];
  };
  for (int64_t m = 0; m < kM; ++m)
    for (int64_t n = 0; n < kN; ++n) {
      c[m * kN + n] = float(10 * m + n);
      expected[m * kN + n] = accumulates ? c[m * kN + n] : 0;
      for (int64_t k = 0; k < kK; ++k)
        expected[m * kN + n] += a[m * kK + k] * at(k, n);
    }
  constexpr uint64_t kWorkspace = 1 << 20;
  ZC_ASSIGN_OR_RETURN(Region memory, Region::allocate(device, 1024));
  ZC_ASSIGN_OR_RETURN(Region workspace, Region::allocate(device, kWorkspace));
  char *base = memory.base();
  kernels::MatmulLaunch launch = {};
  constexpr auto kType = kernels::ElementType::F32;
  launch.spec.a = {kType, {kM, kK}, {kK, 1}};
  launch.spec.b = {kType, {kK, kN}, {kN, 1}};
  if (transposesB)
    launch.spec.b.strides = {1, kK};
  launch.spec.c = {kType, {kM, kN}, {kN, 1}};
  launch.spec.accumulate = accumulates;
  launch.a = base;
  launch.b = base + 256;
  launch.c = base + 512;
  launch.workspace = workspace.base();
  launch.workspaceBytes = kWorkspace;
  // First, since libraries may run their algorithms on the buffers to time
  // them.
  ZC_ASSIGN_OR_RETURN(auto ready, device.prepare(launch));
  ZC_RETURN_IF_ERROR(device.copyIn(base, a, sizeof(a), 0));
  ZC_RETURN_IF_ERROR(device.copyIn(base + 256, b, sizeof(b), 0));
  ZC_RETURN_IF_ERROR(device.copyIn(base + 512, c, sizeof(c), 0));
  ZC_RETURN_IF_ERROR(device.launch(*ready, 0));
  ZC_RETURN_IF_ERROR(device.copyOut(c, base + 512, sizeof(c), 0));
  ZC_RETURN_IF_ERROR(device.synchronize(0));
  for (int i = 0; i < kM * kN; ++i)
    if (c[i] != expected[i])
      return makeError(StatusCode::Internal, "a product is ", c[i],
                       ", expected ", expected[i]);
  return Status();
}

inline Status multipliesMatrices(Device &device) {
  for (bool accumulates : {false, true})
    for (bool transposesB : {false, true})
      ZC_RETURN_IF_ERROR(multiply(device, accumulates, transposesB));
  return Status();
}

/// Work behind wait() begins once all before record() is done.
inline Status eventsOrderStreams(Device &device) {
  ZC_ASSIGN_OR_RETURN(Region memory, Region::allocate(device, 3 * 4096));
  ZC_ASSIGN_OR_RETURN(EventId event, device.createEvent());
  char *base = memory.base();
  const std::vector<char> numbers = countUp(4096);
  std::vector<char> back(4096);
  ZC_RETURN_IF_ERROR(device.copyIn(base, numbers.data(), 4096, 0));
  ZC_ASSIGN_OR_RETURN(auto first,
                      device.prepare(CopyLaunch{base, base + 4096, 4096}));
  ZC_ASSIGN_OR_RETURN(
      auto second, device.prepare(CopyLaunch{base + 4096, base + 8192, 4096}));
  ZC_RETURN_IF_ERROR(device.launch(*first, 0));
  ZC_RETURN_IF_ERROR(device.record(event, 0));
  ZC_RETURN_IF_ERROR(device.wait(event, 1));
  ZC_RETURN_IF_ERROR(device.launch(*second, 1));
  ZC_RETURN_IF_ERROR(device.synchronize(1));
  ZC_RETURN_IF_ERROR(device.copyOut(back.data(), base + 8192, 4096, 1));
  ZC_RETURN_IF_ERROR(device.synchronize(1));
  if (back != numbers)
    return broken("a stream did not wait for an event");
  ZC_RETURN_IF_ERROR(device.synchronize(0));
  ZC_ASSIGN_OR_RETURN(bool isIdle, device.isIdle(0));
  return isIdle ? Status() : broken("a stream is busy behind synchronize()");
}

/// A failure that names `word`, or what is wrong instead.
inline Status expectNamed(const Status &found, const std::string &word) {
  if (found.ok())
    return broken("'" + word + "' is accepted");
  return found.message().find(word) != std::string::npos
             ? Status()
             : broken("'" + found.message() + "' does not name " + word);
}

inline Status namesAMissingFeature(Device &device) {
  ZC_RETURN_IF_ERROR(device.checkFeatures({}));
  return expectNamed(device.checkFeatures({"nonesuch9"}), "nonesuch9");
}

inline Status refusesAKernelWithoutCode(Device &device) {
  KernelLaunch launch = {};
  launch.symbol = "zc_nonesuch";
  launch.grid = 1;
  return device.prepare(launch).ok() ? broken("a kernel without code is taken")
                                     : Status();
}

inline Status describesItself(Device &device) {
  return device.description().empty() || device.compileAdvice().empty()
             ? broken("a device without a name")
             : Status();
}

struct DeviceCheck {
  const char *name;
  Status (*run)(Device &);
};

inline constexpr DeviceCheck kDeviceChecks[] = {
    {"MemoryIsZeroedAndAligned", memoryIsZeroedAndAligned},
    {"BytesComeBack", bytesComeBack},
    {"SecondMemoryKeepsBytes", secondMemoryKeepsBytes},
    {"MultipliesMatrices", multipliesMatrices},
    {"EventsOrderStreams", eventsOrderStreams},
    {"NamesAMissingFeature", namesAMissingFeature},
    {"RefusesAKernelWithoutCode", refusesAKernelWithoutCode},
    {"DescribesItself", describesItself},
};

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_DEVICE_DEVICECHECKS_H
