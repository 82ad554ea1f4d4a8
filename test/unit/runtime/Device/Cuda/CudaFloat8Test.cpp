// Tests products of 8-bit floats with a fake of cuBLASLt that computes them in
// the library's own terms.
#include "test/unit/runtime/Device/Cuda/CudaTest.h"
#include "test/unit/runtime/Device/Cuda/FakeArray.h"

#include <array>
#include <cmath>
#include <gtest/gtest.h>

namespace zc {
namespace {

using kernels::ElementType;

class Float8 : public test::CudaTest {
protected:
  bool wasCalled(const std::string &call) {
    return std::string(zcFakeCudaCalls()).find(call) != std::string::npos;
  }
};

/// 16 x 32 of E5M2 by 32 x 48 of E4M3, both along the sum, to bfloat16.
class Float8Products : public Float8 {
protected:
  static constexpr int64_t kM = 16, kK = 32, kN = 48;

  Float8Products() {
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = uint8_t(0x38 + i * 7 % 16 + (i % 3 == 0 ? 0x80 : 0));
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = uint8_t(0x30 + i * 5 % 16 + (i % 5 == 0 ? 0x80 : 0));
    launch.spec.a = {ElementType::I8, {kM, kK}, {kK, 1}};
    launch.spec.b = {ElementType::U8, {kK, kN}, {1, kK}};
    launch.spec.c = {ElementType::BF16, {kM, kN}, {kN, 1}};
    launch.a = a.data();
    launch.b = b.data();
    launch.c = c.data();
    launch.aScale = &aScale;
    launch.bScale = &bScale;
  }

  double expected(int64_t m, int64_t n) const {
    double sum = 0;
    for (int64_t k = 0; k < kK; ++k)
      sum += test::decodeFloat8(a[size_t(m * kK + k)], 2) *
             test::decodeFloat8(b[size_t(n * kK + k)], 3);
    return 0.25 * 2 * sum;
  }

  alignas(64) std::array<uint8_t, kM * kK> a;
  alignas(64) std::array<uint8_t, kN * kK> b;
  alignas(64) std::array<uint16_t, kM *kN> c = {};
  float aScale = 0.25f, bScale = 2;
  kernels::MatmulLaunch launch = {};
};

TEST_F(Float8Products, ScalesAreOfTheirFactors) {
  run(launch);
  const test::Array result = test::arrayOf(test::Type::BF16, c.data());
  for (int64_t m = 0; m < kM; ++m)
    for (int64_t n = 0; n < kN; ++n)
      EXPECT_NEAR(result.get(m * kN + n), expected(m, n),
                  std::abs(expected(m, n)) / 256)
          << m << ", " << n;
  EXPECT_TRUE(wasCalled("cublasLtMatmul fp8"));
}

/// 16 x 256 by 256 x 128: a scale for 128 elements of a's rows, one for 128 x
/// 128 of b's, and both as the library has them.
TEST_F(Float8, BlocksHaveScales) {
  constexpr int64_t kM = 16, kK = 256, kN = 128;
  alignas(64) std::array<uint8_t, kM * kK> a;
  alignas(64) std::array<uint8_t, kN * kK> b;
  alignas(64) std::array<uint16_t, kM *kN> c = {};
  alignas(64) std::array<float, 2 * kM> aScale; // [K / 128, M]
  alignas(64) std::array<float, 4> bScale = {2, 0.5f, 0, 0};
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = uint8_t(0x38 + i * 7 % 16 + (i % 3 == 0 ? 0x80 : 0));
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = uint8_t(0x30 + i * 5 % 16 + (i % 5 == 0 ? 0x80 : 0));
  for (size_t i = 0; i < aScale.size(); ++i)
    aScale[i] = 1.0f / float(1 << i % 5);
  kernels::MatmulLaunch launch = {};
  launch.spec.a = {ElementType::U8, {kM, kK}, {kK, 1}};
  launch.spec.b = {ElementType::U8, {kK, kN}, {1, kK}};
  launch.spec.c = {ElementType::BF16, {kM, kN}, {kN, 1}};
  launch.spec.aScale = kernels::MatmulScale::Vectors;
  launch.spec.bScale = kernels::MatmulScale::Squares;
  launch.a = a.data();
  launch.b = b.data();
  launch.c = c.data();
  launch.aScale = aScale.data();
  launch.bScale = bScale.data();
  run(launch);
  const test::Array result = test::arrayOf(test::Type::BF16, c.data());
  for (int64_t m = 0; m < kM; ++m)
    for (int64_t n = 0; n < kN; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < kK; ++k)
        sum += test::decodeFloat8(a[size_t(m * kK + k)], 3) *
               test::decodeFloat8(b[size_t(n * kK + k)], 3) *
               double(aScale[size_t(k / 128 * kM + m)]) *
               double(bScale[size_t(k / 128)]);
      EXPECT_NEAR(result.get(m * kN + n), sum, std::abs(sum) / 256 + 1e-3)
          << m << ", " << n;
    }
  EXPECT_TRUE(wasCalled("cublasLtMatmul fp8"));
}

} // namespace
} // namespace zc
