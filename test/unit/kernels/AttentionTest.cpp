// Attention against loops in double precision, for every instruction set that
// this machine has.
#include "kernels/Cpu/AttentionHead.h"
#include "kernels/Cpu/InstructionSet.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Primitive.h"
#include "test/unit/kernels/TestTensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace zc::kernels::test {
namespace {

using Doubles = std::vector<double>;

/// The operands and results of one attention, as the primitive takes them.
struct Case {
  explicit Case(const AttentionSpec &spec) : spec(spec) {
    Dims ofQueries{spec.batch, spec.queries, spec.heads, spec.width};
    Dims ofKeys{spec.batch, spec.keys, spec.heads, spec.width};
    for (int i = 0; i < 9; ++i) {
      bool keys = i == 1 || i == 2 || i == 7 || i == 8;
      tensors.push_back(fill(rowMajor(keys ? ofKeys : ofQueries), i + 1));
    }
    tensors[4].resize(spec.batch * spec.heads * spec.queries);
    for (auto &tensor : tensors)
      expected.emplace_back(tensor.size(), 0.0);
    tensors.push_back(fill(rowMajor({spec.batch, 1, spec.queries, spec.keys}),
                           /*seed=*/10));
  }

  double maskAt(int64_t b, int64_t t, int64_t s) const {
    return spec.masked ? tensors[9][(b * spec.queries + t) * spec.keys + s] : 0;
  }

  int64_t place(int64_t tokens, int64_t b, int64_t t, int64_t h) const {
    return ((b * tokens + t) * spec.heads + h) * spec.width;
  }

  double dot(int i, int64_t a, int j, int64_t b) const {
    double sum = 0;
    for (int64_t d = 0; d < spec.width; ++d)
      sum += double(tensors[i][a + d]) * tensors[j][b + d];
    return sum;
  }

  /// Everything that one query gives, added to `expected`.
  void addQuery(int64_t b, int64_t h, int64_t t) {
    int64_t seen = spec.bounded  ? lastKeys[t] + 1
                   : spec.causal ? t + 1
                                 : spec.keys;
    int64_t row = place(spec.queries, b, t, h);
    Doubles p(seen);
    double largest = -INFINITY, sum = 0, delta = 0;
    for (int64_t s = 0; s < seen; ++s) {
      p[s] = spec.scale * dot(0, row, 1, place(spec.keys, b, s, h)) +
             maskAt(b, t, s);
      largest = std::max(largest, p[s]);
    }
    if (largest == -INFINITY) { // nothing is seen
      expected[4][(b * spec.heads + h) * spec.queries + t] = kNothingSeen;
      return;
    }
    for (double &value : p)
      sum += value = std::exp(value - largest);
    expected[4][(b * spec.heads + h) * spec.queries + t] =
        largest + std::log(sum);
    for (int64_t s = 0; s < seen; ++s)
      for (int64_t d = 0; d < spec.width; ++d)
        expected[3][row + d] +=
            p[s] / sum * tensors[2][place(spec.keys, b, s, h) + d];
    for (int64_t d = 0; d < spec.width; ++d)
      delta += expected[3][row + d] * tensors[5][row + d];
    for (int64_t s = 0; s < seen; ++s) {
      int64_t key = place(spec.keys, b, s, h);
      double weight = p[s] / sum;
      double slope = spec.scale * weight * (dot(5, row, 2, key) - delta);
      for (int64_t d = 0; d < spec.width; ++d) {
        expected[6][row + d] += slope * tensors[1][key + d];
        expected[7][key + d] += slope * tensors[0][row + d];
        expected[8][key + d] += weight * tensors[5][row + d];
      }
    }
  }

  void computeExpected() {
    for (int64_t b = 0; b < spec.batch; ++b)
      for (int64_t h = 0; h < spec.heads; ++h)
        for (int64_t t = 0; t < spec.queries; ++t)
          addQuery(b, h, t);
  }

  AttentionSpec spec;
  std::vector<int64_t> lastKeys; // of each query, where they are bounded
  std::vector<std::vector<float>> tensors;
  std::vector<Doubles> expected;
};

void expectEqual(const Case &example, std::initializer_list<int> results) {
  for (int result : results)
    for (size_t i = 0; i < example.expected[result].size(); ++i)
      ASSERT_NEAR(example.tensors[result][i], example.expected[result][i],
                  1e-5 * (1 + std::abs(example.expected[result][i])))
          << "tensor " << result << ", element " << i;
}

/// Runs the primitive on the case's tensors; those not in `given` are null.
void run(Case &example, bool backward, int given) {
  AttentionSpec spec = example.spec;
  spec.backward = backward;
  std::string error;
  uint64_t bound = AttentionCall::cpuWorkspace(spec, kThreads);
  auto primitive = createPrimitive(spec, bound, &error);
  ASSERT_TRUE(primitive) << error;
  EXPECT_LE(primitive->workspaceBytes(), bound);
  GuardedWorkspace workspace(bound);
  void *operands[10] = {};
  operands[9] = example.tensors[9].data();
  if (spec.bounded)
    operands[9] = example.lastKeys.data();
  for (int i = 0; i < given; ++i)
    operands[i] = example.tensors[i].data();
  ASSERT_TRUE(primitive->execute(operands, workspace.get(), &error)) << error;
  EXPECT_TRUE(workspace.intact());
}

class Attention : public ::testing::TestWithParam<AttentionSpec> {};

TEST_P(Attention, EqualsNaiveLoops) {
  setTeamSize(kThreads);
  Case example(GetParam());
  example.computeExpected();
  run(example, /*backward=*/false, 5);
  run(example, /*backward=*/true, 9);
  expectEqual(example, {3, 4, 6, 7, 8});
}

// Sizes below, at and beyond a block; widths that fill no vector.
INSTANTIATE_TEST_SUITE_P(
    Shapes, Attention,
    ::testing::Values(AttentionSpec{false, 2, 1, 1, 1, 1, 0.5, false},
                      AttentionSpec{false, 2, 70, 70, 3, 20, 0.3, true},
                      AttentionSpec{false, 1, 64, 64, 2, 64, 0.125, true},
                      AttentionSpec{false, 1, 33, 150, 2, 16, 0.25, false},
                      AttentionSpec{false, 3, 130, 7, 1, 80, 0.1, false}));

/// Numbers of bfloat16, of which each float's upper half is one.
std::vector<uint16_t> upperHalves(const std::vector<float> &values) {
  std::vector<uint16_t> halves;
  for (float value : values) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    halves.push_back(static_cast<uint16_t>(bits >> 16));
  }
  return halves;
}

float widened(uint16_t half) {
  uint32_t bits = uint32_t(half) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Runs the primitive in bfloat16; results come back as floats.
void runNarrow(Case &example, bool backward, int given) {
  AttentionSpec spec = example.spec;
  spec.backward = backward;
  spec.type = ElementType::BF16;
  std::string error;
  uint64_t bound = AttentionCall::cpuWorkspace(spec, kThreads);
  auto primitive = createPrimitive(spec, bound, &error);
  ASSERT_TRUE(primitive) << error;
  EXPECT_EQ(primitive->implementation(),
            hasAmx()
                ? "blocked:amx"
                : std::string("blocked:") + nameOf(widestInstructionSet()));
  GuardedWorkspace workspace(bound);
  std::vector<std::vector<uint16_t>> halves;
  for (const auto &tensor : example.tensors)
    halves.push_back(upperHalves(tensor));
  void *operands[10] = {};
  operands[9] = halves[9].data();
  if (spec.bounded)
    operands[9] = example.lastKeys.data();
  for (int i = 0; i < given; ++i)
    operands[i] = halves[i].data();
  operands[4] = example.tensors[4].data();
  ASSERT_TRUE(primitive->execute(operands, workspace.get(), &error)) << error;
  EXPECT_TRUE(workspace.intact());
  for (int i = 0; i < given; ++i)
    if (i != 4)
      std::transform(halves[i].begin(), halves[i].end(),
                     example.tensors[i].begin(), widened);
}

/// Factors and results have 8 bits; so have, with AMX, probabilities and the
/// gradients of scores, sums of which are compared.
void expectNearlyEqual(const Case &example,
                       std::initializer_list<int> results) {
  for (int result : results)
    for (size_t i = 0; i < example.expected[result].size(); ++i) {
      double expected = example.expected[result][i];
      if (expected == kNothingSeen)
        continue;
      ASSERT_NEAR(example.tensors[result][i], expected,
                  0x1p-6 * (1 + std::abs(expected)))
          << "tensor " << result << ", element " << i;
    }
}

void checkNarrow(Case &example) {
  setTeamSize(kThreads);
  for (size_t i = 0; i < example.tensors.size(); ++i)
    if (i != 4)
      for (float &value : example.tensors[i])
        value = widened(upperHalves({value})[0]);
  example.computeExpected();
  runNarrow(example, /*backward=*/false, 5);
  runNarrow(example, /*backward=*/true, 9);
  expectNearlyEqual(example, {3, 4, 6, 7, 8});
}

TEST_P(Attention, InBFloat16IsNearNaiveLoops) {
  Case example(GetParam());
  checkNarrow(example);
}

// Some keys are hidden, for two queries all, by minus infinity or by several
// numbers in which the scores are lost; others are bounded.
TEST(AttentionPrimitive, InBFloat16KnowsMasksAndBounds) {
  AttentionSpec spec{false, 2, 70, 90, 3, 20, 0.3, false};
  spec.masked = true;
  spec.maskStrides[0] = spec.queries * spec.keys;
  spec.maskStrides[2] = spec.keys;
  Case masked(spec);
  for (size_t i = 0; i < masked.tensors[9].size(); ++i)
    if (i / spec.keys == 6)
      masked.tensors[9][i] = i % 3 == 1 ? -1e38f : i % 3 ? -2e38f : -INFINITY;
    else if (i % 3 == 0 || i / spec.keys == 5)
      masked.tensors[9][i] = -INFINITY;
  checkNarrow(masked);
  AttentionSpec boundedSpec{false, 2, 70, 90, 3, 20, 0.3, false};
  boundedSpec.bounded = true;
  Case bounded(boundedSpec);
  for (int64_t t = 0; t < boundedSpec.queries; ++t)
    bounded.lastKeys.push_back(t * 7 % boundedSpec.keys);
  checkNarrow(bounded);
}

TEST(AttentionPrimitive, InBFloat16GivesTheSameBitsWithAnyThreads) {
  AttentionSpec spec{false, 2, 70, 70, 3, 20, 0.3, true};
  std::vector<std::vector<float>> first;
  for (int threads : {1, 2, 5}) {
    Case example(spec);
    setTeamSize(threads);
    runNarrow(example, /*backward=*/false, 5);
    runNarrow(example, /*backward=*/true, 9);
    if (first.empty())
      first = example.tensors;
    EXPECT_EQ(first, example.tensors) << threads;
  }
  setTeamSize(kThreads);
}

// A mask per sample and query: some keys hidden, for some queries all of them,
// by minus infinity or by numbers in which the scores are lost, also by
// several.
TEST(AttentionPrimitive, AddsAMask) {
  setTeamSize(kThreads);
  AttentionSpec spec{false, 2, 70, 150, 3, 20, 0.3, false};
  spec.masked = true;
  spec.maskStrides[0] = spec.queries * spec.keys;
  spec.maskStrides[2] = spec.keys;
  Case example(spec);
  float lowest = -std::numeric_limits<float>::max();
  for (int64_t t = 0; t < 2 * spec.queries; ++t)
    for (int64_t s = 0; s < spec.keys; ++s) {
      float &mask = example.tensors[9][t * spec.keys + s];
      if (t % 7 == 3)
        mask = -INFINITY;
      else if (t % 7 == 5)
        mask = lowest;
      else if (t % 7 == 4)
        mask = s % 3 ? -INFINITY : lowest;
      else if (t % 7 == 6)
        mask = s % 2 ? -1e38f : -2e38f;
      else if (s % 3 == t % 2)
        mask = t % 2 ? -INFINITY : lowest;
    }
  example.computeExpected();
  run(example, /*backward=*/false, 5);
  run(example, /*backward=*/true, 9);
  expectEqual(example, {3, 4, 6, 7, 8});
}

/// A mask of -1e8 beside scores of -24: their sums are below kAllHidden, and so
/// are keys hidden alike; logs of their counts are lost in that number, but the
/// gradients must be those of what the forward has computed.
Case casePastTheThreshold() {
  AttentionSpec spec{false, 1, 5, 70, 1, 16, 1, false};
  spec.masked = true;
  spec.maskStrides[0] = spec.queries * spec.keys;
  spec.maskStrides[2] = spec.keys;
  Case example(spec);
  for (float &mask : example.tensors[9])
    mask = 0; // what is expected: softmax of scores that are alike
  for (float &q : example.tensors[0])
    q = -1;
  for (float &k : example.tensors[1])
    k = 1.5;
  example.computeExpected();
  for (float &mask : example.tensors[9])
    mask = kAllHidden;
  return example;
}

TEST(AttentionPrimitive, KnowsInItsGradientsWhichQueriesSeeNoKey) {
  setTeamSize(kThreads);
  Case example = casePastTheThreshold();
  run(example, /*backward=*/false, 5);
  for (float logSumExp : example.tensors[4])
    EXPECT_LT(logSumExp, kAllHidden);
  run(example, /*backward=*/true, 9);
  expectEqual(example, {3, 6, 7, 8});
}

TEST(AttentionPrimitive, InBFloat16KnowsWhichQueriesSeeNoKey) {
  Case example = casePastTheThreshold();
  for (int i : {2, 5}) // numbers of bfloat16
    for (float &value : example.tensors[i])
      value = widened(upperHalves({value})[0]);
  for (float &mask : example.tensors[9]) // -99614720, the sums are -1e8
    mask = widened(upperHalves({kAllHidden})[0]);
  for (float &q : example.tensors[0])
    q = -32768;
  for (Doubles &numbers : example.expected)
    std::fill(numbers.begin(), numbers.end(), 0);
  example.computeExpected();
  runNarrow(example, /*backward=*/false, 5);
  runNarrow(example, /*backward=*/true, 9);
  expectNearlyEqual(example, {3, 6, 7, 8});
}

// An early and a late chunk of the queries over all keys, as ranks have them;
// keys that nobody attends.
TEST(AttentionPrimitive, KnowsTheLastKeysOfQueries) {
  setTeamSize(kThreads);
  for (int64_t late : {150, 310}) {
    AttentionSpec spec{false, 2, 200, 420, 3, 20, 0.3, false};
    spec.bounded = true;
    Case example(spec);
    for (int64_t t = 0; t < spec.queries; ++t)
      example.lastKeys.push_back(t < 100 ? 40 + t : late + t - 100);
    example.computeExpected();
    run(example, /*backward=*/false, 5);
    run(example, /*backward=*/true, 9);
    expectEqual(example, {3, 4, 6, 7, 8});
  }
}

TEST(AttentionPrimitive, LeavesOutWhatNobodyWants) {
  setTeamSize(kThreads);
  Case example(AttentionSpec{false, 1, 5, 9, 2, 8, 0.4, false});
  example.computeExpected();
  run(example, /*backward=*/false, 4);
  expectEqual(example, {3});
  run(example, /*backward=*/false, 5);
  run(example, /*backward=*/true, 7);
  expectEqual(example, {6});
}

TEST(AttentionPrimitive, KeepsNaN) {
  Case example(AttentionSpec{false, 1, 3, 4, 1, 4, 0.4, false});
  example.tensors[0][0] = NAN;
  run(example, /*backward=*/false, 5);
  EXPECT_TRUE(std::isnan(example.tensors[3][0]));
  EXPECT_FALSE(std::isnan(example.tensors[3][4]));
}

TEST(AttentionPrimitive, SaysWhenScratchMemoryIsShort) {
  std::string error;
  EXPECT_FALSE(createPrimitive(AttentionSpec(), 63, &error));
  EXPECT_NE(error.find("scratch memory"), std::string::npos) << error;
}

#if defined(__x86_64__) // where there is more than one
/// The forward of a small head by the functions of one instruction set.
std::vector<float> forwardBy(AttentionFunctions functions) {
  const int64_t tokens = 70, width = 24;
  auto q = fill(rowMajor({tokens, width}), 1);
  auto k = fill(rowMajor({tokens, width}), 2);
  auto v = fill(rowMajor({tokens, width}), 3);
  std::vector<float> out(tokens * width), sums(tokens);
  GuardedWorkspace scratch(
      4 * attentionScratchFloats(tokens, tokens, width, false));
  functions.forward({tokens,
                     tokens,
                     width,
                     0.2f,
                     true,
                     {q.data(), width},
                     {k.data(), width},
                     {v.data(), width},
                     {out.data(), width},
                     sums.data(),
                     {},
                     {},
                     {},
                     {},
                     static_cast<float *>(scratch.get()),
                     {},
                     nullptr});
  EXPECT_TRUE(scratch.intact());
  return out;
}

/// The gradients of values where a mask of -1e8 and scores of -24 hide all of
/// a query's keys, by the functions of one instruction set: each key counts.
void expectAlike(AttentionFunctions functions) {
  const int64_t keys = 70, width = 16;
  std::vector<float> q(width, -1), k(keys * width, 1.5), v(keys * width, 1);
  std::vector<float> mask(keys, kAllHidden), grad(width, 1), out(width);
  std::vector<float> qGrad(width), kGrad(keys * width), vGrad(keys * width);
  float sum = 0;
  GuardedWorkspace scratch(4 * attentionScratchFloats(1, keys, width, true));
  AttentionHead head = {1,
                        keys,
                        width,
                        1,
                        false,
                        {q.data(), width},
                        {k.data(), width},
                        {v.data(), width},
                        {out.data(), width},
                        &sum,
                        {grad.data(), width},
                        {qGrad.data(), width},
                        {kGrad.data(), width},
                        {vGrad.data(), width},
                        static_cast<float *>(scratch.get()),
                        {mask.data(), keys},
                        nullptr};
  functions.forward(head);
  EXPECT_LT(sum, kAllHidden);
  functions.backward(head);
  for (float each : vGrad)
    ASSERT_NEAR(each, 1.0 / keys, 1e-7);
  EXPECT_TRUE(scratch.intact());
}

TEST(AttentionHead, InstructionSetsKnowWhichQueriesSeeNoKey) {
  __builtin_cpu_init();
  expectAlike(baseline::attentionFunctions());
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    expectAlike(avx2::attentionFunctions());
  if (__builtin_cpu_supports("avx512f"))
    expectAlike(avx512::attentionFunctions());
}

TEST(AttentionHead, InstructionSetsAgree) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "the CPU has no AVX2";
  auto expected = forwardBy(baseline::attentionFunctions());
  auto actual = forwardBy(avx2::attentionFunctions());
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], 1e-5f) << i;
}
#endif

} // namespace
} // namespace zc::kernels::test
