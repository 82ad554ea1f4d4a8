#include "kernels/Calls/Division/MatmulBlocks.h"
#include "kernels/Cpu/InstructionSet.h"
#include "kernels/Cpu/OneDnn.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Primitive.h"
#include "kernels/Cpu/SoonRead.h"
#include "kernels/Cpu/TiledMatmul.h"
#include "test/unit/kernels/TestTensors.h"

#include <cmath>
#include <cstring>

namespace zc::kernels::test {
namespace {

/// Every index of the batch dims as offsets into a, b and c.
struct Offsets {
  int64_t a = 0, b = 0, c = 0;
};

std::vector<Offsets> batchOffsets(const MatmulSpec &spec) {
  std::vector<Offsets> all{{}};
  for (size_t i = 0; i + 2 < spec.c.dims.size(); ++i) {
    std::vector<Offsets> next;
    for (const Offsets &o : all)
      for (int64_t j = 0; j < spec.c.dims[i]; ++j)
        next.push_back({o.a + j * spec.a.strides[i],
                        o.b + j * spec.b.strides[i],
                        o.c + j * spec.c.strides[i]});
    all = next;
  }
  return all;
}

/// Compares c with a naive product, in double precision.
void expectProduct(const MatmulSpec &spec, const std::vector<float> &a,
                   const std::vector<float> &b,
                   const std::vector<float> &before,
                   const std::vector<float> &c) {
  size_t row = spec.c.dims.size() - 2, column = row + 1;
  int64_t m = spec.c.dims[row], n = spec.c.dims[column],
          k = spec.a.dims[column];
  for (const Offsets &o : batchOffsets(spec))
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        int64_t at = o.c + i * spec.c.strides[row] + j * spec.c.strides[column];
        double sum = spec.accumulate ? before[at] : 0, magnitude = 1;
        for (int64_t l = 0; l < k; ++l) {
          double term =
              double(a[o.a + i * spec.a.strides[row] +
                       l * spec.a.strides[column]]) *
              b[o.b + l * spec.b.strides[row] + j * spec.b.strides[column]];
          sum += term;
          magnitude += std::abs(term);
        }
        ASSERT_NEAR(c[at], sum, kTolerance * magnitude) << i << ", " << j;
      }
}

void check(const MatmulSpec &spec) {
  setTeamSize(kThreads);
  std::string error;
  uint64_t bound = MatmulCall::cpuWorkspace(spec, kThreads);
  auto primitive = createPrimitive(spec, bound, &error);
  ASSERT_TRUE(primitive) << error;
  EXPECT_LE(primitive->workspaceBytes(), bound);
  auto a = fill(spec.a, 1), b = fill(spec.b, 2), c = fill(spec.c, 3);
  auto before = c;
  GuardedWorkspace workspace(bound);
  void *operands[] = {a.data(), b.data(), c.data()};
  ASSERT_TRUE(primitive->execute(operands, workspace.get(), &error)) << error;
  EXPECT_TRUE(workspace.intact());
  expectProduct(spec, a, b, before, c);
}

class MatmulTransposes
    : public ::testing::TestWithParam<std::tuple<bool, bool, bool>> {};

TEST_P(MatmulTransposes, EqualNaiveLoops) {
  auto [transposeA, transposeB, accumulate] = GetParam();
  auto layout = [](bool transpose, const Dims &dims) {
    return transpose ? transposed(dims) : rowMajor(dims);
  };
  for (auto [m, k, n] : {std::tuple(1, 1, 1),
                         {3, 5, 7},
                         {64, 96, 33},
                         {1, 200, 50},
                         {130, 1, 66},
                         {17, 300, 1}}) {
    check({layout(transposeA, {m, k}), layout(transposeB, {k, n}),
           rowMajor({m, n}), accumulate});
    check({layout(transposeA, {3, m, k}), layout(transposeB, {3, k, n}),
           rowMajor({3, m, n}), accumulate});
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatmulTransposes,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Bool(),
                                            ::testing::Bool()));

// Attention heads are strides of [batch, sequence, heads, width].
TEST(Matmul, TakesHeadsByStrides) {
  const int64_t B = 2, T = 24, H = 3, W = 16;
  StridedTensor heads{ElementType::F32, {B, H, T, W}, {T * H * W, W, H * W, 1}};
  StridedTensor keys{ElementType::F32, {B, H, W, T}, {T * H * W, W, 1, H * W}};
  check({heads, keys, rowMajor({B, H, T, T}), false});
  check({rowMajor({B, H, T, T}), heads, heads, false});
}

TEST(Matmul, SlicesWhatWouldWantTooMuchScratch) {
  setTeamSize(8);
  MatmulSpec spec{transposed({50304, 4096}), rowMajor({4096, 200}),
                  rowMajor({50304, 200}), false};
  std::string error;
  auto primitive =
      createPrimitive(spec, MatmulCall::cpuWorkspace(spec, 8), &error);
  ASSERT_TRUE(primitive) << error;
  EXPECT_LE(primitive->workspaceBytes(), MatmulCall::cpuWorkspace(spec, 8));
  setTeamSize(kThreads);
}

TEST(Matmul, SlicesEqualNaiveLoops) {
  setTeamSize(kThreads);
  MatmulSpec spec{transposed({200, 64}), rowMajor({64, 48}),
                  rowMajor({200, 48}), false};
  std::string error;
  auto whole = createPrimitive(spec, MatmulCall::cpuWorkspace(spec, 2), &error);
  ASSERT_TRUE(whole) << error;
  if (whole->workspaceBytes() == 0)
    GTEST_SKIP() << "here the library wants no scratch memory";
  // One byte less than the first choice wants.
  uint64_t bytes = whole->workspaceBytes() - 1;
  auto sliced = createPrimitive(spec, bytes, &error);
  ASSERT_TRUE(sliced) << error;
  auto a = fill(spec.a, 1), b = fill(spec.b, 2), c = fill(spec.c, 3);
  GuardedWorkspace workspace(bytes);
  void *operands[] = {a.data(), b.data(), c.data()};
  ASSERT_TRUE(sliced->execute(operands, workspace.get(), &error)) << error;
  EXPECT_TRUE(workspace.intact());
  expectProduct(spec, a, b, c, c);
}

/// Our own tiles' product, whatever the rule prefers.
void checkTiles(const MatmulSpec &spec, int threads = kThreads) {
  setTeamSize(threads);
  uint64_t bound = tiledMatmulWorkspace(spec, threads);
  auto primitive = createTiledMatmul(spec, bound);
  if (!primitive)
    GTEST_SKIP() << "this processor has no tiles";
  EXPECT_LE(primitive->workspaceBytes(), bound);
  auto a = fill(spec.a, 1), b = fill(spec.b, 2), c = fill(spec.c, 3);
  auto before = c;
  GuardedWorkspace workspace(bound);
  void *operands[] = {a.data(), b.data(), c.data()};
  std::string error;
  ASSERT_TRUE(primitive->execute(operands, workspace.get(), &error)) << error;
  EXPECT_TRUE(workspace.intact());
  expectProduct(spec, a, b, before, c);
  setTeamSize(kThreads);
}

TEST_P(MatmulTransposes, OfTilesEqualNaiveLoops) {
  auto [transposeA, transposeB, accumulate] = GetParam();
  auto layout = [](bool transpose, const Dims &dims) {
    return transpose ? transposed(dims) : rowMajor(dims);
  };
  // Less than a tile, whole ones, a line more; several blocks of each dim.
  for (auto [m, k, n] : {std::tuple(1, 1, 1),
                         {14, 16, 32},
                         {15, 17, 33},
                         {13, 400, 130},
                         {530, 20, 40},
                         {97, 800, 261}})
    for (bool transposeC : {false, true})
      checkTiles({layout(transposeA, {m, k}), layout(transposeB, {k, n}),
                  layout(transposeC, {m, n}), accumulate});
}

struct Factors {
  std::vector<float> a, b, c;
};

/// c by `precision`, whose tiles are there where the processor has AMX.
void multiply(MatmulPrecision precision, MatmulSpec spec, Factors &factors) {
  setTeamSize(kThreads);
  spec.precision = precision;
  std::string error;
  uint64_t bound = MatmulCall::cpuWorkspace(spec, kThreads);
  auto primitive = createPrimitive(spec, bound, &error);
  ASSERT_TRUE(primitive) << error;
  EXPECT_EQ(primitive->implementation().find("amx:bf16x") != std::string::npos,
            hasAmx() && precision != MatmulPrecision::Highest)
      << primitive->implementation();
  GuardedWorkspace workspace(bound);
  void *operands[] = {factors.a.data(), factors.b.data(), factors.c.data()};
  ASSERT_TRUE(primitive->execute(operands, workspace.get(), &error)) << error;
  EXPECT_TRUE(workspace.intact());
}

/// The largest error over the sum of the magnitudes of what is added up.
double errorOf(MatmulPrecision precision, const MatmulSpec &spec,
               Factors factors) {
  std::vector<float> before = factors.c;
  multiply(precision, spec, factors);
  int64_t m = spec.c.dims[0], n = spec.c.dims[1], k = spec.a.dims[1];
  double worst = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      int64_t at = i * spec.c.strides[0] + j;
      double sum = spec.accumulate ? before[at] : 0, magnitude = std::abs(sum);
      for (int64_t l = 0; l < k; ++l) {
        double term =
            double(factors.a[i * spec.a.strides[0] + l * spec.a.strides[1]]) *
            factors.b[l * spec.b.strides[0] + j * spec.b.strides[1]];
        sum += term;
        magnitude += std::abs(term);
      }
      worst = std::max(worst, std::abs(factors.c[at] - sum) / magnitude);
    }
  return worst;
}

// Numbers of many sizes.
TEST(Matmul, SumsOfHalvesAreAsPreciseAsSaid) {
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true}) {
      MatmulSpec spec{transposeA ? transposed({70, 600}) : rowMajor({70, 600}),
                      transposeB ? transposed({600, 90}) : rowMajor({600, 90}),
                      rowMajor({70, 90}), false};
      Factors factors{fill(spec.a, 1), fill(spec.b, 2), fill(spec.c, 3)};
      for (size_t i = 0; i < factors.a.size(); ++i)
        factors.a[i] = std::ldexp(factors.a[i], int(i % 40) - 20);
      double three = errorOf(MatmulPrecision::Bf16x3, spec, factors);
      double six = errorOf(MatmulPrecision::Bf16x6, spec, factors);
      EXPECT_LT(three, std::ldexp(1.0, -15));
      // Without AMX these are plain sums of float32.
      EXPECT_LT(six, std::ldexp(1.0, hasAmx() ? -22 : -20));
      if (hasAmx()) {
        EXPECT_GT(three, 4 * six);
      }
    }
}

// Sums of one sign grow with every product, and what they are on top of may be
// larger than all of them: neither rounds the small products away. Whole tiles
// and parts of tiles.
TEST(Matmul, SumsOfHalvesArePreciseWhateverTheirSigns) {
  if (!hasAmx())
    GTEST_SKIP() << "this processor has no AMX, or may not use it";
  for (int64_t k : {100, 512, 1000, 4096})
    for (int64_t size : {32, 33})
      for (bool positive : {true, false})
        for (float start : {0.0f, 1.0f, 1000.0f}) {
          MatmulSpec spec{rowMajor({size, k}), rowMajor({k, size}),
                          rowMajor({size, size}), start != 0};
          Factors factors{fill(spec.a, 1), fill(spec.b, 2), fill(spec.c, 3)};
          for (auto *values : {&factors.a, &factors.b})
            for (float &value : *values)
              value = positive ? std::abs(value) : value;
          for (float &value : factors.c)
            value *= start;
          EXPECT_LT(errorOf(MatmulPrecision::Bf16x6, spec, factors),
                    std::ldexp(1.0, -22))
              << k << ", " << size << ", " << positive << ", " << start;
          EXPECT_LT(errorOf(MatmulPrecision::Bf16x3, spec, factors),
                    std::ldexp(1.0, -15))
              << k << ", " << size << ", " << positive << ", " << start;
        }
}

// A row that begins within a cache line may end in one more.
TEST(Matmul, BringsEveryLineOfRows) {
  alignas(64) char memory[1024] = {};
  for (int64_t begin : {0, 4, 60})
    for (int64_t bytes : {4, 64, 100})
      for (int64_t stride : {128, 132}) {
        SoonRead soon{memory + begin, stride, bytes, 3, 0};
        int64_t lines = 0, most = linesOf(soon), asked = 0;
        for (int64_t row = begin; row < begin + 3 * stride; row += stride)
          lines += (row + bytes - 1) / 64 - row / 64 + 1;
        for (; soon.rows > 0; ++asked)
          bringLine(soon);
        EXPECT_EQ(asked, lines) << begin << ", " << bytes << ", " << stride;
        EXPECT_GE(most, lines);
      }
}

// Rows that lie apart, as columns of a larger matrix do.
TEST(Matmul, TilesLeaveGapsAlone) {
  StridedTensor a{ElementType::F32, {30, 40}, {50, 1}};
  StridedTensor b{ElementType::F32, {40, 70}, {90, 1}};
  StridedTensor c{ElementType::F32, {30, 70}, {100, 1}};
  checkTiles({a, b, c, false});
}

TEST(Matmul, TilesGiveTheSameBitsWithAnyThreads) {
  MatmulSpec spec{transposed({300, 900}), rowMajor({900, 700}),
                  rowMajor({300, 700}), true};
  auto a = fill(spec.a, 1), b = fill(spec.b, 2);
  std::vector<float> first;
  for (int threads : {1, 2, 3, 7}) {
    setTeamSize(threads);
    uint64_t bound = tiledMatmulWorkspace(spec, threads);
    auto primitive = createTiledMatmul(spec, bound);
    if (!primitive)
      GTEST_SKIP() << "this processor has no tiles";
    GuardedWorkspace workspace(bound);
    auto c = fill(spec.c, 3);
    void *operands[] = {a.data(), b.data(), c.data()};
    std::string error;
    ASSERT_TRUE(primitive->execute(operands, workspace.get(), &error));
    if (first.empty())
      first = c;
    EXPECT_EQ(std::memcmp(first.data(), c.data(), 4 * c.size()), 0) << threads;
  }
  setTeamSize(kThreads);
}

TEST(Matmul, TilesOnlyWherePaid) {
  ProcessorKind kind = ProcessorKind::Other;
  int threads = kThreads;
  auto tiled = [&](StridedTensor a, StridedTensor b) {
    StridedTensor c = rowMajor({a.dims[0], b.dims[1]});
    return tilesMatmul({std::move(a), std::move(b), std::move(c), false}, kind,
                       threads);
  };
  // GPT-2's: rows that meet in the cache, in gradients of weights, too.
  EXPECT_TRUE(tiled(rowMajor({1024, 768}), rowMajor({768, 3072})));
  EXPECT_TRUE(tiled(transposed({768, 1024}), rowMajor({1024, 3072})));
  EXPECT_FALSE(tiled(rowMajor({1024, 768}), transposed({768, 3072})));
  EXPECT_FALSE(tiled(rowMajor({1024, 768}), rowMajor({768, 2304})));
  EXPECT_FALSE(tiled(rowMajor({256, 3072}), rowMajor({3072, 768})));
  // Products of a vocabulary.
  EXPECT_TRUE(tiled(transposed({50304, 256}), rowMajor({256, 768})));
  EXPECT_FALSE(tiled(rowMajor({256, 768}), transposed({768, 50304})));
  EXPECT_FALSE(tiled(rowMajor({4, 768}), rowMajor({768, 50304})));
  // Intel's: large ones, and small ones whose a is transposed.
  kind = ProcessorKind::IntelWide;
  EXPECT_TRUE(tiled(rowMajor({1024, 768}), transposed({768, 3072})));
  EXPECT_TRUE(tiled(rowMajor({1024, 768}), rowMajor({768, 2304})));
  EXPECT_TRUE(tiled(transposed({256, 2048}), rowMajor({2048, 256})));
  EXPECT_FALSE(tiled(rowMajor({2048, 256}), rowMajor({256, 256})));
  EXPECT_FALSE(tiled(rowMajor({4, 768}), rowMajor({768, 50304})));
  // AVX2: large ones, and all whose a is transposed.
  kind = ProcessorKind::Avx2;
  EXPECT_TRUE(tiled(rowMajor({1024, 768}), transposed({768, 768})));
  EXPECT_TRUE(tiled(rowMajor({256, 768}), transposed({768, 50304})));
  EXPECT_TRUE(tiled(transposed({128, 128}), rowMajor({128, 128})));
  EXPECT_FALSE(tiled(rowMajor({2048, 256}), rowMajor({256, 256})));
  EXPECT_FALSE(tiled(rowMajor({32, 768}), rowMajor({768, 768})));
  EXPECT_FALSE(tiled(transposed({50304, 64}), rowMajor({64, 768})));
  kind = ProcessorKind::IntelWide;
  // The product of these dims needs more than 63 bits.
  int64_t huge = int64_t(1) << 21;
  EXPECT_TRUE(tiled(rowMajor({huge, huge}), transposed({huge, huge})));
  // On many threads each has to have as much.
  threads = 32;
  EXPECT_FALSE(tiled(rowMajor({1024, 768}), transposed({768, 3072})));
  EXPECT_TRUE(tiled(rowMajor({8192, 768}), transposed({768, 3072})));
  EXPECT_FALSE(tiled(transposed({128, 1024}), rowMajor({1024, 128})));
  EXPECT_TRUE(tiled(transposed({256, 2048}), rowMajor({2048, 256})));
  // Not of two dims, not contiguous, neither float32 nor bfloat16.
  EXPECT_FALSE(canTileMatmul(
      {rowMajor({2, 8, 8}), rowMajor({2, 8, 8}), rowMajor({2, 8, 8}), false}));
  EXPECT_FALSE(canTileMatmul({{ElementType::F32, {8, 8}, {16, 2}},
                              rowMajor({8, 8}),
                              rowMajor({8, 8}),
                              false}));
  StridedTensor half = rowMajor({8, 8});
  half.type = ElementType::F16;
  EXPECT_FALSE(canTileMatmul({half, half, rowMajor({8, 8}), false}));
}

/// Tasks on all threads at once take no more than is planned.
void expectRoom(const MatmulSpec &spec, ProcessorKind kind, int threads) {
  if (!canTileMatmul(spec))
    return;
  const MatmulBlocks blocks = divideMatmul(spec, kind, threads);
  EXPECT_LE(uint64_t(threads) * blocks.taskBytes(),
            tiledMatmulWorkspace(spec, threads));
}

// Memory is planned for the tiles of any processor on any number of threads.
TEST(Matmul, PlansMemoryForTilesOfAnyProcessor) {
  for (bool transposeA : {false, true})
    for (int64_t size : {64, 128, 300, 1024, 9000})
      for (int64_t depth : {64, 128, 1024, 9000}) {
        MatmulSpec spec{transposeA ? transposed({size, depth})
                                   : rowMajor({size, depth}),
                        rowMajor({depth, size}), rowMajor({size, size}), false};
        for (ProcessorKind kind : kProcessorKinds)
          for (int threads : {1, 2, 3, 64}) {
            EXPECT_LE(tilesMatmul(spec, kind, threads), mayTileMatmul(spec));
            expectRoom(spec, kind, threads);
            for (StridedTensor *each : {&spec.a, &spec.b, &spec.c}) {
              each->type = ElementType::BF16;
              expectRoom(spec, kind, threads);
            }
            for (StridedTensor *each : {&spec.a, &spec.b, &spec.c})
              each->type = ElementType::F32;
          }
      }
  // A precision is asked for whatever the rate.
  MatmulSpec spec{rowMajor({33, 4096}), rowMajor({4096, 33}),
                  rowMajor({33, 33}), false};
  EXPECT_FALSE(mayTileMatmul(spec));
  spec.precision = MatmulPrecision::Bf16x6;
  EXPECT_TRUE(mayTileMatmul(spec));
}

/// The products of this processor follow the rule.
void expectFollowsRule(MatmulSpec spec, ElementType type) {
  spec.a.type = spec.b.type = spec.c.type = type;
  const ProcessorKind kind = processorKind();
  const bool can = type == ElementType::BF16
                       ? hasAmx() || kind == ProcessorKind::Avx2
                       : widestInstructionSet() != InstructionSet::Baseline;
  const bool tiled = can && tilesMatmul(spec, kind, kThreads);
  std::string error;
  auto primitive =
      createPrimitive(spec, MatmulCall::cpuWorkspace(spec, kThreads), &error);
  ASSERT_TRUE(primitive) << error;
  EXPECT_EQ(primitive->implementation().find("tiles:") == 0, tiled)
      << primitive->implementation();
}

TEST(Matmul, FollowsTheRule) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "tiles multiply wherever the library has no vectors";
#endif
  setTeamSize(kThreads);
  for (ElementType type : {ElementType::F32, ElementType::BF16}) {
    expectFollowsRule({rowMajor({1024, 768}), transposed({768, 768}),
                       rowMajor({1024, 768}), false},
                      type); // not on AMD's with AVX-512
    expectFollowsRule({transposed({256, 2048}), rowMajor({2048, 256}),
                       rowMajor({256, 256}), false},
                      type);
    expectFollowsRule({rowMajor({2048, 256}), rowMajor({256, 256}),
                       rowMajor({2048, 256}), false},
                      type); // in float32 nowhere
    expectFollowsRule(
        {rowMajor({4, 768}), rowMajor({768, 4}), rowMajor({4, 4}), false},
        type);
  }
}

// The library's choice names itself, ours is "tiles:" and the instruction set.
TEST(Matmul, NamesItsTiles) {
  setTeamSize(kThreads);
  MatmulSpec spec{rowMajor({512, 300}), rowMajor({300, 1024}),
                  rowMajor({512, 1024}), false};
  std::string error;
  auto primitive =
      createPrimitive(spec, MatmulCall::cpuWorkspace(spec, kThreads), &error);
  ASSERT_TRUE(primitive) << error;
  std::string name = primitive->implementation();
  // Debian's library multiplies by plain loops on ARM.
  if (onednn::computesByVectors() &&
      widestInstructionSet() == InstructionSet::Baseline)
    EXPECT_EQ(name.find("tiles:"), std::string::npos) << name;
  else
    EXPECT_EQ(name, std::string("tiles:") + nameOf(widestInstructionSet()));
}

TEST(Matmul, SaysWhatItCannotDo) {
  std::string error;
  MatmulSpec spec{rowMajor({2, 3}), rowMajor({4, 5}), rowMajor({2, 5}), false};
  EXPECT_FALSE(createPrimitive(spec, 1 << 20, &error));
  EXPECT_NE(error.find("f32 [2, 3]"), std::string::npos) << error;
}

} // namespace
} // namespace zc::kernels::test
