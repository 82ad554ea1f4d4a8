// Tests the graphs of images for cuDNN with a fake that computes them in the
// library's own terms.
#include "test/unit/runtime/Device/Cuda/CudaTest.h"
#include "test/unit/runtime/Device/Cuda/FakeArray.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>

namespace zc {
namespace {

using kernels::ElementType;
using kernels::PoolingKind;

/// Images [2, 3, 5, 6], windows of 3 x 2 in steps of 2, padded by 1 and 0: to
/// [2, 3, 3, 3].
class CudaPooling : public test::CudaTest {
protected:
  static constexpr int64_t kN = 2, kC = 3, kH = 5, kW = 6, kO = 3;

  void SetUp() override {
    CudaTest::SetUp();
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(int(i * 37 % 101) - 90); // most are below 0
    launch.spec.window = {3, 2};
    launch.spec.strides = {2, 2};
    launch.spec.padsLow = launch.spec.padsHigh = {1, 0};
    launch.image = x.data();
    launch.pooled = y.data();
    describe(false);
  }
  void TearDown() override { ::unsetenv("ZC_FAKE_CUDNN_NO_PLAN"); }

  void describe(bool channelsLast) {
    auto strides = [&](int64_t h, int64_t w) {
      return channelsLast ? std::vector<int64_t>{h * w * kC, 1, w * kC, kC}
                          : std::vector<int64_t>{kC * h * w, h * w, w, 1};
    };
    launch.spec.image = {ElementType::F32, {kN, kC, kH, kW}, strides(kH, kW)};
    launch.spec.pooled = {ElementType::F32, {kN, kC, kO, kO}, strides(kO, kO)};
  }

  static size_t at(const kernels::StridedTensor &tensor, int64_t n, int64_t c,
                   int64_t h, int64_t w) {
    const std::vector<int64_t> &s = tensor.strides;
    return size_t(n * s[0] + c * s[1] + h * s[2] + w * s[3]);
  }

  /// Where the elements lie that a window has on the image.
  std::vector<size_t> elements(int64_t n, int64_t c, int64_t h, int64_t w) {
    std::vector<size_t> places;
    for (int64_t i = std::max<int64_t>(2 * h - 1, 0);
         i < std::min<int64_t>(2 * h + 2, kH); ++i)
      for (int64_t j = 2 * w; j < 2 * w + 2; ++j)
        places.push_back(at(launch.spec.image, n, c, i, j));
    return places;
  }

  float largest(int64_t n, int64_t c, int64_t h, int64_t w) {
    float result = -std::numeric_limits<float>::infinity();
    for (size_t place : elements(n, c, h, w))
      result = std::isnan(x[place]) || x[place] > result ? x[place] : result;
    return result;
  }

  float divisor(int64_t n, int64_t c, int64_t h, int64_t w) {
    return launch.spec.countIncludePad ? 6 : float(elements(n, c, h, w).size());
  }

  float average(int64_t n, int64_t c, int64_t h, int64_t w) {
    double sum = 0;
    for (size_t place : elements(n, c, h, w))
      sum += double(x[place]);
    return float(sum / double(divisor(n, c, h, w)));
  }

  void run() { CudaTest::run(launch); }

  template <typename F> static void forEachWindow(F visit) {
    for (int64_t i = 0; i < kN * kC * kO * kO; ++i)
      visit(i / (kC * kO * kO), i / (kO * kO) % kC, i / kO % kO, i % kO);
  }

  void expectResults() {
    y.fill(std::numeric_limits<float>::quiet_NaN()); // nothing is added to it
    run();
    forEachWindow([&](int64_t n, int64_t c, int64_t h, int64_t w) {
      bool isMaximum = launch.spec.kind == PoolingKind::Maximum;
      EXPECT_FLOAT_EQ(y[at(launch.spec.pooled, n, c, h, w)],
                      isMaximum ? largest(n, c, h, w) : average(n, c, h, w))
          << n << ", " << c << ", " << h << ", " << w;
    });
  }

  alignas(64) std::array<float, kN *kC *kH *kW> x = {};
  alignas(64) std::array<float, kN *kC *kO *kO> y = {};
  kernels::PoolingLaunch launch = {};
};

// Padding never wins, also where all elements are below 0.
TEST_F(CudaPooling, EitherOrderInMemory) {
  for (bool channelsLast : {false, true}) {
    describe(channelsLast);
    expectResults();
  }
  EXPECT_NE(std::string(zcFakeCudaCalls())
                .find("pool 3 1[2,3,5,6]f32@90,1,18,3 -> "
                      "2[2,3,3,3]f32@27,1,9,3"),
            std::string::npos)
      << zcFakeCudaCalls();
}

TEST_F(CudaPooling, Averages) {
  launch.spec.kind = PoolingKind::Average;
  for (bool channelsLast : {false, true})
    for (bool countIncludePad : {false, true}) {
      describe(channelsLast);
      launch.spec.countIncludePad = countIncludePad;
      expectResults();
    }
}

TEST_F(CudaPooling, GradientsOfAverages) {
  launch.spec.kind = PoolingKind::AverageGradient;
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = float(int(i * 29 % 53) - 20);
  for (bool channelsLast : {false, true})
    for (bool countIncludePad : {false, true}) {
      describe(channelsLast);
      launch.spec.countIncludePad = countIncludePad;
      std::array<double, kN *kC *kH *kW> expected = {};
      forEachWindow([&](int64_t n, int64_t c, int64_t h, int64_t w) {
        for (size_t place : elements(n, c, h, w))
          expected[place] += double(y[at(launch.spec.pooled, n, c, h, w)]) /
                             double(divisor(n, c, h, w));
      });
      x.fill(std::numeric_limits<float>::quiet_NaN());
      run();
      for (size_t i = 0; i < x.size(); ++i)
        EXPECT_FLOAT_EQ(x[i], float(expected[i])) << i;
    }
  EXPECT_NE(std::string(zcFakeCudaCalls()).find("pool's gradient 2 "),
            std::string::npos)
      << zcFakeCudaCalls();
}

TEST_F(CudaPooling, NotANumberIsTheLargest) {
  x[at(launch.spec.image, 1, 2, 3, 4)] =
      std::numeric_limits<float>::quiet_NaN();
  run();
  EXPECT_TRUE(std::isnan(y[at(launch.spec.pooled, 1, 2, 1, 2)]));
  EXPECT_FALSE(std::isnan(y[at(launch.spec.pooled, 1, 2, 0, 0)]));
}

TEST_F(CudaPooling, SixteenBits) {
  using test::BFloat16;
  std::array<BFloat16, kN * kC * kH * kW> narrow;
  std::array<BFloat16, kN * kC * kO * kO> results;
  for (size_t i = 0; i < x.size(); ++i)
    narrow[i] = BFloat16(x[i]); // whole numbers up to 101 are exact
  launch.spec.image.type = launch.spec.pooled.type = ElementType::BF16;
  launch.image = narrow.data();
  launch.pooled = results.data();
  run();
  EXPECT_EQ(float(results[at(launch.spec.pooled, 1, 1, 2, 2)]),
            largest(1, 1, 2, 2));
}

TEST_F(CudaPooling, WhatTheLibraryLacksIsAMessage) {
  ::setenv("ZC_FAKE_CUDNN_NO_PLAN", "1", 1);
  auto made = device->prepare(launch);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), StatusCode::Unsupported);
  EXPECT_EQ(
      made.status().message(),
      "cuDNN 9.19.0 does not compute the largest of windows [3, 2] in float32, "
      "images [2, 3, 5, 6]: none of cuDNN's 0 engines has a plan; "
      "generated kernels do if the model is compiled with "
      "--libraries=-cudnn.pooling");
}

TEST_F(CudaPooling, NoMemoryForTheLibraryIsAMessage) {
  ::setenv("ZC_FAKE_CUDNN_CREATE", "4004", 1);
  auto made = device->prepare(launch);
  ::unsetenv("ZC_FAKE_CUDNN_CREATE");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), StatusCode::ResourceExhausted);
  std::string message = made.status().message();
  EXPECT_EQ(message.find("cudnnCreate: "), 0u) << message;
  EXPECT_NE(message.find("; beside the plan's memory Fake GPU has "),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("compile with a smaller batch"), std::string::npos)
      << message;
}

/// A convolution of [1, 2, 3, 3] with four filters of one tap.
class CudaConvolution : public test::CudaTest {
protected:
  void SetUp() override {
    CudaTest::SetUp();
    launch.spec.strides = launch.spec.dilations = {1, 1};
    launch.spec.padsLow = launch.spec.padsHigh = {0, 0};
    launch.source = memory.data();
    launch.filter = memory.data() + 32;
    launch.destination = memory.data() + 64;
    launch.workspace = workspace.data();
    launch.workspaceBytes = workspace.size();
  }
  void TearDown() override { ::unsetenv("ZC_FAKE_CUDNN_NOTE"); }

  std::string engineOf(ElementType type) {
    launch.spec.source = {type, {1, 2, 3, 3}, {18, 1, 6, 2}};
    launch.spec.filter = {type, {4, 2, 1, 1}, {2, 1, 1, 1}};
    launch.spec.destination = {type, {1, 4, 3, 3}, {36, 1, 12, 4}};
    auto made = device->prepare(launch);
    EXPECT_TRUE(made.ok()) << made.status().message();
    std::string calls = zcFakeCudaCalls();
    size_t at = calls.find("cudnnBackendExecute ");
    zcFakeCudaForget();
    return at == std::string::npos ? "" : calls.substr(at + 20, 8);
  }

  alignas(64) std::array<float, 128> memory = {};
  alignas(256) std::array<char, 8192> workspace = {};
  kernels::ConvolutionLaunch launch = {};
};

// The fake's engine 0 multiplies on tensor cores, 1 needs too much memory, the
// sums of 2 are in no fixed order.
TEST_F(CudaConvolution, ProductsOfFloat32AreExactUnlessAskedOtherwise) {
  EXPECT_EQ(engineOf(ElementType::F32), "engine 3");
  EXPECT_EQ(engineOf(ElementType::BF16), "engine 0");
  DeviceOptions options;
  options.tf32 = true;
  device = std::move(*cuda::createCudaDevice(options));
  zcFakeCudaForget();
  EXPECT_EQ(engineOf(ElementType::F32), "engine 0");
}

TEST_F(CudaConvolution, ProductsOfTransformedFloat32AreNotExact) {
  for (const char *note : {"3", "5"}) { // Fourier's transforms, Winograd's
    ::setenv("ZC_FAKE_CUDNN_NOTE", note, 1);
    SetUp(); // nothing is known of the graph
    EXPECT_EQ(engineOf(ElementType::F32), "engine 3");
    EXPECT_EQ(engineOf(ElementType::BF16), "engine 0");
  }
}

TEST_F(CudaConvolution, APlanIsMeasuredOnce) {
  EXPECT_EQ(engineOf(ElementType::BF16), "engine 0");
  launch.source = memory.data() + 16; // addresses are no part of a plan
  EXPECT_EQ(engineOf(ElementType::BF16), "");
}

/// 3x3 convolutions of [6, 2, 64, 64] with four filters.
class CudaConvolutionInParts : public test::CudaTest {
protected:
  void SetUp() override {
    CudaTest::SetUp();
    kernels::ConvolutionSpec &spec = launch.spec;
    spec.strides = spec.dilations = spec.padsLow = spec.padsHigh = {1, 1};
    constexpr ElementType kType = ElementType::F32;
    spec.source = {kType, {6, 2, 64, 64}, {8192, 1, 128, 2}};
    spec.filter = {kType, {4, 2, 3, 3}, {18, 9, 3, 1}};
    spec.destination = {kType, {6, 4, 64, 64}, {16384, 1, 256, 4}};
    for (size_t i = 0; i < source.size(); ++i)
      source[i] = float(i % 13) - 6;
    for (size_t i = 0; i < destination.size(); ++i)
      destination[i] = float(i % 7) - 3;
    for (size_t i = 0; i < filter.size(); ++i)
      filter[i] = float(i % 5) - 2;
    launch.source = source.data();
    launch.filter = filter.data();
    launch.destination = destination.data();
  }

  /// How often the library is called for the convolution, whose measurements
  /// do not count.
  size_t callsWith(kernels::ConvolutionKind kind, size_t workspaceBytes) {
    launch.spec.kind = kind;
    workspace.assign(workspaceBytes + 256, 0);
    uintptr_t place = (uintptr_t(workspace.data()) + 255) / 256 * 256;
    launch.workspace = reinterpret_cast<void *>(place);
    launch.workspaceBytes = workspaceBytes;
    auto made = device->prepare(launch);
    EXPECT_TRUE(made.ok()) << made.status().message();
    zcFakeCudaForget();
    EXPECT_TRUE(device->launch(**made, 0).ok());
    EXPECT_TRUE(device->synchronize(0).ok());
    std::string calls = zcFakeCudaCalls();
    size_t count = 0;
    for (size_t at = 0;
         (at = calls.find("cudnnBackendExecute ", at)) != std::string::npos;
         ++at)
      ++count;
    return count;
  }

  static constexpr size_t kRoomForAll = 2 << 20, kRoomForThree = 1400 << 10;
  std::vector<float> source = std::vector<float>(6 * 8192),
                     filter = std::vector<float>(72),
                     destination = std::vector<float>(6 * 16384);
  std::vector<char> workspace;
  kernels::ConvolutionLaunch launch = {};
};

TEST_F(CudaConvolutionInParts, ImagesAreThoseOfAllAtOnce) {
  EXPECT_EQ(callsWith(kernels::ConvolutionKind::Forward, kRoomForAll), 1u);
  std::vector<float> expected = destination;
  std::fill(destination.begin(), destination.end(), 77.f);
  EXPECT_EQ(callsWith(kernels::ConvolutionKind::Forward, kRoomForThree), 2u);
  EXPECT_EQ(destination, expected);
}

TEST_F(CudaConvolutionInParts, GradientsOfImagesAreThoseOfAllAtOnce) {
  EXPECT_EQ(callsWith(kernels::ConvolutionKind::BackwardInput, kRoomForAll),
            1u);
  std::vector<float> expected = source;
  std::fill(source.begin(), source.end(), 77.f);
  EXPECT_EQ(callsWith(kernels::ConvolutionKind::BackwardInput, kRoomForThree),
            2u);
  EXPECT_EQ(source, expected);
}

TEST_F(CudaConvolutionInParts, GradientsOfFiltersAreSummedUp) {
  EXPECT_EQ(callsWith(kernels::ConvolutionKind::BackwardFilter, kRoomForAll),
            1u);
  std::vector<float> expected = filter; // whole numbers: sums are exact
  std::fill(filter.begin(), filter.end(), 77.f);
  EXPECT_EQ(callsWith(kernels::ConvolutionKind::BackwardFilter, kRoomForThree),
            2u);
  EXPECT_EQ(filter, expected);
}

} // namespace
} // namespace zc
