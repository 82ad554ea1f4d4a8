// The bounds hold for the implementations that the library would choose freely,
// so that planning for them costs no speed; and they stay small.
#include "kernels/Cpu/OneDnn.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Primitive.h"
#include "test/unit/kernels/TestTensors.h"

namespace zc::kernels::test {
namespace {

constexpr uint64_t kUnlimited = uint64_t(1) << 50;

constexpr int kTeams[] = {1, 2, 8};

TEST(Workspace, MatmulsKeepWithinTheirBounds) {
  const std::tuple<int64_t, int64_t, int64_t> shapes[] = {
      {1024, 768, 768},   {1024, 768, 3072},  {1024, 3072, 768},
      {1024, 768, 50304}, {1024, 50304, 768}, {50304, 1024, 768},
      {64, 784, 128},     {128, 10, 64},      {1, 768, 50257},
      {256, 1024, 4096},  {1000, 256, 4096},  {7, 512, 3}};
  for (int threads : kTeams)
    for (auto [m, k, n] : shapes)
      for (int layout = 0; layout < 8; ++layout) {
        MatmulSpec spec;
        spec.a = layout & 1 ? transposed({m, k}) : rowMajor({m, k});
        spec.b = layout & 2 ? transposed({k, n}) : rowMajor({k, n});
        spec.c = rowMajor({m, n});
        spec.accumulate = layout & 4;
        setTeamSize(threads);
        std::string error;
        auto primitive = createPrimitive(spec, kUnlimited, &error);
        ASSERT_TRUE(primitive) << error;
        EXPECT_LE(primitive->workspaceBytes(),
                  MatmulCall::cpuWorkspace(spec, threads))
            << m << " x " << k << " x " << n << ", layout " << layout << ", "
            << threads << " threads";
      }
  setTeamSize(kThreads);
}

TEST(Workspace, BatchedMatmulsKeepWithinTheirBounds) {
  for (int threads : kTeams) {
    MatmulSpec spec{rowMajor({4, 12, 256, 64}), transposed({4, 12, 64, 256}),
                    rowMajor({4, 12, 256, 256}), false};
    setTeamSize(threads);
    std::string error;
    auto primitive = createPrimitive(spec, kUnlimited, &error);
    ASSERT_TRUE(primitive) << error;
    EXPECT_LE(primitive->workspaceBytes(),
              MatmulCall::cpuWorkspace(spec, threads));
  }
  setTeamSize(kThreads);
}

// [batch, channels, filters, size, kernel, stride, groups]: ResNet, MobileNet,
// the first layers of both.
TEST(Workspace, ConvolutionsKeepWithinTheirBounds) {
  const int64_t shapes[][7] = {
      {8, 3, 64, 224, 7, 2, 1},    {8, 64, 64, 56, 3, 1, 1},
      {8, 64, 128, 56, 1, 2, 1},   {8, 256, 512, 28, 1, 2, 1},
      {8, 512, 512, 7, 3, 1, 1},   {8, 128, 128, 28, 3, 2, 1},
      {8, 32, 32, 112, 3, 1, 32},  {8, 96, 96, 56, 3, 2, 96},
      {8, 128, 128, 28, 3, 1, 32}, {32, 1, 16, 28, 5, 1, 1},
      {64, 3, 16, 32, 3, 1, 1},    {16, 100, 10, 14, 1, 1, 1},
      {8, 12, 64, 30, 7, 2, 1},    {2, 28, 64, 30, 3, 2, 2}};
  for (int threads : kTeams)
    for (auto [n, c, k, size, kernel, stride, groups] : shapes)
      for (ConvolutionKind kind :
           {ConvolutionKind::Forward, ConvolutionKind::BackwardInput,
            ConvolutionKind::BackwardFilter}) {
        int64_t pad = kernel / 2, out = (size + 2 * pad - kernel) / stride + 1;
        ConvolutionSpec spec;
        spec.kind = kind;
        spec.source = channelsLast({n, c, size, size});
        spec.filter = rowMajor({k, c / groups, kernel, kernel});
        spec.destination = channelsLast({n, k, out, out});
        spec.strides = {stride, stride};
        spec.dilations = {1, 1};
        spec.padsLow = spec.padsHigh = {pad, pad};
        spec.groups = groups;
        setTeamSize(threads);
        std::string error;
        // Where the library computes by plain loops (on ARM), it has other
        // ways that need less than its first one.
        auto primitive =
            createPrimitive(spec,
                            onednn::computesByVectors()
                                ? kUnlimited
                                : ConvolutionCall::cpuWorkspace(spec, threads),
                            &error);
        ASSERT_TRUE(primitive) << error;
        EXPECT_LE(primitive->workspaceBytes(),
                  ConvolutionCall::cpuWorkspace(spec, threads))
            << primitive->implementation() << ": " << n << " " << c << " " << k
            << " " << size << " " << kernel << " " << stride << " " << groups
            << ", kind " << int(kind) << ", " << threads << " threads";
      }
  setTeamSize(kThreads);
}

TEST(Workspace, BoundsStayWellBelowTheOperands) {
  MatmulSpec spec{rowMajor({1024, 768}), rowMajor({768, 50304}),
                  rowMajor({1024, 50304}), false};
  EXPECT_LT(MatmulCall::cpuWorkspace(spec, 2), uint64_t(5) << 20);
  spec = {rowMajor({4, 3}), rowMajor({3, 1}), rowMajor({4, 1}), false};
  EXPECT_LT(MatmulCall::cpuWorkspace(spec, 1), uint64_t(64) << 10);
}

TEST(Workspace, BoundsAreAlignedAndSurviveHugeShapes) {
  const int64_t huge = int64_t(1) << 31;
  MatmulSpec spec{rowMajor({huge, huge}), rowMajor({huge, huge}),
                  rowMajor({huge, huge}), false};
  EXPECT_EQ(MatmulCall::cpuWorkspace(spec, 3) % 64, 0u);
  EXPECT_LT(MatmulCall::cpuWorkspace(spec, 3), uint64_t(10) << 20);
}

} // namespace
} // namespace zc::kernels::test
