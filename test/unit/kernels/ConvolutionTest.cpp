#include "kernels/Cpu/InstructionSet.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Primitive.h"
#include "kernels/Cpu/TileConvolution.h"
#include "test/unit/kernels/TestConvolutions.h"

#include <cmath>

namespace zc::kernels::test {
namespace {

void checkBy(Primitive &primitive, const ConvolutionSpec &spec) {
  std::vector<float> operands[] = {fill(spec.source, 1), fill(spec.filter, 2),
                                   fill(spec.destination, 3)};
  size_t result = resultOf(spec);
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
