// Products with one of several matrices per row against plain sums: rows in any
// order, of no expert, experts without rows, and more rows than one tile has.
#include "kernels/Calls/Division/GroupedBlocks.h"
#include "kernels/Calls/Division/GroupedTiles.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Primitive.h"
#include "kernels/Cpu/TiledGroupedMatmul.h"
#include "test/unit/kernels/TestTensors.h"

#include <random>

namespace zc::kernels::test {
namespace {

struct GroupedCase {
  int64_t rows, inner, columns, experts;
  bool gradient = false, transposed = false, sorted = false;
};

class GroupedMatmulTest : public testing::TestWithParam<GroupedCase> {
protected:
  GroupedMatmulTest() {
    const GroupedCase &given = GetParam();
    spec.gradient = given.gradient;
    spec.transposed = given.transposed;
    spec.rows = given.rows;
    spec.inner = given.inner;
    spec.columns = given.columns;
    spec.experts = given.experts;
    spec.idType = ElementType::I32;
    std::mt19937 random(7);
    std::uniform_real_distribution<float> number(-1, 1);
    int64_t k = spec.inner, n = spec.columns;
    a.resize(spec.rows * k);
    b.resize(spec.gradient ? spec.rows * n : spec.experts * k * n);
    c.assign(spec.gradient ? spec.experts * k * n : spec.rows * n, 99);
    for (auto *values : {&a, &b})
      for (float &value : *values)
        value = number(random);
    // The last expert has no rows; one group is nobody's.
    for (int64_t expert = 0; expert < spec.experts; ++expert)
      ids.push_back(int32_t(5 + expert));
    std::uniform_int_distribution<int64_t> group(
        4, 5 + std::max<int64_t>(0, spec.experts - 2));
    for (int64_t row = 0; row < spec.rows; ++row)
      groups.push_back(group(random));
    if (given.sorted)
      std::sort(groups.begin(), groups.end());
  }

  double weight(int64_t expert, int64_t i, int64_t j) const {
    int64_t k = spec.inner, n = spec.columns;
    return b[expert * k * n + (spec.transposed ? j * k + i : i * n + j)];
  }

  std::vector<double> expected() const {
    int64_t k = spec.inner, n = spec.columns;
    std::vector<double> sums(c.size());
    for (int64_t row = 0; row < spec.rows; ++row) {
      int64_t expert = groups[row] - 5;
      if (expert < 0 || expert >= spec.experts)
        continue;
      for (int64_t i = 0; i < k; ++i)
        for (int64_t j = 0; j < n; ++j)
          if (spec.gradient)
            sums[(expert * k + i) * n + j] +=
                double(a[row * k + i]) * b[row * n + j];
          else
            sums[row * n + j] += a[row * k + i] * weight(expert, i, j);
    }
    return sums;
  }

  void run(int threads) {
    setTeamSize(threads);
    uint64_t bytes = GroupedMatmulCall::cpuWorkspace(spec, threads);
    std::string error;
    auto kernel = createPrimitive(spec, bytes, &error);
    ASSERT_TRUE(kernel) << error;
    EXPECT_LE(kernel->workspaceBytes(), bytes);
    execute(*kernel, bytes);
  }

  /// By our own tiles, whatever the rule says; whether there are any.
  bool runTiles(int threads) {
    setTeamSize(threads);
    uint64_t bytes = tiledGroupedWorkspace(spec, threads);
    auto kernel = createTiledGroupedMatmul(spec, bytes);
    if (kernel)
      execute(*kernel, bytes);
    return kernel != nullptr;
  }

  void execute(Primitive &kernel, uint64_t bytes) {
    std::unique_ptr<void, decltype(&std::free)> workspace(
        std::aligned_alloc(64, bytes), &std::free);
    std::memset(workspace.get(), 0xFF, bytes); // NaN
    void *pointers[] = {a.data(), b.data(), c.data(), groups.data(),
                        ids.data()};
    std::string error;
    for (int i = 0; i < 2; ++i) // a kernel runs any number of times
      ASSERT_TRUE(kernel.execute(pointers, workspace.get(), &error)) << error;
  }

  void clear() { std::fill(c.begin(), c.end(), 99.0f); }

  void check() {
    std::vector<double> sums = expected();
    double terms = double(spec.gradient ? spec.rows : spec.inner);
    for (size_t i = 0; i < c.size(); ++i)
      ASSERT_NEAR(c[i], sums[i], 1e-6 * (terms + 4)) << i;
    clear();
  }

  GroupedMatmulSpec spec;
  std::vector<float> a, b, c;
  std::vector<int64_t> groups;
  std::vector<int32_t> ids;
};

TEST_P(GroupedMatmulTest, EqualsPlainSums) {
  for (int threads : {1, 2}) {
    run(threads);
    check();
  }
}

TEST_P(GroupedMatmulTest, TilesEqualPlainSums) {
  if (!runTiles(1))
    GTEST_SKIP() << "this processor has no tiles of ours";
  std::vector<float> alone = c;
  check();
  for (int threads : {2, 5}) {
    clear();
    ASSERT_TRUE(runTiles(threads));
    EXPECT_EQ(std::memcmp(alone.data(), c.data(), 4 * c.size()), 0);
  }
}

TEST_P(GroupedMatmulTest, TooLittleMemoryIsSaid) {
  std::string error;
  EXPECT_FALSE(createPrimitive(spec, 64, &error));
  EXPECT_NE(error.find("scratch memory"), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, GroupedMatmulTest,
    testing::Values(GroupedCase{1, 3, 5, 2}, GroupedCase{40, 16, 24, 4},
                    GroupedCase{40, 16, 24, 4, false, true},
                    GroupedCase{40, 16, 24, 4, true},
                    GroupedCase{1700, 32, 20, 3},
                    GroupedCase{1700, 32, 20, 3, false, true, true},
                    GroupedCase{1700, 32, 20, 3, true},
                    GroupedCase{1700, 20, 32, 3, true, false, true},
                    // More rows, columns and depth than a task has.
                    GroupedCase{1100, 420, 300, 4},
                    GroupedCase{1100, 420, 300, 4, false, true, true},
                    GroupedCase{1500, 600, 150, 3, true}));

TEST(GroupedTiles, HoldAllRowsWithLittlePadding) {
  for (int64_t rows : {1, 9, 100, 511, 5000}) {
    std::vector<int64_t> sizes = groupedTileSizes(rows);
    std::vector<int> first = chooseGroupedTiles(sizes);
    int64_t left = std::min(rows, sizes.back()), computed = 0;
    int calls = 0;
    for (; left > 0; left -= sizes[first[left]], ++calls)
      computed += sizes[first[left]];
    EXPECT_LE(left, 0);
    EXPECT_LE(calls, 4);
    EXPECT_LE(double(computed), 1.25 * double(rows) + 8);
  }
}

} // namespace
} // namespace zc::kernels::test
