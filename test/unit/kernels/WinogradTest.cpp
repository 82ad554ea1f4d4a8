// Winograd's convolutions equal direct ones, as exactly as direct float32 sums
// do: within 4 times their error.
#include "kernels/Cpu/Winograd.h"
#include "kernels/Cpu/ConvolutionWays.h"
#include "kernels/Cpu/InstructionSet.h"
#include "kernels/Cpu/Parallel.h"
#include "test/unit/kernels/TestConvolutions.h"

#include <algorithm>
#include <cmath>

namespace zc::kernels::test {
namespace {

constexpr ConvolutionKind kKinds[] = {ConvolutionKind::Forward,
                                      ConvolutionKind::BackwardInput,
                                      ConvolutionKind::BackwardFilter};

ConvolutionSpec winogradSpec(const Case &c, ConvolutionKind kind) {
  ConvolutionSpec spec = makeSpec(c, kind, /*last=*/true);
  spec.winograd = true;
  return spec;
}

/// Numbers of about a normal distribution; `positive`: as ReLU leaves them.
std::vector<float> draw(const StridedTensor &tensor, uint32_t seed,
                        bool positive) {
  std::vector<float> values = fill(tensor, seed), more = fill(tensor, seed + 9),
                     third = fill(tensor, seed + 17);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] += more[i] + third[i];
    if (positive)
      values[i] = std::max(0.0f, values[i]);
  }
  return values;
}

struct Operands {
  std::vector<float> tensors[3]; // source, filter, destination

  Operands(const ConvolutionSpec &spec, bool positive, uint32_t seed = 0)
      : tensors{draw(spec.source, seed + 1, positive),
                draw(spec.filter, seed + 2, false),
                draw(spec.destination, seed + 3, false)} {}
};

/// The operand that the kernel writes; operands keep what they are.
std::vector<float> run(Primitive &primitive, const ConvolutionSpec &spec,
                       const Operands &operands) {
  std::vector<float> tensors[3];
  void *pointers[3];
  for (size_t i = 0; i < 3; ++i) {
    tensors[i] = operands.tensors[i];
    pointers[i] = tensors[i].data();
  }
  std::fill(tensors[resultOf(spec)].begin(), tensors[resultOf(spec)].end(),
            NAN);
  GuardedWorkspace workspace(primitive.workspaceBytes());
  std::string error;
  // Twice: nothing of the first run may leak into the second.
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(primitive.execute(pointers, workspace.get(), &error)) << error;
  EXPECT_TRUE(workspace.intact());
  return tensors[resultOf(spec)];
}

/// In double precision.
std::vector<double> computeExactly(const ConvolutionSpec &spec,
                                   const Operands &operands) {
  const size_t result = resultOf(spec);
  std::vector<double> sums(operands.tensors[result].size());
  forEachProduct(spec, [&](int64_t s, int64_t f, int64_t d) {
    const int64_t at[] = {s, f, d};
    double term = 1;
    for (size_t i = 0; i < 3; ++i)
      term *= i == result ? 1 : operands.tensors[i][at[i]];
    sums[at[result]] += term;
  });
  return sums;
}

/// The error's root mean square, and its greatest magnitude.
struct Error {
  double mean = 0, most = 0;

  Error(const std::vector<float> &values, const std::vector<double> &exact) {
    for (size_t i = 0; i < exact.size(); ++i) {
      double error = values[i] - exact[i];
      mean += error * error;
      most = std::isnan(error) ? NAN : std::max(most, std::abs(error));
    }
    mean = std::sqrt(mean / double(exact.size()));
  }
};

std::unique_ptr<Primitive> makeWinograd(const ConvolutionSpec &spec) {
  return createWinograd(spec, winogradWorkspace(spec, kThreads));
}

class Winograd : public ::testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    if (widestInstructionSet() == InstructionSet::Baseline)
      GTEST_SKIP() << "needs AVX2";
    setTeamSize(kThreads);
  }
};

// All that can be computed so at all is right. The largest element of a sum's
// error is far below a ten-thousandth of a result, a wrong tap or border above
// it.
TEST_P(Winograd, EqualsDirectSums) {
  for (ConvolutionKind kind : kKinds) {
    const ConvolutionSpec spec = winogradSpec(GetParam(), kind);
    const Operands operands(spec, false);
    auto kernel = makeWinograd(spec);
    ASSERT_TRUE(kernel);
    const std::vector<double> exact = computeExactly(spec, operands);
    double largest = 0;
    for (double value : exact)
      largest = std::max(largest, std::abs(value));
    const Error error(run(*kernel, spec, operands), exact);
    EXPECT_LT(error.most, 1e-5 * largest) << "kind " << int(kind);
  }
}

// Pads of none, one and two, sizes that are no multiples of a tile and below
// one, several blocks and parts of tiles, panels that end with a part; each
// order of the work.
INSTANTIATE_TEST_SUITE_P(All, Winograd,
                         ::testing::Values(Case{2, 16, 16, 8, 3, 1, 1, 1, 1},
                                           Case{1, 32, 16, 7, 3, 1, 1, 0, 1},
                                           Case{3, 16, 80, 13, 3, 1, 1, 1, 1},
                                           Case{1, 48, 32, 5, 3, 1, 1, 2, 1},
                                           Case{2, 16, 32, 3, 3, 1, 1, 0, 1},
                                           Case{1, 16, 16, 1, 3, 1, 1, 1, 1},
                                           Case{9, 32, 144, 14, 3, 1, 1, 1, 1},
                                           Case{1, 16, 16, 70, 3, 1, 1, 1, 1}));

class WinogradError : public Winograd {};

// The bar of the rule: 4 times the error of the library's direct convolution,
// in the mean; the largest of many errors varies more.
void compareWithDirectSums(ConvolutionSpec spec, bool positive, uint32_t seed) {
  constexpr double kTimes = 4, kTimesOfLargest = 5;
  const Operands operands(spec, positive, seed);
  auto kernel = makeWinograd(spec);
  std::string why;
  spec.winograd = false;
  auto direct = createPrimitive(
      spec, ConvolutionCall::cpuWorkspace(spec, kThreads), &why);
  ASSERT_TRUE(kernel);
  ASSERT_TRUE(direct) << why;
  const std::vector<double> exact = computeExactly(spec, operands);
  const Error ours(run(*kernel, spec, operands), exact),
      theirs(run(*direct, spec, operands), exact);
  EXPECT_LT(ours.mean, kTimes * theirs.mean)
      << "kind " << int(spec.kind) << ", positive " << positive << ", seed "
      << seed << ", " << direct->implementation();
  EXPECT_LT(ours.most, kTimesOfLargest * theirs.most)
      << "kind " << int(spec.kind) << ", positive " << positive << ", seed "
      << seed;
}

TEST_P(WinogradError, StaysWithinFourTimesThatOfDirectSums) {
  int kinds = 0;
  for (ConvolutionKind kind : kKinds) {
    const ConvolutionSpec spec = winogradSpec(GetParam(), kind);
    if (!isAccurateByWinograd(spec))
      continue;
    ++kinds;
    for (bool positive : {false, true})
      compareWithDirectSums(spec, positive, 0);
  }
  // Some have too few pixels for the filter's gradient, and no more.
  EXPECT_GE(kinds, 2);
}

INSTANTIATE_TEST_SUITE_P(All, WinogradError,
                         ::testing::Values(Case{8, 32, 32, 14, 3, 1, 1, 1, 1},
                                           Case{8, 64, 64, 7, 3, 1, 1, 1, 1},
                                           Case{4, 32, 48, 11, 3, 1, 1, 0, 1},
                                           Case{1, 32, 32, 47, 3, 1, 1, 1, 1},
                                           Case{4, 128, 32, 9, 3, 1, 1, 1, 1},
                                           Case{16, 32, 32, 4, 3, 1, 1, 1, 1}));

class WinogradFilterError : public Winograd {};

// The fewest pixels and images that the rule takes: short sums err least, and
// vary with the numbers.
TEST_P(WinogradFilterError, StaysWithinFourTimesWhereSumsAreShortest) {
  const ConvolutionSpec spec =
      winogradSpec(GetParam(), ConvolutionKind::BackwardFilter);
  ASSERT_TRUE(isAccurateByWinograd(spec));
  for (uint32_t seed : {0, 100, 300})
    for (bool positive : {false, true})
      compareWithDirectSums(spec, positive, seed);
}

INSTANTIATE_TEST_SUITE_P(All, WinogradFilterError,
                         ::testing::Values(Case{6, 32, 32, 8, 3, 1, 1, 1, 1},
                                           Case{7, 32, 32, 8, 3, 1, 1, 1, 1},
                                           Case{8, 32, 32, 7, 3, 1, 1, 1, 1},
                                           Case{11, 32, 32, 6, 3, 1, 1, 1, 1},
                                           Case{24, 32, 32, 4, 3, 1, 1, 1, 1},
                                           Case{6, 32, 32, 18, 3, 1, 1, 1, 1},
                                           Case{4, 32, 32, 23, 3, 1, 1, 1, 1},
                                           Case{2, 32, 32, 33, 3, 1, 1, 1, 1},
                                           Case{1, 32, 32, 46, 3, 1, 1, 1, 1}));

// The sums of 4 images of 10x10 err 4.1 times as much, and so do those of
// 16x16 with 16 channels.
TEST(WinogradChoice, LeavesShorterSumsOfFiltersGradientsToOthers) {
  for (const Case &c :
       {Case{4, 32, 32, 10, 3, 1, 1, 1, 1}, Case{4, 16, 16, 16, 3, 1, 1, 1, 1},
        Case{6, 64, 16, 8, 3, 1, 1, 1, 1}, Case{6, 32, 32, 7, 3, 1, 1, 1, 1}})
    EXPECT_FALSE(
        isAccurateByWinograd(winogradSpec(c, ConvolutionKind::BackwardFilter)))
        << c.batch << " images of " << c.size;
}

// By blocks on one thread and by parts on more; by panels on up to two.
TEST_F(Winograd, ComputesTheSameBitsOnAnyNumberOfThreads) {
  for (const Case &some : {Case{5, 32, 64, 14, 3, 1, 1, 1, 1},
                           Case{1, 64, 128, 14, 3, 1, 1, 1, 1}})
    for (ConvolutionKind kind : kKinds) {
      const ConvolutionSpec spec = winogradSpec(some, kind);
      const Operands operands(spec, false);
      std::vector<float> first;
      for (int threads : {1, 2, 3, 7}) {
        setTeamSize(threads);
        auto kernel = createWinograd(spec, winogradWorkspace(spec, threads));
        ASSERT_TRUE(kernel);
        std::vector<float> result = run(*kernel, spec, operands);
        if (first.empty())
          first = result;
        EXPECT_EQ(first, result) << threads << " threads, kind " << int(kind);
      }
    }
}

// The pads at the end need not be those at the beginning.
TEST_F(Winograd, PadsOneSide) {
  for (ConvolutionKind kind : kKinds) {
    ConvolutionSpec spec = winogradSpec({1, 16, 16, 9, 3, 1, 1, 1, 1}, kind);
    spec.padsHigh = {0, 2};
    spec.destination = channelsLast({1, 16, 8, 10});
    const Operands operands(spec, false);
    auto kernel = makeWinograd(spec);
    ASSERT_TRUE(kernel);
    EXPECT_LT(
        Error(run(*kernel, spec, operands), computeExactly(spec, operands))
            .most,
        1e-4);
  }
}

TEST(WinogradChoice, IsOpenWhereTheSpecAllowsIt) {
  if (widestInstructionSet() == InstructionSet::Baseline)
    GTEST_SKIP() << "needs AVX2";
  setTeamSize(kThreads);
  auto implementation = [](const ConvolutionSpec &spec, uint64_t bytes) {
    std::string error;
    auto made = createPrimitive(spec, bytes, &error);
    return made ? made->implementation() : error;
  };
  for (ConvolutionKind kind : kKinds) {
    ConvolutionSpec spec = winogradSpec({8, 64, 64, 14, 3, 1, 1, 1, 1}, kind);
    const uint64_t bytes = ConvolutionCall::cpuWorkspace(spec, kThreads);
    EXPECT_GE(bytes, winogradWorkspace(spec, kThreads));
    EXPECT_EQ(implementation(spec, bytes),
              std::string("winograd:") + nameOf(widestInstructionSet()));
    EXPECT_EQ(waysOf(spec).front(), Way::Winograd);
    // Without room the library computes it.
    ConvolutionSpec direct = spec;
    direct.winograd = false;
    const uint64_t less = ConvolutionCall::cpuWorkspace(direct, kThreads);
    EXPECT_LT(less, bytes);
    EXPECT_NE(implementation(spec, less).find("winograd"), 0u);
    EXPECT_NE(implementation(direct, bytes).find("winograd"), 0u);
    for (Way way : waysOf(direct))
      EXPECT_NE(way, Way::Winograd);
  }
}

// Few channels, few pixels, steps, other taps, and types that are not float32.
TEST(WinogradChoice, LeavesTheRestToOthers) {
  auto takes = [](const Case &c) {
    return winogradIsQuicker(winogradSpec(c, ConvolutionKind::Forward));
  };
  EXPECT_TRUE(takes({8, 64, 64, 14, 3, 1, 1, 1, 1}));
  EXPECT_FALSE(takes({8, 16, 64, 14, 3, 1, 1, 1, 1}));
  EXPECT_FALSE(takes({8, 64, 16, 14, 3, 1, 1, 1, 1}));
  EXPECT_FALSE(takes({8, 40, 40, 14, 3, 1, 1, 1, 1}));
  EXPECT_FALSE(takes({1, 64, 64, 14, 3, 1, 1, 1, 1}));
  EXPECT_FALSE(takes({64, 64, 64, 5, 3, 1, 1, 1, 1})); // 2.6 times the pixels
  EXPECT_TRUE(takes({64, 64, 64, 6, 3, 1, 1, 1, 1}));
  EXPECT_FALSE(takes({64, 32, 32, 6, 3, 1, 1, 1, 1}));
  EXPECT_FALSE(takes({8, 64, 64, 14, 3, 2, 1, 1, 1}));
  EXPECT_FALSE(takes({8, 64, 64, 14, 3, 1, 2, 2, 1}));
  EXPECT_FALSE(takes({8, 64, 64, 14, 5, 1, 1, 2, 1}));
  EXPECT_FALSE(takes({8, 64, 64, 14, 1, 1, 1, 0, 1}));
  EXPECT_FALSE(takes({8, 64, 64, 14, 3, 1, 1, 1, 2}));
  ConvolutionSpec spec =
      winogradSpec({8, 64, 64, 14, 3, 1, 1, 1, 1}, ConvolutionKind::Forward);
  spec.source.type = ElementType::BF16;
  EXPECT_FALSE(winogradIsQuicker(spec));
}

// Tuning measures no way that lacks the memory that is planned for the call:
// with images so small Winograd is not quicker.
TEST(WinogradChoice, ListsNoWayWithoutRoom) {
  setTeamSize(kThreads);
  for (const Case &c :
       {Case{64, 64, 64, 5, 3, 1, 1, 1, 1}, Case{64, 32, 32, 6, 3, 1, 1, 1, 1},
        Case{8, 64, 64, 14, 3, 1, 1, 1, 1}})
    for (ConvolutionKind kind : kKinds) {
      const ConvolutionSpec spec = winogradSpec(c, kind);
      for (Way way : waysOf(spec)) {
        std::string error;
        EXPECT_TRUE(createPrimitive(
            spec, ConvolutionCall::cpuWorkspace(spec, kThreads), &error, way))
            << nameOf(way) << ", kind " << int(kind) << ": " << error;
      }
    }
}

constexpr Case kLargeCases[] = {
    {64, 64, 64, 224, 3, 1, 1, 1, 1}, {8, 64, 64, 56, 3, 1, 1, 1, 1},
    {8, 512, 512, 7, 3, 1, 1, 1, 1},  {2, 64, 4096, 14, 3, 1, 1, 1, 1},
    {8, 32, 2048, 14, 3, 1, 1, 1, 1}, {8, 2048, 2048, 14, 3, 1, 1, 1, 1}};

// Whatever the images' and the filter's sizes, and however many threads.
TEST(WinogradChoice, BoundsItsScratchMemory) {
  for (ConvolutionKind kind : kKinds)
    for (const Case &c : kLargeCases)
      for (int threads : {1, 2, 8, 64, 192})
        EXPECT_LE(winogradWorkspace(winogradSpec(c, kind), threads),
                  uint64_t(32) << 20)
            << c.channels << ", kind " << int(kind) << ", threads " << threads;
}

// The bound leaves a processor of many cores most of them.
TEST(WinogradChoice, DividesItsScratchMemoryAmongManyThreads) {
  for (ConvolutionKind kind : kKinds)
    for (const Case &c : {kLargeCases[0], kLargeCases[1], kLargeCases[2]}) {
      const ConvolutionSpec spec = winogradSpec(c, kind);
      EXPECT_LE(divideWinograd(spec, 64).bytes(64), kWinogradMostBytes)
          << c.channels << ", kind " << int(kind);
    }
}

// No scratch memory is planned where one thread needs more than the bound.
TEST(WinogradChoice, LeavesVeryManyChannelsToOthers) {
  const ConvolutionSpec spec =
      winogradSpec({1, 8192, 64, 32, 3, 1, 1, 1, 1}, ConvolutionKind::Forward);
  EXPECT_EQ(winogradWorkspace(spec, 192), 0u);
  EXPECT_FALSE(winogradIsQuicker(spec));
}

} // namespace
} // namespace zc::kernels::test
