// Tests calls of cuBLASLt and cuDNN with fakes that compute them in the
// libraries' own terms: epilogues of products, graphs of attention.
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
using kernels::MatmulActivation;
using kernels::MatmulSums;

double gelu(double x) {
  return 0.5 * x *
         (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

double geluSlope(double x) {
  const double h = 1e-5;
  return (gelu(x + h) - gelu(x - h)) / (2 * h);
}

class CudaLibraries : public test::CudaTest {
protected:
  void TearDown() override {
    ::unsetenv("ZC_FAKE_CUDNN_NO_PLAN");
    ::unsetenv("ZC_FAKE_CUDNN_REFUSED");
    ::unsetenv("ZC_FAKE_CUDNN_WHY");
    ::unsetenv("ZC_FAKE_CUDNN_VERSION");
  }

  bool wasCalled(const std::string &call) {
    return std::string(zcFakeCudaCalls()).find(call) != std::string::npos;
  }
};

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

/// 6 x 5 by 5 x 8, row by row, of numbers between -1 and 1.
class Epilogues : public CudaLibraries {
protected:
  static constexpr int64_t kM = 6, kK = 5, kN = 8;
  using Numbers = std::array<float, 64>;

  Epilogues() {
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = float(int(i * 7 % 11) - 5) / 5;
      b[i] = float(int(i * 5 % 13) - 6) / 6;
      addend[i] = float(int(i * 3 % 7) - 3) / 3;
      auxiliary[i] = float(int(i * 11 % 17) - 8) / 4;
    }
    bias = addend;
    launch.spec.a = {ElementType::F32, {kM, kK}, {kK, 1}};
    launch.spec.b = {ElementType::F32, {kK, kN}, {kN, 1}};
    launch.spec.c = {ElementType::F32, {kM, kN}, {kN, 1}};
    launch.a = a.data();
    launch.b = b.data();
    launch.c = c.data();
  }

  double product(int64_t m, int64_t n) const {
    double sum = 0;
    for (int64_t k = 0; k < kK; ++k)
      sum += double(a[size_t(m * kK + k)]) * b[size_t(k * kN + n)];
    return sum;
  }

  template <typename F> void expectResult(F expected) {
    for (int64_t m = 0; m < kM; ++m)
      for (int64_t n = 0; n < kN; ++n)
        EXPECT_NEAR(c[size_t(m * kN + n)], expected(m, n), 1e-5)
            << m << ", " << n;
  }

  alignas(64) Numbers a, b, addend, auxiliary, bias, c = {}, sums = {};
  kernels::MatmulLaunch launch = {};
};

// Four runs of an algorithm tell its time, of one alone too: it loads its code.
TEST_F(Epilogues, RanksThatMustAgreeTakeTheFirst) {
  auto runs = [&](bool alike) {
    DeviceOptions options;
    options.alike = alike;
    device = std::move(*cuda::createCudaDevice(options));
    zcFakeCudaForget();
    EXPECT_TRUE(device->prepare(launch).ok());
    std::string calls = zcFakeCudaCalls();
    int count = 0;
    for (size_t at = 0;
         (at = calls.find("cublasLtMatmul ", at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  EXPECT_EQ(runs(false), 2 * 4);
  EXPECT_EQ(runs(true), 4);
}

TEST_F(Epilogues, BiasAndAddend) {
  launch.spec.epilogue.bias = launch.spec.epilogue.addend = true;
  launch.bias = bias.data();
  launch.addend = addend.data();
  run(launch);
  expectResult([&](int64_t m, int64_t n) {
    return product(m, n) + bias[size_t(n)] + addend[size_t(m * kN + n)];
  });
  EXPECT_TRUE(wasCalled("cublasLtMatmul epilogue 4 "));
}

TEST_F(Epilogues, ReluOfABias) {
  launch.spec.epilogue.bias = true;
  launch.spec.epilogue.activation = MatmulActivation::Relu;
  launch.bias = bias.data();
  run(launch);
  expectResult([&](int64_t m, int64_t n) {
    return std::max(product(m, n) + bias[size_t(n)], 0.0);
  });
  EXPECT_TRUE(wasCalled("cublasLtMatmul epilogue 6 "));
}

TEST_F(Epilogues, GeluKeepsWhatItIsOf) {
  launch.spec.epilogue = {MatmulActivation::Gelu, MatmulSums::None, false, true,
                          true};
  launch.bias = bias.data();
  launch.auxiliary = auxiliary.data();
  run(launch);
  for (int64_t m = 0; m < kM; ++m)
    for (int64_t n = 0; n < kN; ++n)
      EXPECT_NEAR(auxiliary[size_t(m * kN + n)],
                  product(m, n) + bias[size_t(n)], 1e-5);
  expectResult([&](int64_t m, int64_t n) {
    return gelu(product(m, n) + bias[size_t(n)]);
  });
  EXPECT_TRUE(wasCalled("cublasLtMatmul epilogue 164 "));
}

TEST_F(Epilogues, GradientOfGeluAndItsColumns) {
  launch.spec.epilogue = {MatmulActivation::GeluGradient,
                          MatmulSums::ResultColumns, false, false, true};
  launch.auxiliary = auxiliary.data();
  launch.sums = sums.data();
  run(launch);
  auto expected = [&](int64_t m, int64_t n) {
    return product(m, n) * geluSlope(auxiliary[size_t(m * kN + n)]);
  };
  expectResult(expected);
  for (int64_t n = 0; n < kN; ++n) {
    double sum = 0;
    for (int64_t m = 0; m < kM; ++m)
      sum += expected(m, n);
    EXPECT_NEAR(sums[size_t(n)], sum, 1e-5);
  }
  EXPECT_TRUE(wasCalled("cublasLtMatmul epilogue 208 "));
}

/// A ReLU leaves a bit an element, which its gradient reads: rows of 128.
TEST_F(Epilogues, GradientOfReluByBits) {
  constexpr int64_t kWide = 128;
  std::array<float, kK * kWide> wide;
  for (size_t i = 0; i < wide.size(); ++i)
    wide[i] = float(int(i * 5 % 13) - 6) / 6;
  alignas(64) std::array<float, kM *kWide> relu = {}, gradient = {};
  alignas(64) std::array<float, kWide> shift, columns = {};
  for (size_t i = 0; i < shift.size(); ++i)
    shift[i] = float(int(i * 3 % 7) - 3) / 3;
  alignas(64) std::array<uint8_t, kM *kWide / 8> bits = {};
  launch.spec.b = {ElementType::F32, {kK, kWide}, {kWide, 1}};
  launch.spec.c = {ElementType::F32, {kM, kWide}, {kWide, 1}};
  launch.spec.epilogue = {MatmulActivation::Relu, MatmulSums::None, false, true,
                          true};
  launch.b = wide.data();
  launch.c = relu.data();
  launch.bias = shift.data();
  launch.auxiliary = bits.data();
  run(launch);
  EXPECT_TRUE(wasCalled("cublasLtMatmul epilogue 134 "));
  launch.spec.epilogue = {MatmulActivation::ReluGradient,
                          MatmulSums::ResultColumns, false, false, true};
  launch.c = gradient.data();
  launch.bias = nullptr;
  launch.sums = columns.data();
  run(launch);
  EXPECT_TRUE(wasCalled("cublasLtMatmul epilogue 152 "));
  int64_t passed = 0;
  for (int64_t n = 0; n < kWide; ++n) {
    double column = 0;
    for (int64_t m = 0; m < kM; ++m) {
      double sum = 0;
      for (int64_t k = 0; k < kK; ++k)
        sum += double(a[size_t(m * kK + k)]) * wide[size_t(k * kWide + n)];
      double before = sum + shift[size_t(n)];
      EXPECT_NEAR(relu[size_t(m * kWide + n)], std::max(before, 0.0), 1e-5);
      // The library lets it pass at 0, too.
      double expected = before >= 0 ? sum : 0;
      EXPECT_NEAR(gradient[size_t(m * kWide + n)], expected, 1e-5);
      column += expected;
      passed += before >= 0;
    }
    EXPECT_NEAR(columns[size_t(n)], column, 1e-5);
  }
  EXPECT_TRUE(passed > 100 && passed < kM * kWide - 100) << passed;
}

TEST_F(Epilogues, BitsOfOtherRowsAreRefused) {
  launch.spec.epilogue = {MatmulActivation::Relu, MatmulSums::None, false,
                          false, true};
  launch.auxiliary = auxiliary.data();
  auto made = device->prepare(launch); // rows of 8
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().message().find("--libraries=-cublaslt.epilogue"),
            std::string::npos);
}

// The library reads the left factor's rows transposed, the right one's columns
// as they are: what is summed lies side by side.
TEST_F(Epilogues, SumsOfFactors) {
  launch.spec.a.strides = {1, kM};
  launch.spec.epilogue.sums = MatmulSums::LhsRows;
  launch.sums = sums.data();
  run(launch);
  for (int64_t m = 0; m < kM; ++m) {
    double sum = 0;
    for (int64_t k = 0; k < kK; ++k)
      sum += a[size_t(m + k * kM)];
    EXPECT_NEAR(sums[size_t(m)], sum, 1e-5);
  }
  EXPECT_TRUE(wasCalled("cublasLtMatmul epilogue 512 ")); // its B is our a
  launch.spec.a.strides = {kK, 1};
  launch.spec.epilogue.sums = MatmulSums::RhsColumns;
  run(launch);
  expectResult([&](int64_t m, int64_t n) { return product(m, n); });
  for (int64_t n = 0; n < kN; ++n) {
    double sum = 0;
    for (int64_t k = 0; k < kK; ++k)
      sum += b[size_t(k * kN + n)];
    EXPECT_NEAR(sums[size_t(n)], sum, 1e-5);
  }
  EXPECT_TRUE(wasCalled("cublasLtMatmul epilogue 256 "));
}

// A single row, or columns of one element, are both ways round.
TEST_F(Epilogues, SumsOfOneRow) {
  for (auto [rows, terms] : {std::pair(int64_t(1), kK), {kM, int64_t(1)}}) {
    launch.spec.a = {ElementType::F32, {rows, terms}, {1, rows}};
    launch.spec.b = {ElementType::F32, {terms, kN}, {kN, 1}};
    launch.spec.c = {ElementType::F32, {rows, kN}, {kN, 1}};
    launch.spec.epilogue.sums = MatmulSums::LhsRows;
    launch.sums = sums.data();
    run(launch);
    for (int64_t m = 0; m < rows; ++m) {
      double sum = 0;
      for (int64_t k = 0; k < terms; ++k)
        sum += a[size_t(m + k * rows)];
      EXPECT_NEAR(sums[size_t(m)], sum, 1e-5);
    }
  }
}

TEST_F(Epilogues, SumsOfWhatLiesApartAreRefused) {
  launch.spec.epilogue.sums = MatmulSums::LhsRows; // of a row-major matrix
  launch.sums = sums.data();
  auto made = device->prepare(launch);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().message().find("lie side by side"), std::string::npos)
      << made.status().message();
}

// The library multiplies at most 65535 matrices at once, in a workspace that
// begins at a multiple of 256 bytes.
TEST_F(Epilogues, BatchesAreDividedAndWorkspacesAligned) {
  constexpr int64_t kBatch = 3 * 43691; // two parts of no whole size, three
  std::vector<float> left(kBatch * 2), right(2), result(kBatch * 1);
  for (size_t i = 0; i < left.size(); ++i)
    left[i] = float(i % 7) - 3;
  right = {2, -1};
  launch.spec.a = {ElementType::F32, {kBatch, 1, 2}, {2, 2, 1}};
  launch.spec.b = {ElementType::F32, {kBatch, 2, 1}, {0, 1, 1}};
  launch.spec.c = {ElementType::F32, {kBatch, 1, 1}, {1, 1, 1}};
  alignas(256) char workspace[1024];
  launch.a = left.data();
  launch.b = right.data();
  launch.c = result.data();
  launch.workspace = workspace + 64;
  launch.workspaceBytes = 960;
  run(launch);
  for (size_t i = 0; i < result.size(); ++i)
    ASSERT_EQ(result[i], 2 * left[2 * i] - left[2 * i + 1]) << i;
}

TEST_F(Epilogues, OneThatTheLibraryLacksSaysWhatToDo) {
  launch.spec.epilogue = {MatmulActivation::Gelu, MatmulSums::None, false, true,
                          true};
  launch.bias = bias.data();
  launch.auxiliary = auxiliary.data() + 1; // aligned to 4 bytes
  auto made = device->prepare(launch);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().message().find("--libraries=-cublaslt.epilogue"),
            std::string::npos)
      << made.status().message();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Two samples of 5 queries, 3 heads of 8, in bfloat16.
class Attention : public CudaLibraries {
protected:
  static constexpr int64_t kB = 2, kS = 5, kH = 3, kD = 8;
  static constexpr size_t kSize = kB * kS * kH * kD;
  static constexpr double kScale = 0.375;

  struct Tensor {
    alignas(64) uint16_t bits[kSize] = {};
    test::Array array() { return test::arrayOf(test::Type::BF16, bits); }
    double at(int64_t b, int64_t s, int64_t h, int64_t d) {
      return array().get(((b * kS + s) * kH + h) * kD + d);
    }
    void fill(size_t step) {
      for (size_t i = 0; i < kSize; ++i)
        array().set(int64_t(i), double(int(i * step % 23) - 11) / 16);
    }
  };

  Attention() {
    q.fill(7);
    k.fill(5);
    v.fill(3);
    gradO.fill(11);
    launch.spec.batch = kB;
    launch.spec.queries = launch.spec.keys = kS;
    launch.spec.heads = kH;
    launch.spec.width = kD;
    launch.spec.scale = kScale;
    launch.spec.type = ElementType::BF16;
    launch.buffers = {q.bits,  k.bits,  v.bits,  o.bits,  logSumExp,
                      nullptr, nullptr, nullptr, nullptr, nullptr};
    launch.workspace = workspace;
    launch.workspaceBytes = sizeof(workspace);
  }

  double score(int64_t b, int64_t h, int64_t i, int64_t j) {
    if (launch.spec.causal && j > i)
      return -std::numeric_limits<double>::infinity();
    double sum = 0;
    for (int64_t d = 0; d < kD; ++d)
      sum += q.at(b, i, h, d) * k.at(b, j, h, d);
    return kScale * sum;
  }

  double logSum(int64_t b, int64_t h, int64_t i) {
    double sum = 0;
    for (int64_t j = 0; j < kS; ++j)
      sum += std::exp(score(b, h, i, j));
    return std::log(sum);
  }

  double weight(int64_t b, int64_t h, int64_t i, int64_t j) {
    return std::exp(score(b, h, i, j) - logSum(b, h, i));
  }

  double result(int64_t b, int64_t h, int64_t i, int64_t d) {
    double sum = 0;
    for (int64_t j = 0; j < kS; ++j)
      sum += weight(b, h, i, j) * v.at(b, j, h, d);
    return sum;
  }

  /// The gradient in the score of a pair, times the scale.
  double slope(int64_t b, int64_t h, int64_t i, int64_t j) {
    double ofWeight = 0, shift = 0;
    for (int64_t d = 0; d < kD; ++d) {
      ofWeight += gradO.at(b, i, h, d) * v.at(b, j, h, d);
      shift += gradO.at(b, i, h, d) * result(b, h, i, d);
    }
    return kScale * weight(b, h, i, j) * (ofWeight - shift);
  }

  template <typename F> void forEach(F visit) {
    for (int64_t b = 0; b < kB; ++b)
      for (int64_t h = 0; h < kH; ++h)
        for (int64_t s = 0; s < kS; ++s)
          visit(b, h, s);
  }

  /// Operands, weights and results are rounded to 8 bits.
  static double tolerance(double value) {
    return 0.01 + 0.02 * std::abs(value);
  }

  void runForward() {
    launch.spec.backward = false;
    run(launch);
    forEach([&](int64_t b, int64_t h, int64_t i) {
      EXPECT_NEAR(logSumExp[(b * kH + h) * kS + i], logSum(b, h, i), 1e-5);
      for (int64_t d = 0; d < kD; ++d)
        EXPECT_NEAR(o.at(b, i, h, d), result(b, h, i, d), 0.01);
    });
  }

  void runBackward() {
    launch.spec.backward = true;
    launch.buffers[5] = gradO.bits;
    launch.buffers[6] = gradQ.bits;
    launch.buffers[7] = gradK.bits;
    launch.buffers[8] = gradV.bits;
    run(launch);
    forEach([&](int64_t b, int64_t h, int64_t s) {
      for (int64_t d = 0; d < kD; ++d) {
        double ofQ = 0, ofK = 0, ofV = 0;
        for (int64_t other = 0; other < kS; ++other) {
          ofQ += slope(b, h, s, other) * k.at(b, other, h, d);
          ofK += slope(b, h, other, s) * q.at(b, other, h, d);
          ofV += weight(b, h, other, s) * gradO.at(b, other, h, d);
        }
        EXPECT_NEAR(gradQ.at(b, s, h, d), ofQ, tolerance(ofQ));
        EXPECT_NEAR(gradK.at(b, s, h, d), ofK, tolerance(ofK));
        EXPECT_NEAR(gradV.at(b, s, h, d), ofV, tolerance(ofV));
      }
    });
  }

  void expectRefused(const std::string &message) {
    auto made = device->prepare(launch);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.status().code(), StatusCode::Unsupported);
    EXPECT_NE(made.status().message().find(message), std::string::npos)
        << made.status().message();
  }

  Tensor q, k, v, o, gradO, gradQ, gradK, gradV;
  alignas(64) float logSumExp[kB * kH * kS] = {};
  alignas(256) char workspace[8192] = {};
  kernels::AttentionLaunch launch = {};
};

TEST_F(Attention, ForwardAndBackward) {
  for (bool causal : {false, true}) {
    launch.spec.causal = causal;
    runForward();
    runBackward();
  }
}

// The graph, in the library's order: products (-> 5[2,3,5,5]), scores times the
// scale, softmax by its parts, the weights in 16 bits.
TEST_F(Attention, TheForwardGraph) {
  ASSERT_TRUE(device->prepare(launch).ok());
  std::string calls = zcFakeCudaCalls();
  for (const char *line :
       {"cudnn matmul 1[2,3,5,8]bf16@120,8,24,1 2[2,3,8,5]bf16@120,8,1,24 -> "
        "3[2,3,5,5]f32\n",
        " -> 6[2,3,5,1]f32\n", // the largest
        " 12[2,3,5,5]bf16 13[2,3,5,8]bf16@120,8,24,1 -> "
        "14[2,3,5,8]bf16@120,8,24,1\n"})
    EXPECT_NE(calls.find(line), std::string::npos) << line << calls;
}

// Evaluation keeps no statistics: nothing may compute what nobody reads.
TEST_F(Attention, WithoutStatistics) {
  launch.buffers[4] = nullptr;
  run(launch);
  forEach([&](int64_t b, int64_t h, int64_t i) {
    for (int64_t d = 0; d < kD; ++d)
      EXPECT_NEAR(o.at(b, i, h, d), result(b, h, i, d), 0.01);
  });
  EXPECT_FALSE(wasCalled("cudnn pointwise 15 ")); // a logarithm
}

TEST_F(Attention, WithoutAPlanItSaysWhatToDo) {
  ::setenv("ZC_FAKE_CUDNN_NO_PLAN", "1", 1);
  ::setenv("ZC_FAKE_CUDNN_VERSION", "91900", 1);
  launch.spec.causal = true;
  expectRefused("cuDNN 9.19.0 does not compute causal attention in bfloat16 of "
                "2 x 5 queries to 5 keys, 3 heads of 8: none of cuDNN's 0 "
                "engines has a plan; generated kernels do if the model is "
                "compiled with --libraries=-cudnn.attention");
}

// The first engine has no plan, the second's needs more workspace than there
// is, there is no second ranking, and the first engine of the last has no plan.
TEST_F(Attention, AllEnginesAreTried) {
  for (const char *refused : {"1", "3"}) {
    ::setenv("ZC_FAKE_CUDNN_REFUSED", refused, 1);
    SetUp(); // nothing is known of the graph
    run(launch);
    forEach([&](int64_t b, int64_t h, int64_t i) {
      for (int64_t d = 0; d < kD; ++d)
        EXPECT_NEAR(o.at(b, i, h, d), result(b, h, i, d), 0.01);
    });
  }
  ::setenv("ZC_FAKE_CUDNN_REFUSED", "4", 1);
  SetUp();
  expectRefused("none of cuDNN's 4 engines has a plan");
}

TEST_F(Attention, WhatFailsBesideAreReasons) {
  ::setenv("ZC_FAKE_CUDNN_REFUSED", "4", 1);
  ::setenv("ZC_FAKE_CUDNN_WHY", "1004", 1); // a sublibrary cannot be loaded
  expectRefused("none of cuDNN's 4 engines has a plan (cudnnBackendFinalize: "
                "fake status: the fake's reason); generated kernels");
}

// No memory is no lack of the library.
TEST_F(Epilogues, NoMemoryWhileAProductIsMeasured) {
  ::setenv("ZC_FAKE_CUDA_FAIL", "cuEventSynchronize:1:2", 1);
  auto made = device->prepare(launch);
  ::unsetenv("ZC_FAKE_CUDA_FAIL");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(made.status().message().find("--libraries"), std::string::npos)
      << made.status().message();
}

TEST_F(Attention, VersionsThatComputeWronglyAreRefused) {
  ::setenv("ZC_FAKE_CUDNN_VERSION", "91001", 1);
  expectRefused("wrong in versions 9.10.0 and 9.10.1");
  ::setenv("ZC_FAKE_CUDNN_VERSION", "91500", 1);
  EXPECT_TRUE(device->prepare(launch).ok()); // the forward
  launch.spec.backward = true;
  expectRefused("needs a multiple of 128 keys; install a newer version");
}

TEST_F(Attention, GradientsOfSomeAreRefused) {
  launch.spec.backward = true;
  launch.buffers[5] = launch.buffers[6] = gradO.bits; // none of k and v
  expectRefused("all of them");
}

TEST_F(Attention, TooLittleWorkspaceIsAMessage) {
  launch.spec.backward = true;
  launch.buffers[5] = launch.buffers[6] = launch.buffers[7] =
      launch.buffers[8] = gradO.bits;
  launch.workspaceBytes = 100 + 192; // which aligning it may take
  auto made = device->prepare(launch);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().message().find("100 are planned"), std::string::npos)
      << made.status().message();
}

} // namespace
} // namespace zc
