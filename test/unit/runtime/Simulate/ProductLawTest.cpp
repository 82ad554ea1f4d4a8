#include "runtime/Simulate/ProductLaw.h"
#include "runtime/Simulate/InstructionTimes.h"
#include "test/unit/runtime/Simulate/Clusters.h"

#include <cmath>
#include <gtest/gtest.h>

namespace zc {
namespace {

/// A machine has 1e11 FLOP/s, 5e9 elements a second from memory and 2 us a
/// call.
double lawOf(const MeasuredMatmul &p) {
  const double m = double(p.m), n = double(p.n), k = double(p.k);
  const double flops = 2 * m * n * k;
  return flops / (flops / 1e11 + (m * n + m * k + n * k) / 5e9 + 2e-6);
}

std::vector<MeasuredMatmul> makeRows() {
  std::vector<MeasuredMatmul> rows;
  for (int64_t m : {64, 300, 900})
    for (int64_t n : {24, 100, 512})
      for (int64_t k : {16, 80, 700}) {
        MeasuredMatmul row;
        row.m = m, row.n = n, row.k = k;
        row.flopsPerSecond = lawOf(row);
        rows.push_back(row);
      }
  return rows;
}

MeasuredMatmul product(int64_t m, int64_t n, int64_t k) {
  MeasuredMatmul asked;
  asked.m = m, asked.n = n, asked.k = k;
  return asked;
}

TEST(ProductLaw, SaysWhatLiesFarAway) {
  const ProductLaw law(makeRows(), plan::F32);
  for (const MeasuredMatmul &asked :
       {product(100, 50, 60), product(8, 4, 12), product(4096, 4096, 4096)})
    EXPECT_NEAR(law.flopsPerSecond(asked) / lawOf(asked), 1, 1e-3) << asked.m;
}

TEST(ProductLaw, FewRowsMakeNone) {
  std::vector<MeasuredMatmul> rows = makeRows();
  EXPECT_EQ(ProductLaw(rows, plan::BF16).flopsPerSecond(product(8, 8, 8)), 1);
  rows.resize(9);
  EXPECT_EQ(ProductLaw(rows, plan::F32).flopsPerSecond(product(8, 8, 8)), 1);
}

/// Twice the time of one part is no less of another: parts are not below 0.
TEST(ProductLaw, NoPartIsNegative) {
  std::vector<MeasuredMatmul> rows = makeRows();
  for (MeasuredMatmul &row : rows) // the larger, the slower
    row.flopsPerSecond = 1e12 / std::sqrt(double(row.m * row.n * row.k));
  const ProductLaw law(rows, plan::F32);
  EXPECT_GT(law.flopsPerSecond(product(1, 1, 1)), 0);
  EXPECT_GT(law.flopsPerSecond(product(4096, 4096, 4096)), 0);
}

TEST(ProductLaw, WhatIsMeasuredNearbyCounts) {
  SimulatedDevice device = test::idealCluster().device;
  std::vector<MeasuredMatmul> &rows = device.efficiency.matmul.measured;
  rows = makeRows();
  const MeasuredMatmul asked = product(70, 90, 84), far = product(900, 24, 16);
  for (MeasuredMatmul &row : rows)
    if (row.m == 64 && row.n == 100 && row.k == 80)
      row.flopsPerSecond /= 2;
  EXPECT_LT(matmulRate(device, false, asked), 0.6 * lawOf(asked));
  EXPECT_NEAR(matmulRate(device, false, far) / lawOf(far), 1, 0.1);
}

} // namespace
} // namespace zc
