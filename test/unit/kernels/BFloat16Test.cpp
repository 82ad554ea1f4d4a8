// Products of bfloat16 against naive loops over the same rounded numbers: they
// are added up in float32, and rounded once where the result has 16 bits.
#include "kernels/Calls/Division/MatmulBlocks.h"
#include "kernels/Cpu/InstructionSet.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/TiledMatmul.h"
#include "test/unit/kernels/TestTensors.h"

#include <cmath>

namespace zc::kernels::test {
namespace {

/// Half of the distance between neighbours, as a share of the number.
constexpr float kRounding = 1.0f / 256;

uint16_t round(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float widen(uint16_t value) {
  uint32_t bits = uint32_t(value) << 16;
  float wide;
  std::memcpy(&wide, &bits, sizeof(wide));
  return wide;
}

struct Operand {
  Operand(StridedTensor &tensor, ElementType type, uint32_t seed)
      : values(fill(tensor, seed)) {
    tensor.type = type;
    for (float &value : values) {
      narrow.push_back(round(value));
      if (type == ElementType::BF16)
        value = widen(narrow.back());
    }
    before = values;
  }
  void *pointer(ElementType type) {
    return type == ElementType::BF16 ? static_cast<void *>(narrow.data())
                                     : values.data();
  }
  float at(ElementType type, int64_t i) const {
    return type == ElementType::BF16 ? widen(narrow[i]) : values[i];
  }

  std::vector<float> values, before;
  std::vector<uint16_t> narrow;
};

/// The bytes between the elements of a matrix are as they were.
void expectGapsUntouched(const StridedTensor &c, const Operand &operand,
                         ElementType type) {
  std::vector<bool> isElement(operand.before.size());
  for (int64_t i = 0; i < c.dims[0]; ++i)
    for (int64_t j = 0; j < c.dims[1]; ++j)
      isElement[i * c.strides[0] + j * c.strides[1]] = true;
  for (size_t at = 0; at < isElement.size(); ++at) {
    if (!isElement[at]) {
      ASSERT_EQ(operand.at(type, at), operand.before[at]) << at;
    }
  }
}

/// With `byTiles` of our own, else as the rule has it.
void expectProduct(MatmulSpec spec, ElementType result, bool byTiles = false,
                   int threads = kThreads) {
  Operand a(spec.a, ElementType::BF16, 1), b(spec.b, ElementType::BF16, 2),
      c(spec.c, result, 3);
  setTeamSize(threads);
  std::string error;
  uint64_t bound = byTiles ? tiledMatmulWorkspace(spec, threads)
                           : MatmulCall::cpuWorkspace(spec, threads);
  auto primitive = byTiles ? createTiledMatmul(spec, bound)
                           : createPrimitive(spec, bound, &error);
  ASSERT_TRUE(primitive) << error;
  EXPECT_LE(primitive->workspaceBytes(), bound);
  GuardedWorkspace workspace(bound);
  void *operands[] = {a.pointer(ElementType::BF16),
                      b.pointer(ElementType::BF16), c.pointer(result)};
  ASSERT_TRUE(primitive->execute(operands, workspace.get(), &error)) << error;
  setTeamSize(kThreads);
  EXPECT_TRUE(workspace.intact());
  expectGapsUntouched(spec.c, c, result);
  int64_t m = spec.c.dims[0], n = spec.c.dims[1], k = spec.a.dims[1];
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      int64_t at = i * spec.c.strides[0] + j * spec.c.strides[1];
      double sum = spec.accumulate ? c.before[at] : 0, magnitude = 1;
      for (int64_t l = 0; l < k; ++l) {
        double term =
            double(a.values[i * spec.a.strides[0] + l * spec.a.strides[1]]) *
            b.values[l * spec.b.strides[0] + j * spec.b.strides[1]];
        sum += term;
        magnitude += std::abs(term);
      }
      double rounding = result == ElementType::BF16 ? kRounding : 0;
      ASSERT_NEAR(c.at(result, at), sum,
                  kTolerance * magnitude + rounding * std::abs(sum))
          << i << ", " << j;
    }
}

/// Whether vectors of our own do, as float32.
bool multipliesAsFloat32() { return processorKind() == ProcessorKind::Avx2; }

class BFloat16 : public ::testing::Test {
protected:
  void SetUp() override {
    if (!machineHasAvx512() && !multipliesAsFloat32())
      GTEST_SKIP() << "this processor does not multiply bfloat16";
  }
};

TEST_F(BFloat16, ProductsEqualNaiveLoops) {
  for (auto [m, k, n] :
       {std::tuple(1, 1, 1), {3, 5, 7}, {64, 300, 33}, {130, 1, 66}})
    for (bool transposeA : {false, true})
      for (bool transposeB : {false, true})
        for (ElementType result : {ElementType::BF16, ElementType::F32}) {
          auto layout = [](bool transpose, const Dims &dims) {
            return transpose ? transposed(dims) : rowMajor(dims);
          };
          expectProduct({layout(transposeA, {m, k}), layout(transposeB, {k, n}),
                         rowMajor({m, n}), false},
                        result);
        }
}

/// By AMX's tiles, or by vectors.
class BFloat16Tiles : public ::testing::TestWithParam<std::tuple<bool, bool>> {
protected:
  void SetUp() override {
    if (!hasAmx() && !multipliesAsFloat32())
      GTEST_SKIP() << "this processor has no tiles for bfloat16";
  }
};

TEST_P(BFloat16Tiles, EqualNaiveLoops) {
  auto [transposeA, transposeB] = GetParam();
  auto layout = [](bool transpose, const Dims &dims) {
    return transpose ? transposed(dims) : rowMajor(dims);
  };
  // Less than a tile, whole ones, a line more; several blocks of each dim, of
  // which sums of 16 bits are kept beside the result.
  for (auto [m, k, n] : {std::tuple(1, 1, 1),
                         {32, 64, 32},
                         {33, 33, 17},
                         {15, 2100, 40},
                         {7, 600, 24},
                         {300, 800, 70},
                         {1030, 40, 150}})
    for (bool transposeC : {false, true})
      for (ElementType result : {ElementType::BF16, ElementType::F32})
        for (bool accumulate : {false, true}) {
          if (accumulate && result == ElementType::BF16)
            continue;
          expectProduct({layout(transposeA, {m, k}), layout(transposeB, {k, n}),
                         layout(transposeC, {m, n}), accumulate},
                        result, /*byTiles=*/true);
        }
}

INSTANTIATE_TEST_SUITE_P(All, BFloat16Tiles,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Bool()));

// On one thread: some tiles wait while others of their columns are computed, a
// chunk of the depth after the other, and twice so, as there are more rows.
TEST_F(BFloat16, AmxTilesWaitForChunks) {
  if (!hasAmx())
    GTEST_SKIP() << "this processor has no AMX, or may not use it";
  for (bool transposeC : {false, true})
    for (bool accumulate : {false, true}) {
      Dims dims = {600, 40};
      MatmulSpec spec{rowMajor({600, 300}), rowMajor({300, 40}),
                      transposeC ? transposed(dims) : rowMajor(dims),
                      accumulate};
      expectProduct(spec, ElementType::F32, /*byTiles=*/true, /*threads=*/1);
      if (!accumulate)
        expectProduct(spec, ElementType::BF16, /*byTiles=*/true, /*threads=*/1);
    }
}

// Rows, or columns, that lie apart as those of a larger matrix do.
TEST_F(BFloat16, TilesLeaveGapsAlone) {
  if (!hasAmx() && !multipliesAsFloat32())
    GTEST_SKIP() << "this processor has no tiles for bfloat16";
  const int64_t m = 70, k = 1100, n = 90;
  StridedTensor a{ElementType::BF16, {m, k}, {k + 3, 1}};
  StridedTensor b{ElementType::BF16, {k, n}, {1, k + 5}};
  StridedTensor rows{ElementType::F32, {m, n}, {n + 7, 1}};
  StridedTensor columns{ElementType::F32, {m, n}, {1, m + 9}};
  for (const StridedTensor &c : {rows, columns}) {
    expectProduct({a, b, c, false}, ElementType::BF16, /*byTiles=*/true);
    expectProduct({a, b, c, true}, ElementType::F32, /*byTiles=*/true);
  }
}

/// The bits of c by tiles.
std::vector<char> bitsOf(MatmulSpec spec, ElementType from, ElementType to,
                         int threads) {
  Operand a(spec.a, from, 1), b(spec.b, from, 2), c(spec.c, to, 3);
  setTeamSize(threads);
  uint64_t bound = tiledMatmulWorkspace(spec, threads);
  auto primitive = createTiledMatmul(spec, bound);
  EXPECT_TRUE(primitive);
  GuardedWorkspace workspace(bound);
  void *operands[] = {a.pointer(from), b.pointer(from), c.pointer(to)};
  std::string error;
  EXPECT_TRUE(primitive &&
              primitive->execute(operands, workspace.get(), &error));
  setTeamSize(kThreads);
  auto *begin = static_cast<char *>(c.pointer(to));
  return {begin, begin + c.values.size() * (to == ElementType::BF16 ? 2 : 4)};
}

TEST_F(BFloat16, TilesGiveTheSameBitsWithAnyThreads) {
  if (!hasAmx() && !multipliesAsFloat32())
    GTEST_SKIP() << "this processor has no tiles for bfloat16";
  MatmulSpec spec{transposed({300, 1700}), rowMajor({1700, 610}),
                  rowMajor({300, 610}), false};
  MatmulSpec onTop = spec, split = spec;
  onTop.accumulate = split.accumulate = true;
  if (hasAmx())
    split.precision = MatmulPrecision::Bf16x6;
  constexpr auto kNarrow = ElementType::BF16, kWide = ElementType::F32;
  for (auto [each, from, to] : {std::tuple(spec, kNarrow, kNarrow),
                                {onTop, kNarrow, kWide},
                                {split, kWide, kWide}}) {
    if (from == kWide && widestInstructionSet() == InstructionSet::Baseline)
      continue; // no tiles multiply float32
    std::vector<char> first = bitsOf(each, from, to, 1);
    for (int threads : {2, 3, 7})
      EXPECT_TRUE(bitsOf(each, from, to, threads) == first) << threads;
  }
}

// As if the factors had been converted to float32 before, and the result
// afterwards.
TEST_F(BFloat16, VectorsGiveTheBitsOfFloat32) {
  if (!multipliesAsFloat32() ||
      widestInstructionSet() == InstructionSet::Baseline)
    GTEST_SKIP() << "tiles do not multiply both types here";
  for (auto [m, k, n] : {std::tuple(70, 900, 90), {6, 256, 16}, {13, 40, 33}})
    for (bool transposeA : {false, true})
      for (ElementType result : {ElementType::BF16, ElementType::F32}) {
        MatmulSpec spec{transposeA ? transposed({m, k}) : rowMajor({m, k}),
                        rowMajor({k, n}), rowMajor({m, n}), false};
        Operand a(spec.a, ElementType::BF16, 1),
            b(spec.b, ElementType::BF16, 2), c(spec.c, result, 3);
        a.narrow[0] = 0x7fc0; // no number, and one that is not finite
        a.values[0] = std::nanf("");
        b.narrow.back() = 0x7f80;
        b.values.back() = INFINITY;
        MatmulSpec wide = spec;
        wide.a.type = wide.b.type = wide.c.type = ElementType::F32;
        std::vector<float> sums(c.values.size());
        std::string error;
        auto run = [&](const MatmulSpec &each, std::vector<void *> operands) {
          uint64_t bound = tiledMatmulWorkspace(each, kThreads);
          auto primitive = createTiledMatmul(each, bound);
          ASSERT_TRUE(primitive);
          GuardedWorkspace workspace(bound);
          ASSERT_TRUE(
              primitive->execute(operands.data(), workspace.get(), &error));
        };
        run(spec, {a.narrow.data(), b.narrow.data(), c.pointer(result)});
        run(wide, {a.values.data(), b.values.data(), sums.data()});
        for (size_t i = 0; i < sums.size(); ++i) {
          float expected =
              result == ElementType::BF16 ? widen(round(sums[i])) : sums[i];
          if (std::isnan(sums[i])) {
            EXPECT_TRUE(std::isnan(c.at(result, i))) << i;
          } else {
            EXPECT_EQ(c.at(result, i), expected) << i;
          }
        }
      }
}

// GPT-2's gradients of weights read a transposed.
TEST_F(BFloat16, TilesOnlyWherePaid) {
  ProcessorKind kind = ProcessorKind::Other;
  auto tiled = [&](StridedTensor a, StridedTensor b, ElementType result) {
    StridedTensor c = rowMajor({a.dims[0], b.dims[1]});
    a.type = b.type = ElementType::BF16;
    c.type = result;
    return tilesMatmul({std::move(a), std::move(b), std::move(c), false}, kind,
                       kThreads);
  };
  for (ElementType result : {ElementType::BF16, ElementType::F32}) {
    EXPECT_TRUE(tiled(transposed({768, 1024}), rowMajor({1024, 2304}), result));
    EXPECT_TRUE(tiled(rowMajor({256, 768}), rowMajor({768, 50304}), result));
    EXPECT_FALSE(tiled(rowMajor({1024, 768}), rowMajor({768, 3072}), result));
    EXPECT_FALSE(tiled(rowMajor({1024, 768}), transposed({768, 768}), result));
    EXPECT_FALSE(tiled(transposed({64, 1024}), rowMajor({1024, 768}), result));
  }
  // Intel's: large ones, and small ones whose a is transposed.
  kind = ProcessorKind::IntelWide;
  for (ElementType result : {ElementType::BF16, ElementType::F32}) {
    EXPECT_TRUE(tiled(rowMajor({1024, 768}), rowMajor({768, 3072}), result));
    EXPECT_TRUE(tiled(rowMajor({1024, 768}), transposed({768, 768}), result));
    EXPECT_TRUE(tiled(transposed({256, 2048}), rowMajor({2048, 256}), result));
    EXPECT_FALSE(tiled(rowMajor({2048, 256}), rowMajor({256, 256}), result));
    EXPECT_FALSE(tiled(transposed({64, 1024}), rowMajor({1024, 768}), result));
  }
  // AVX2 has nothing else.
  kind = ProcessorKind::Avx2;
  for (ElementType result : {ElementType::BF16, ElementType::F32})
    EXPECT_TRUE(tiled(rowMajor({1, 8}), rowMajor({8, 3}), result));
}

TEST_F(BFloat16, NamesItsTiles) {
  setTeamSize(kThreads);
  MatmulSpec spec{transposed({256, 300}), rowMajor({300, 200}),
                  rowMajor({256, 200}), false};
  spec.a.type = spec.b.type = ElementType::BF16;
  std::string error;
  auto primitive =
      createPrimitive(spec, MatmulCall::cpuWorkspace(spec, kThreads), &error);
  ASSERT_TRUE(primitive) << error;
  EXPECT_EQ(primitive->implementation() == "tiles:amx", hasAmx())
      << primitive->implementation();
  EXPECT_EQ(primitive->implementation() ==
                std::string("tiles:") + nameOf(widestInstructionSet()),
            multipliesAsFloat32())
      << primitive->implementation();
}

TEST_F(BFloat16, SumsOfProductsAreOfFloat32) {
  expectProduct(
      {transposed({48, 130}), rowMajor({130, 65}), rowMajor({48, 65}), true},
      ElementType::F32);
}

/// A convolution of bfloat16 against that of float32 of the same numbers.
void expectConvolution(ConvolutionSpec spec) {
  setTeamSize(kThreads);
  ConvolutionSpec wide = spec;
  Operand source(spec.source, ElementType::BF16, 1),
      filter(spec.filter, ElementType::BF16, 2),
      destination(spec.destination, ElementType::BF16, 3);
  Operand *result = spec.kind == ConvolutionKind::Forward         ? &destination
                    : spec.kind == ConvolutionKind::BackwardInput ? &source
                                                                  : &filter;
  auto run = [&](const ConvolutionSpec &each, ElementType type) {
    std::string error;
    uint64_t bound = ConvolutionCall::cpuWorkspace(each, kThreads);
    auto primitive = createPrimitive(each, bound, &error);
    ASSERT_TRUE(primitive) << error;
    EXPECT_LE(primitive->workspaceBytes(), bound);
    GuardedWorkspace workspace(bound);
    void *operands[] = {source.pointer(type), filter.pointer(type),
                        destination.pointer(type)};
    ASSERT_TRUE(primitive->execute(operands, workspace.get(), &error)) << error;
    EXPECT_TRUE(workspace.intact());
  };
  run(spec, ElementType::BF16);
  run(wide, ElementType::F32);
  float largest = 0;
  for (float value : result->values)
    largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < result->values.size(); ++i)
    ASSERT_NEAR(widen(result->narrow[i]), result->values[i],
                kRounding * std::abs(result->values[i]) + 1e-4f * largest)
        << i;
}

TEST_F(BFloat16, ConvolutionsEqualThoseOfFloat32) {
  if (!machineHasAvx512())
    GTEST_SKIP() << "oneDNN computes them with AVX-512 alone";
  for (auto kind : {ConvolutionKind::Forward, ConvolutionKind::BackwardInput,
                    ConvolutionKind::BackwardFilter})
    for (int64_t stride : {1, 2}) {
      int64_t size = stride == 1 ? 12 : 6;
      expectConvolution({kind,
                         channelsLast({2, 16, 12, 12}),
                         rowMajor({32, 16, 3, 3}),
                         channelsLast({2, 32, size, size}),
                         {stride, stride},
                         {1, 1},
                         {1, 1},
                         {1, 1},
                         1});
    }
}

} // namespace
} // namespace zc::kernels::test
