#include "runtime/Simulate/FormLaw.h"
#include "runtime/Simulate/MeasuredTimes.h"

#include <array>
#include <cmath>
#include <gtest/gtest.h>

namespace zc {
namespace {

TEST(FormLaw, OnePointIsTheLaw) {
  EXPECT_DOUBLE_EQ(valueOfForm({{5, {3, -1}, -7}}), -7);
}

TEST(FormLaw, APointAtHandIsTaken) {
  EXPECT_NEAR(valueOfForm({{0, {0, 0}, -7}, {2, {1, 1}, -5}, {2, {-1, 1}, -9}}),
              -7, 1e-2);
}

/// A plane between the points, whichever of them is nearest.
TEST(FormLaw, APlaneIsFound) {
  std::vector<FormPoint> points;
  for (double x : {-2, -1, 1, 2})
    for (double y : {-2.5, -.5, 1.5})
      points.push_back({x * x + y * y, {x, y}, -20 + .7 * x - .3 * y});
  EXPECT_NEAR(valueOfForm(points), -20, .02);
}

/// Two rows tell nothing of a size that both have, and little beyond them.
TEST(FormLaw, FarFromAllItStaysNear) {
  EXPECT_NEAR(valueOfForm({{100, {-10, 0}, -5}, {121, {-11, 0}, -9}}),
              -5 + std::log(2), 1e-9);
}

/// Attentions of few queries take time for each query, not for each FLOP: 0.2
/// us and 0.06 us a query of each head, and a little for the width.
MeasuredInstruction attention(int64_t heads, int64_t queries, int64_t width) {
  const auto n = double(heads), q = double(queries), w = double(width);
  return {"attention",
          "train.attention",
          4 * n * q * q * w,
          16 * n * q * w,
          1e-6 * n * (.2 + .06 * q + 1e-4 * q * q * w),
          {queries, queries, width, 1}};
}

TEST(FormLaw, OtherFormsFollowTheTimed) {
  MeasuredTimes times;
  for (auto [heads, queries, width] : {std::array<int64_t, 3>{1536, 8, 4},
                                       {320, 10, 20},
                                       {600, 11, 10},
                                       {1024, 14, 8},
                                       {768, 20, 5},
                                       {962, 26, 6},
                                       {128, 37, 16},
                                       {96, 48, 32},
                                       {32, 64, 32}})
    times.add(attention(heads, queries, width));
  for (auto [heads, queries, width] :
       {std::array<int64_t, 3>{512, 17, 12}, {64, 30, 8}, {2048, 9, 12}}) {
    const MeasuredInstruction asked = attention(heads, queries, width);
    EXPECT_NEAR(*times.find(asked) / asked.seconds, 1, .15)
        << queries << " queries of " << width;
  }
  // Twice as many heads take twice as long.
  EXPECT_NEAR(*times.find(attention(512, 17, 12)) * 2 /
                  *times.find(attention(1024, 17, 12)),
              1, .05);
}

} // namespace
} // namespace zc
