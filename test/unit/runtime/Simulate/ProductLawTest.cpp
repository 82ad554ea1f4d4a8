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
  const ProductLaw law(makeRows());
  for (const MeasuredMatmul &asked :
       {product(100, 50, 60), product(8, 4, 12), product(1024, 700, 300)})
    EXPECT_NEAR(law.flopsPerSecond(asked) / lawOf(asked), 1, 1e-3) << asked.m;
}

double quickestOf(const std::vector<MeasuredMatmul> &rows) {
  double most = 0;
  for (const MeasuredMatmul &row : rows)
    most = std::max(most, row.flopsPerSecond);
  return most;
}

TEST(ProductLaw, NothingIsQuickerThanTheQuickest) {
  const std::vector<MeasuredMatmul> rows = makeRows();
  const MeasuredMatmul large = product(8192, 8192, 8192);
  ASSERT_GT(lawOf(large), 1.02 * quickestOf(rows));
  EXPECT_DOUBLE_EQ(ProductLaw(rows).flopsPerSecond(large), quickestOf(rows));
  // Nor by a correction.
  std::vector<MeasuredMatmul> quicker = rows;
  for (MeasuredMatmul &row : quicker)
    if (row.k < 700)
      row.flopsPerSecond *= 0.8;
  EXPECT_LE(MeasuredProducts(quicker).flopsPerSecond(large),
            quickestOf(quicker));
}

TEST(ProductLaw, FewRowsMakeNone) {
  std::vector<MeasuredMatmul> rows = makeRows();
  rows.resize(9);
  EXPECT_FALSE(ProductLaw(rows).isKnown());
  EXPECT_EQ(ProductLaw(rows).flopsPerSecond(product(8, 8, 8)), 1);
  MeasuredMatmul other = product(8, 8, 8);
  other.dtype = plan::BF16;
  EXPECT_EQ(MeasuredProducts(makeRows()).flopsPerSecond(other), 0);
}

/// Rows that are slower the larger they are: a free fit has parts below 0, as
/// its first part is.
std::vector<MeasuredMatmul> makeStrangeRows() {
  std::vector<MeasuredMatmul> rows = makeRows();
  for (MeasuredMatmul &row : rows)
    row.flopsPerSecond = 1e12 / std::sqrt(double(row.m * row.n * row.k));
  return rows;
}

TEST(ProductLaw, NoPartIsNegative) {
  for (const auto &rows : {makeRows(), makeStrangeRows()}) {
    const ProductLaw law(rows);
    double sum = 0;
    for (double part : law.secondsOfParts()) {
      EXPECT_GE(part, 0);
      sum += part;
    }
    EXPECT_GT(sum, 0);
  }
}

/// Rows whose times are off by up to so much, alternately.
std::vector<MeasuredMatmul> makeNoisyRows(double most) {
  std::vector<MeasuredMatmul> rows = makeRows();
  uint32_t state = 1; // of a linear congruential generator
  for (MeasuredMatmul &row : rows) {
    state = state * 1664525U + 1013904223U;
    row.flopsPerSecond *= 1 + most * (double(state >> 8) / (1 << 23) - 1);
  }
  return rows;
}

/// Twice the products of everything are never quicker, however rows scatter.
TEST(ProductLaw, TimeGrowsWithEachDim) {
  for (double noise : {0., .2}) {
    const MeasuredProducts products(makeNoisyRows(noise));
    auto timeOf = [&](const MeasuredMatmul &p) {
      return double(p.m) * double(p.n) * double(p.k) /
             products.flopsPerSecond(p);
    };
    for (int64_t m = 16; m <= 8192; m *= 4)
      for (int64_t n = 8; n <= 8192; n *= 4)
        for (int64_t k = 8; k <= 8192; k *= 4) {
          SCOPED_TRACE(strCat(m, " ", n, " ", k, ", noise ", noise));
          const double time = timeOf(product(m, n, k));
          EXPECT_LT(time, timeOf(product(4 * m, n, k)));
          EXPECT_LT(time, timeOf(product(m, 4 * n, k)));
          EXPECT_LT(time, timeOf(product(m, n, 4 * k)));
        }
  }
}

/// The nearest three rows alone would say ten times the law's rate.
TEST(ProductLaw, CorrectionsAreBounded) {
  std::vector<MeasuredMatmul> rows = makeRows();
  const MeasuredMatmul asked = product(64, 24, 16);
  ASSERT_EQ(rows[0].m, asked.m);
  rows[0].flopsPerSecond /= 10;
  const double byLaw = ProductLaw(rows).flopsPerSecond(asked);
  EXPECT_DOUBLE_EQ(MeasuredProducts(rows).flopsPerSecond(asked), byLaw / 2);
}

TEST(ProductLaw, WhatIsMeasuredNearbyCounts) {
  SimulatedDevice device = test::idealCluster().device;
  std::vector<MeasuredMatmul> rows = makeRows();
  const MeasuredMatmul asked = product(70, 90, 84), far = product(900, 24, 16);
  for (MeasuredMatmul &row : rows)
    if (row.m == 64 && row.n == 100 && row.k == 80)
      row.flopsPerSecond /= 2;
  device.efficiency.matmul.measured = MeasuredProducts(rows);
  EXPECT_LT(matmulRate(device, false, asked), 0.6 * lawOf(asked));
  EXPECT_NEAR(matmulRate(device, false, far) / lawOf(far), 1, 0.1);
}

} // namespace
} // namespace zc
