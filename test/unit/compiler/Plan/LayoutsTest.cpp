// Tests which layouts `zc plan --search` looks at, and in which order their
// estimates put them.
#include "compiler/Plan/Layouts.h"
#include "test/unit/runtime/PlanBuilder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace zc {
namespace {

LayoutSpace spaceOf(int64_t ranks, int64_t batch, int64_t layers) {
  LayoutSpace space;
  space.ranks = ranks;
  space.batch = batch;
  space.layers = layers;
  space.neighbours = 4;
  return space;
}

TEST(Layouts, EveryLayoutUsesAllRanks) {
  const std::vector<StepLayout> layouts = listLayouts(spaceOf(16, 64, 12));
  EXPECT_GT(layouts.size(), 50u);
  std::set<std::string> seen;
  for (const StepLayout &each : layouts) {
    EXPECT_EQ(each.ranks(), 16) << each.options();
    EXPECT_TRUE(seen.insert(each.options()).second) << each.options();
  }
}

TEST(Layouts, TensorsAreDividedAmongNeighboursAlone) {
  for (const StepLayout &each : listLayouts(spaceOf(16, 64, 12))) {
    EXPECT_LE(each.tp, 4);
    EXPECT_LE(each.sp, 4);
  }
}

TEST(Layouts, SamplesComeOutEven) {
  for (const StepLayout &each : listLayouts(spaceOf(8, 12, 12))) {
    EXPECT_EQ(12 % each.dp, 0) << each.options();
    EXPECT_EQ(12 / each.dp % each.accumulate, 0) << each.options();
  }
}

TEST(Layouts, PipelinesOfAllLengths) {
  bool anyPipeline = false, anyOfOne = false;
  for (const StepLayout &each : listLayouts(spaceOf(8, 64, 4))) {
    EXPECT_LE(each.pp, 4) << "no more stages than layers";
    if (each.pp == 1)
      continue;
    anyPipeline = true;
    anyOfOne |= each.accumulate == 1;
    EXPECT_LE(std::max<int64_t>(1, each.chunks) * each.pp, 4);
    if (each.schedule == "interleaved") {
      EXPECT_EQ(each.accumulate % each.pp, 0) << each.options();
    }
  }
  EXPECT_TRUE(anyPipeline);
  EXPECT_TRUE(anyOfOne) << "where launches take most of the time";
}

TEST(Layouts, ExpertsAreDividedOnlyWhereThereAreSome) {
  LayoutSpace space = spaceOf(8, 64, 4);
  auto hasExperts = [](const StepLayout &each) { return each.ep > 1; };
  std::vector<StepLayout> layouts = listLayouts(space);
  EXPECT_TRUE(std::none_of(layouts.begin(), layouts.end(), hasExperts));
  space.hasExperts = true;
  layouts = listLayouts(space);
  EXPECT_TRUE(std::any_of(layouts.begin(), layouts.end(), hasExperts));
}

TEST(Layouts, WhatIsFixedStays) {
  LayoutSpace space = spaceOf(8, 64, 4);
  space.mesh = StepLayout();
  space.mesh->dp = 2;
  space.mesh->tp = 4;
  space.zero = {3};
  space.accumulate = {5};
  space.recompute = {"layer"};
  const std::vector<StepLayout> layouts = listLayouts(space);
  ASSERT_EQ(layouts.size(), 1u);
  EXPECT_EQ(layouts.front().options(),
            "--mesh dp=2,tp=4 --zero 3 --accumulate 5 --recompute layer");
}

TEST(Layouts, ZeroNeedsRanksThatHaveTheSame) {
  for (const StepLayout &each : listLayouts(spaceOf(4, 64, 4)))
    if (each.dp * each.sp == 1)
      EXPECT_EQ(each.zero, 0) << each.options();
}

/// A model of 1 GB of parameters on 8 ranks, in nodes of 4.
class Estimates : public ::testing::Test {
protected:
  Estimates() {
    cluster.levels = {{"node", 4, 1e11, 1e-6}, {"network", 64, 1e10, 1e-5}};
    cluster.device.hostBytesPerSecond = 1e10;
    basis.seconds = 8;
    basis.parameterBytes = 1e9;
    basis.optimizerBytes = 2e9;
    basis.persistentBytes = 4e9;
    basis.activationBytes = 8e9;
    basis.boundaryBytes = 1e8;
    basis.layers = 8;
  }

  LayoutEstimate estimate(int64_t pp, int64_t dp, int64_t tp, int64_t zero = 0,
                          int64_t accumulate = 8) {
    StepLayout layout;
    layout.pp = pp;
    layout.dp = dp;
    layout.tp = tp;
    layout.zero = zero;
    layout.accumulate = accumulate;
    return estimateLayout(layout, basis, cluster);
  }

  Cluster cluster;
  LayoutBasis basis;
};

TEST_F(Estimates, EachStageOfZeroNeedsLess) {
  for (int64_t zero = 1; zero <= 3; ++zero)
    EXPECT_LT(estimate(1, 8, 1, zero).bytes, estimate(1, 8, 1, zero - 1).bytes);
  // Stage 1 has an eighth of the moments.
  EXPECT_DOUBLE_EQ(estimate(1, 8, 1, 0).bytes - estimate(1, 8, 1, 1).bytes,
                   2e9 * 7 / 8);
}

TEST_F(Estimates, MoreMicroBatchesFillAPipeline) {
  EXPECT_LT(estimate(4, 2, 1, 0, 16).seconds, estimate(4, 2, 1, 0, 4).seconds);
}

/// Each micro-batch is launched anew, by each rank that has a part of it.
TEST_F(Estimates, LaunchesAreNotDivided) {
  const double without = estimate(2, 4, 1, 0, 4).seconds;
  basis.launchSeconds = 1;
  const double with = estimate(2, 4, 1, 0, 4).seconds;
  // A bubble of a quarter: (pp - 1) / m.
  EXPECT_NEAR(with - without, 4 / 2 * 1.25, 0.1);
}

/// Each stage calls its forward and its backward for every micro-batch, and
/// once its update, whatever its part of the layers is.
TEST_F(Estimates, EachStageCallsItsPrograms) {
  auto more = [&](int64_t pp, int64_t accumulate) {
    basis.callSeconds = 0;
    const double without = estimate(pp, 8 / pp, 1, 0, accumulate).seconds;
    basis.callSeconds = 1;
    return estimate(pp, 8 / pp, 1, 0, accumulate).seconds - without;
  };
  basis.parameterBytes = 0;         // no sums, of which more would be hidden
  EXPECT_NEAR(more(1, 1), 1, 1e-9); // a whole step is one program
  EXPECT_NEAR(more(1, 4), 4 + 1, 1e-9);
  EXPECT_NEAR(more(2, 4), 2 * 4 * (1 + 1. / 4) + 1, 1e-9);
  EXPECT_NEAR(more(4, 4), 2 * 4 * (1 + 3. / 4) + 1, 1e-9);
}

/// An update is launched once, however many micro-batches there are, and a
/// stage has its share of it.
TEST_F(Estimates, UpdatesAreLaunchedOnce) {
  auto more = [&](int64_t pp, int64_t accumulate) {
    basis.updateLaunchSeconds = 0;
    const double without = estimate(pp, 8 / pp, 1, 0, accumulate).seconds;
    basis.updateLaunchSeconds = 1;
    return estimate(pp, 8 / pp, 1, 0, accumulate).seconds - without;
  };
  EXPECT_NEAR(more(1, 1), 1, 1e-9);
  EXPECT_NEAR(more(1, 8), 1, 1e-9);
  EXPECT_NEAR(more(4, 8), 1. / 4, 1e-9);
}

/// A step of one rank: a micro-batch of three kernels, and an update of two. A
/// single micro-batch has all of them in one program.
plan::Manifest makeStep(uint32_t microBatches) {
  plan::Manifest manifest;
  manifest.set_mode("train");
  manifest.set_accumulate(microBatches);
  plan::Role *role = manifest.add_roles();
  auto add = [&](const char *name, int kernels, int updates) {
    plan::Program *program = role->add_programs();
    program->set_name(name);
    const uint32_t weight =
        test::addBuffer(*program, plan::PERSISTENT, 0, plan::F32, {8});
    program->mutable_buffers(int(weight))->set_memory_class(plan::PARAMETERS);
    const uint32_t value =
        test::addBuffer(*program, plan::TRANSIENT, 0, plan::F32, {8});
    for (int i = 0; i < kernels + updates; ++i)
      test::addKernel(*program, "work", {value, i < kernels ? value : weight},
                      1, 1);
    return uint32_t(role->programs_size() - 1);
  };
  auto call = [&](uint32_t program) {
    role->mutable_train()->add_actions()->mutable_call()->set_program(program);
  };
  if (microBatches == 1) {
    call(add("step", 3, 2));
    return manifest;
  }
  const uint32_t micro = add("micro", 3, 0), apply = add("apply", 0, 2);
  for (uint32_t i = 0; i < microBatches; ++i)
    call(micro);
  call(apply);
  return manifest;
}

/// Whether the batch is one micro-batch or several, the parts are the same.
TEST(LayoutBasis, LaunchesOfMicroBatchesAndUpdatesAreApart) {
  Cluster cluster;
  cluster.device.launchSeconds = 1;
  cluster.device.callSeconds = 100;
  PlanReport report;
  report.roles.resize(1);
  for (uint32_t microBatches : {1u, 4u}) {
    const plan::Manifest manifest = makeStep(microBatches);
    report.stepSeconds = 1000;
    const LayoutBasis basis = LayoutBasis::of(manifest, report, cluster);
    EXPECT_DOUBLE_EQ(basis.launchSeconds, 3);
    EXPECT_DOUBLE_EQ(basis.updateLaunchSeconds, 2);
    EXPECT_DOUBLE_EQ(basis.callSeconds, 100);
    const double calls = microBatches == 1 ? 1 : microBatches + 1;
    EXPECT_DOUBLE_EQ(basis.seconds, 1000 - 3 * microBatches - 2 - 100 * calls);
  }
}

TEST_F(Estimates, AnInnerLinkIsTheQuicker) {
  // tp of 4 stays in a node, tp of 8 does not.
  EXPECT_LT(estimate(1, 2, 4).seconds, estimate(1, 1, 8).seconds);
}

TEST_F(Estimates, OffloadedStatesComeAndGo) {
  StepLayout layout;
  layout.dp = 8;
  const LayoutEstimate stay = estimateLayout(layout, basis, cluster);
  layout.offload = "optimizer";
  const LayoutEstimate gone = estimateLayout(layout, basis, cluster);
  EXPECT_DOUBLE_EQ(stay.bytes - gone.bytes, 2e9);
  EXPECT_DOUBLE_EQ(gone.seconds - stay.seconds, 2 * 2e9 / 1e10);
  cluster.device.target = "cuda"; // both ways at once
  EXPECT_DOUBLE_EQ(estimateLayout(layout, basis, cluster).seconds -
                       stay.seconds,
                   2e9 / 1e10);
}

} // namespace
} // namespace zc
