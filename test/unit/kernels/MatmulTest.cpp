#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Primitive.h"
#include "kernels/Cpu/Workspace.h"
#include "test/unit/kernels/TestTensors.h"

#include <cmath>

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
  uint64_t bound = matmulWorkspaceBound(spec, kThreads);
  auto primitive = createMatmul(spec, bound, &error);
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
  auto primitive = createMatmul(spec, matmulWorkspaceBound(spec, 8), &error);
  ASSERT_TRUE(primitive) << error;
  EXPECT_LE(primitive->workspaceBytes(), matmulWorkspaceBound(spec, 8));
  setTeamSize(kThreads);
}

TEST(Matmul, SlicesEqualNaiveLoops) {
  setTeamSize(kThreads);
  MatmulSpec spec{transposed({200, 64}), rowMajor({64, 48}),
                  rowMajor({200, 48}), false};
  std::string error;
  auto whole = createMatmul(spec, matmulWorkspaceBound(spec, 2), &error);
  ASSERT_TRUE(whole) << error;
  if (whole->workspaceBytes() == 0)
    GTEST_SKIP() << "here the library wants no scratch memory";
  // One byte less than the first choice wants.
  uint64_t bytes = whole->workspaceBytes() - 1;
  auto sliced = createMatmul(spec, bytes, &error);
  ASSERT_TRUE(sliced) << error;
  auto a = fill(spec.a, 1), b = fill(spec.b, 2), c = fill(spec.c, 3);
  GuardedWorkspace workspace(bytes);
  void *operands[] = {a.data(), b.data(), c.data()};
  ASSERT_TRUE(sliced->execute(operands, workspace.get(), &error)) << error;
  EXPECT_TRUE(workspace.intact());
  expectProduct(spec, a, b, c, c);
}

/// Products of 512 rows of a with a row-major b that is packed, against those
/// of its transpose, which is read as it lies.
void expectPackedEqualsPlain(int64_t k, int64_t n, bool accumulate) {
  setTeamSize(kThreads);
  MatmulSpec packed{rowMajor({512, k}), rowMajor({k, n}), rowMajor({512, n}),
                    accumulate};
  MatmulSpec plain = packed;
  plain.b = transposed({k, n});
  auto a = fill(packed.a, 1), b = fill(packed.b, 2), other = b;
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < n; ++j)
      other[j * k + i] = b[i * n + j];
  auto run = [&](const MatmulSpec &spec, std::vector<float> &right) {
    std::string error;
    uint64_t bound = matmulWorkspaceBound(spec, kThreads);
    auto primitive = createMatmul(spec, bound, &error);
    auto c = fill(spec.c, 3);
    if (!primitive) {
      ADD_FAILURE() << error;
      return c;
    }
    EXPECT_LE(primitive->workspaceBytes(), bound);
    // With AVX2 alone the library has no such layout.
    EXPECT_EQ(primitive->implementation().find("packed") != std::string::npos,
              __builtin_cpu_supports("avx512f") && matmulPackedRows(spec) > 0)
        << primitive->implementation();
    GuardedWorkspace workspace(bound);
    void *operands[] = {a.data(), right.data(), c.data()};
    EXPECT_TRUE(primitive->execute(operands, workspace.get(), &error)) << error;
    EXPECT_TRUE(workspace.intact());
    return c;
  };
  EXPECT_GT(matmulPackedRows(packed), 0);
  EXPECT_EQ(matmulPackedRows(plain), 0);
  auto c = run(packed, b), expected = run(plain, other);
  for (size_t i = 0; i < c.size(); ++i)
    ASSERT_NEAR(c[i], expected[i], kTolerance * k) << i;
}

TEST(Matmul, PacksRowsThatMeetInTheCache) {
  expectPackedEqualsPlain(300, 1024, false);
  expectPackedEqualsPlain(300, 1024, true);
}

TEST(Matmul, PacksInSlices) {
  expectPackedEqualsPlain(3100, 1024, false);
  expectPackedEqualsPlain(3100, 1024, true);
}

TEST(Matmul, PacksOnlyWhatPays) {
  auto rows = [](int64_t m, int64_t k, int64_t n) {
    return matmulPackedRows(
        {rowMajor({m, k}), rowMajor({k, n}), rowMajor({m, n}), false});
  };
  EXPECT_EQ(rows(1024, 3072, 768), 3072); // GPT-2's gradients of activations
  EXPECT_EQ(rows(1024, 768, 3072), 768);
  EXPECT_EQ(rows(1024, 50304, 768), 3904); // in 13 slices
  EXPECT_EQ(rows(1024, 768, 2304), 0);
  EXPECT_EQ(rows(256, 3072, 768), 0);
}

TEST(Matmul, SaysWhatItCannotDo) {
  std::string error;
  MatmulSpec spec{rowMajor({2, 3}), rowMajor({4, 5}), rowMajor({2, 5}), false};
  EXPECT_FALSE(createMatmul(spec, 1 << 20, &error));
  EXPECT_NE(error.find("f32 [2, 3]"), std::string::npos) << error;
}

} // namespace
} // namespace zc::kernels::test
