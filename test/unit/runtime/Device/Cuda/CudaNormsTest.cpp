// Tests graphs of batch norms for cuDNN with a fake that computes them, against
// the compiler's definition in double precision.
#include "test/unit/runtime/Device/Cuda/CudaTest.h"
#include "test/unit/runtime/Device/Cuda/FakeArray.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>

namespace zc {
namespace {

using test::BFloat16;

/// Images [3, 8, 2, 5] of bfloat16, channels last.
class CudaNorms : public test::CudaTest {
protected:
  static constexpr size_t kN = 3, kC = 8, kPixels = 10,
                          kCount = kN * kPixels; // elements of a channel
  static constexpr double kEpsilon = 1e-3;
  using Image = std::array<BFloat16, kCount * kC>;
  using Channels = std::array<float, kC>;

  void SetUp() override {
    CudaTest::SetUp();
    for (size_t i = 0; i < x.size(); ++i) {
      // Channels of different means and deviations.
      x[i] = BFloat16(float(int(i * 37 % 101) - 50) / float(8 + i % kC) +
                      float(i % kC));
      addend[i] = BFloat16(float(int(i * 53 % 17) - 8) / 8);
      grad[i] = BFloat16(float(int(i * 71 % 23) - 11) / 16);
    }
    for (size_t c = 0; c < kC; ++c) {
      scale[c] = 0.5F + 0.25F * float(c);
      bias[c] = 0.125F * (float(c) - 4);
    }
    launch.spec.image = {
        kernels::ElementType::BF16,
        {int64_t(kN), int64_t(kC), 2, 5},
        {int64_t(kC * kPixels), 1, int64_t(kC * 5), int64_t(kC)}};
    launch.spec.epsilon = kEpsilon;
    launch.image = x.data();
    launch.scale = scale.data();
    launch.bias = bias.data();
    launch.mean = mean.data();
    launch.inverse = inverse.data();
    launch.result = result.data();
    launch.workspace = workspace.data();
    launch.workspaceBytes = workspace.size();
  }
  void TearDown() override { ::unsetenv("ZC_FAKE_CUDNN_NO_PLAN"); }

  void run() { CudaTest::run(launch); }

  double at(const Image &image, size_t i, size_t c) const {
    return double(float(image[i * kC + c]));
  }
  double meanOf(size_t c) const {
    double sum = 0;
    for (size_t i = 0; i < kCount; ++i)
      sum += at(x, i, c);
    return sum / kCount;
  }
  double inverseOf(size_t c) const {
    double sum = 0;
    for (size_t i = 0; i < kCount; ++i)
      sum += std::pow(at(x, i, c) - meanOf(c), 2);
    return 1 / std::sqrt(sum / kCount + kEpsilon);
  }
  /// Element i of channel c, normalized, before the bias.
  double normed(size_t i, size_t c) const {
    return (at(x, i, c) - meanOf(c)) * inverseOf(c);
  }

  /// Rounded to bfloat16 once: half of 2^-7 of itself.
  static void expectRounded(double value, double expected) {
    EXPECT_NEAR(value, expected, std::abs(expected) / 256 + 1e-6);
  }

  void expectForward(bool withAddend) {
    for (size_t c = 0; c < kC; ++c) {
      EXPECT_NEAR(mean[c], meanOf(c), 1e-5);
      EXPECT_NEAR(inverse[c], inverseOf(c), 1e-5);
      for (size_t i = 0; i < kCount; ++i) {
        double value = normed(i, c) * double(scale[c]) + double(bias[c]) +
                       (withAddend ? at(addend, i, c) : 0);
        expectRounded(at(result, i, c), std::max(value, 0.0));
      }
    }
  }

  alignas(64) Image x, addend, grad, result;
  alignas(64) Channels scale, bias, mean = {}, inverse = {}, scaleGrad = {},
                                    biasGrad = {};
  alignas(256) std::array<char, 8192> workspace = {};
  kernels::NormLaunch launch = {};
};

TEST_F(CudaNorms, WithRelu) {
  run();
  expectForward(false);
}

TEST_F(CudaNorms, WithASumAndRelu) {
  launch.spec.addend = true;
  launch.addend = addend.data();
  run();
  expectForward(true);
  EXPECT_NE(
      std::string(zcFakeCudaCalls()).find("norm 1[3,8,2,5]bf16@80,1,40,8"),
      std::string::npos)
      << zcFakeCudaCalls();
}

// An overflow in float16 is not to end at a ReLU.
TEST_F(CudaNorms, NotANumberPasses) {
  x[3] = BFloat16(std::nanf(""));
  run();
  EXPECT_TRUE(std::isnan(float(result[3])));
  EXPECT_FALSE(std::isnan(float(result[4])));
}

TEST_F(CudaNorms, GradientsThroughRelu) {
  for (size_t c = 0; c < kC; ++c) {
    mean[c] = float(meanOf(c));
    inverse[c] = float(inverseOf(c));
  }
  launch.spec.backward = true;
  launch.grad = grad.data();
  launch.scaleGrad = scaleGrad.data();
  launch.biasGrad = biasGrad.data();
  run();
  for (size_t c = 0; c < kC; ++c) {
    auto slope = [&](size_t i) {
      bool above = normed(i, c) * double(scale[c]) + double(bias[c]) > 0;
      return above ? at(grad, i, c) : 0;
    };
    double sum = 0, product = 0;
    for (size_t i = 0; i < kCount; ++i) {
      sum += slope(i);
      product += slope(i) * normed(i, c);
    }
    EXPECT_NEAR(biasGrad[c], sum, 1e-5);
    EXPECT_NEAR(scaleGrad[c], product, 1e-4);
    for (size_t i = 0; i < kCount; ++i)
      expectRounded(at(result, i, c),
                    double(scale[c]) * inverseOf(c) *
                        (slope(i) - (sum + normed(i, c) * product) / kCount));
  }
}

TEST_F(CudaNorms, WhatTheLibraryLacksIsAMessage) {
  ::setenv("ZC_FAKE_CUDNN_NO_PLAN", "1", 1);
  launch.spec.backward = true;
  auto made = device->prepare(launch);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), StatusCode::Unsupported);
  std::string message(made.status().message());
  EXPECT_NE(
      message.find("does not compute the gradient of batch normalisation "
                   "and ReLU in bfloat16, images [3, 8, 2, 5]: none of "
                   "cuDNN's 0 engines has a plan; generated kernels do "
                   "if the model is compiled with --libraries=-cudnn.norm"),
      std::string::npos)
      << message;
}

} // namespace
} // namespace zc
