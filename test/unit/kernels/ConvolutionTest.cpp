#include "kernels/Cpu/InstructionSet.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Primitive.h"
#include "kernels/Cpu/TileConvolution.h"
#include "test/unit/kernels/TestTensors.h"

#include <cmath>
#include <functional>

namespace zc::kernels::test {
namespace {

/// A square two-dimensional convolution.
struct Case {
  int64_t batch, channels, filters, size, kernel, stride, dilation, pad, groups;
};

ConvolutionSpec makeSpec(const Case &c, ConvolutionKind kind, bool last) {
  int64_t out =
      (c.size + 2 * c.pad - c.dilation * (c.kernel - 1) - 1) / c.stride + 1;
  auto layout = last ? channelsLast : rowMajor;
  ConvolutionSpec spec;
  spec.kind = kind;
  spec.source = layout({c.batch, c.channels, c.size, c.size});
  spec.filter =
      rowMajor({c.filters, c.channels / c.groups, c.kernel, c.kernel});
  spec.destination = layout({c.batch, c.filters, out, out});
  spec.strides = {c.stride, c.stride};
  spec.dilations = {c.dilation, c.dilation};
  spec.padsLow = spec.padsHigh = {c.pad, c.pad};
  spec.groups = c.groups;
  return spec;
}

int64_t offset(const StridedTensor &t, int64_t a, int64_t b, int64_t c,
               int64_t d) {
  return a * t.strides[0] + b * t.strides[1] + c * t.strides[2] +
         d * t.strides[3];
}

/// Calls `visit(source, filter, destination)` with the offsets of every
/// product.
void forEachProduct(
    const ConvolutionSpec &s,
    const std::function<void(int64_t, int64_t, int64_t)> &visit) {
  const Dims &src = s.source.dims, &fil = s.filter.dims,
             &dst = s.destination.dims;
  int64_t perGroup = fil[0] / s.groups;
  for (int64_t n = 0; n < dst[0]; ++n)
    for (int64_t k = 0; k < dst[1]; ++k)
      for (int64_t y = 0; y < dst[2]; ++y)
        for (int64_t x = 0; x < dst[3]; ++x)
          for (int64_t c = 0; c < fil[1]; ++c)
            for (int64_t i = 0; i < fil[2]; ++i)
              for (int64_t j = 0; j < fil[3]; ++j) {
                int64_t h =
                    y * s.strides[0] + i * s.dilations[0] - s.padsLow[0];
                int64_t w =
                    x * s.strides[1] + j * s.dilations[1] - s.padsLow[1];
                if (h < 0 || h >= src[2] || w < 0 || w >= src[3])
                  continue;
                visit(offset(s.source, n, k / perGroup * fil[1] + c, h, w),
                      offset(s.filter, k, c, i, j),
                      offset(s.destination, n, k, y, x));
              }
}

void checkBy(Primitive &primitive, const ConvolutionSpec &spec) {
  std::vector<float> operands[] = {fill(spec.source, 1), fill(spec.filter, 2),
                                   fill(spec.destination, 3)};
  size_t result = spec.kind == ConvolutionKind::Forward         ? 2
                  : spec.kind == ConvolutionKind::BackwardInput ? 0
                                                                : 1;
  std::vector<double> sums(operands[result].size()), magnitudes(sums.size(), 1);
  forEachProduct(spec, [&](int64_t s, int64_t f, int64_t d) {
    int64_t at[] = {s, f, d};
    double term = 1;
    for (size_t i = 0; i < 3; ++i)
      term *= i == result ? 1 : operands[i][at[i]];
    sums[at[result]] += term;
    magnitudes[at[result]] += std::abs(term);
  });
  GuardedWorkspace workspace(ConvolutionCall::cpuWorkspace(spec, kThreads));
  void *pointers[] = {operands[0].data(), operands[1].data(),
                      operands[2].data()};
  std::string error;
  // Twice: nothing of the first run may leak into the second.
  for (int run = 0; run < 2; ++run)
    ASSERT_TRUE(primitive.execute(pointers, workspace.get(), &error)) << error;
  EXPECT_TRUE(workspace.intact());
  for (size_t i = 0; i < sums.size(); ++i)
    ASSERT_NEAR(operands[result][i], sums[i], kTolerance * magnitudes[i])
        << primitive.implementation() << ", element " << i;
}

/// The way that this machine takes, and our own tiles where they are one.
void check(const Case &c, ConvolutionKind kind, bool last) {
  setTeamSize(kThreads);
  ConvolutionSpec spec = makeSpec(c, kind, last);
  std::string error;
  uint64_t bound = ConvolutionCall::cpuWorkspace(spec, kThreads);
  auto chosen = createPrimitive(spec, bound, &error);
  ASSERT_TRUE(chosen) << error;
  checkBy(*chosen, spec);
  auto tiles = createTileConvolution(spec, bound);
  int64_t channels = kind == ConvolutionKind::Forward ? c.filters : c.channels;
  EXPECT_EQ(tiles != nullptr, kind != ConvolutionKind::BackwardFilter && last &&
                                  c.groups == 1 && channels % 16 == 0);
  if (tiles)
    checkBy(*tiles, spec);
}

class Convolution : public ::testing::TestWithParam<Case> {};

TEST_P(Convolution, EqualsNaiveLoops) {
  for (ConvolutionKind kind :
       {ConvolutionKind::Forward, ConvolutionKind::BackwardInput,
        ConvolutionKind::BackwardFilter})
    for (bool last : {true, false})
      check(GetParam(), kind, last);
}

INSTANTIATE_TEST_SUITE_P(All, Convolution,
                         ::testing::Values(Case{2, 16, 32, 8, 3, 1, 1, 1, 1},
                                           Case{1, 3, 8, 11, 7, 2, 1, 3, 1},
                                           Case{2, 8, 16, 7, 1, 1, 1, 0, 1},
                                           Case{2, 16, 16, 8, 1, 2, 1, 0, 1},
                                           Case{1, 1, 10, 9, 5, 1, 1, 2, 1},
                                           Case{2, 8, 12, 6, 3, 1, 1, 1, 4},
                                           Case{2, 16, 16, 9, 3, 1, 1, 1, 16},
                                           Case{1, 16, 16, 9, 3, 2, 1, 1, 16},
                                           Case{1, 16, 16, 12, 3, 1, 2, 2, 1},
                                           Case{1, 6, 9, 5, 5, 1, 1, 2, 3}));

// Filters' gradients by tiles: rows and panels that end with a part, several
// blocks of pixels, of rows, taps in the padding, rows and columns swapped.
INSTANTIATE_TEST_SUITE_P(Tiles, Convolution,
                         ::testing::Values(Case{4, 32, 80, 20, 1, 1, 1, 0, 1},
                                           Case{2, 80, 32, 17, 1, 1, 1, 0, 1},
                                           Case{2, 16, 48, 33, 3, 2, 1, 1, 1},
                                           Case{1, 16, 400, 5, 3, 2, 1, 1, 1},
                                           Case{1, 32, 16, 13, 3, 2, 2, 2, 1},
                                           Case{2, 32, 32, 9, 1, 2, 1, 0, 1}));

TEST(ConvolutionChoice, ByTilesWhereTheLibraryIsSlow) {
  if (widestInstructionSet() == InstructionSet::Baseline)
    GTEST_SKIP() << "needs AVX2";
  setTeamSize(kThreads);
  auto implementation = [](const Case &c, ConvolutionKind kind) {
    ConvolutionSpec spec = makeSpec(c, kind, /*last=*/true);
    std::string error;
    auto primitive = createPrimitive(
        spec, ConvolutionCall::cpuWorkspace(spec, kThreads), &error);
    return primitive ? primitive->implementation() : error;
  };
  const Case pointwise = {2, 32, 64, 8, 1, 1, 1, 0, 1};
  const Case strided = {2, 32, 64, 8, 3, 2, 1, 1, 1};
  const Case dense = {2, 32, 64, 8, 3, 1, 1, 1, 1};
  EXPECT_EQ(
      implementation(pointwise, ConvolutionKind::BackwardFilter).find("tiles"),
      0u);
  EXPECT_EQ(
      implementation(strided, ConvolutionKind::BackwardFilter).find("tiles"),
      0u);
  EXPECT_NE(
      implementation(dense, ConvolutionKind::BackwardFilter).find("tiles"), 0u);
}

// Goes through the library's whole list of implementations, for which the
// library reads the operation again.
TEST(ConvolutionErrors, WithoutWorkspaceItFindsAnotherOrSaysWhy) {
  const Case atrous = {2, 96, 32, 4, 3, 1, 12, 12, 1};
  for (ConvolutionKind kind :
       {ConvolutionKind::Forward, ConvolutionKind::BackwardInput,
        ConvolutionKind::BackwardFilter}) {
    check(atrous, kind, true);
    std::string error;
    if (!createPrimitive(makeSpec(atrous, kind, true), 0, &error)) {
      EXPECT_NE(error.find("scratch memory"), std::string::npos) << error;
    }
  }
}

TEST(ConvolutionErrors, SaysWhatItCannotDo) {
  ConvolutionSpec spec =
      makeSpec({1, 4, 4, 8, 3, 1, 1, 1, 1}, ConvolutionKind::Forward, true);
  spec.destination.dims[2] = 5;
  std::string error;
  EXPECT_FALSE(createPrimitive(spec, 1 << 20, &error));
  EXPECT_NE(error.find("convolution of source f32 [1, 4, 8, 8]"),
            std::string::npos)
      << error;
}

} // namespace
} // namespace zc::kernels::test
