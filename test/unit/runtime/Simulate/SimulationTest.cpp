#include "runtime/Simulate/Simulation.h"
#include "runtime/Plan/Order/BuildOrders.h"
#include "runtime/Plan/StreamNumbers.h"
#include "test/unit/runtime/Plan/Order/FakePipeline.h"
#include "test/unit/runtime/Simulate/Clusters.h"

#include <functional>
#include <gtest/gtest.h>

namespace zc {
namespace {

using namespace test;

/// FLOPs of a program's parts; a weights' part that is not split off belongs to
/// the backward.
struct Costs {
  double forward = 1, backward = 1, weights = 1;
};

void addWork(plan::Program &program, double flops) {
  plan::Instruction *instruction = program.add_instructions();
  instruction->set_flops(flops);
  instruction->mutable_kernel()->set_symbol("work");
}

/// A pipeline with orders, of equal stages with these costs.
plan::Manifest makePipeline(const FakePipeline &pipeline,
                            const std::string &schedule, const Costs &costs) {
  plan::Manifest manifest = fakePipeline(pipeline, schedule);
  plan::Setting *pp = manifest.add_mesh();
  pp->set_name("pp");
  pp->set_value(std::to_string(pipeline.roles));
  for (plan::Role &role : *manifest.mutable_roles())
    for (plan::Program &program : *role.mutable_programs()) {
      const std::string name =
          program.name().substr(0, program.name().find('.'));
      const double backward =
          costs.backward + (pipeline.weights ? 0 : costs.weights);
      if (name == "forward")
        addWork(program, costs.forward);
      else if (name == "backward")
        addWork(program, backward);
      else if (name == "weight_gradients")
        addWork(program, costs.weights);
      else if (name == "micro")
        addWork(program, costs.forward + backward);
    }
  return manifest;
}

SimulatedStep simulate(const plan::Manifest &manifest, const Cluster &on) {
  Result<SimulatedStep> step = simulateStep(manifest, on);
  EXPECT_TRUE(step.ok()) << step.status().message();
  return step.ok() ? *step : SimulatedStep();
}

/// A pipeline of so many roles and micro-batches, one stage each.
FakePipeline pipelineOf(uint32_t roles, uint32_t microBatches) {
  FakePipeline pipeline;
  pipeline.roles = roles;
  pipeline.microBatches = microBatches;
  pipeline.micro = false;
  return pipeline;
}

/// A step of equal stages, each with a forward, a backward and weights of 1.
SimulatedStep ideal(const FakePipeline &pipeline, const char *schedule) {
  return simulate(makePipeline(pipeline, schedule, {}), idealCluster());
}

/// Up to 8 roles and 32 micro-batches.
void forAllSizes(const std::function<void(uint32_t, uint32_t)> &check) {
  for (uint32_t p = 1; p <= 8; ++p)
    for (uint32_t m = 1; m <= 32; ++m) {
      SCOPED_TRACE(strCat(p, " roles, ", m, " micro-batches"));
      check(p, m);
    }
}

TEST(Simulation, BubblesAreTheClosedForms) {
  forAllSizes([](uint32_t p, uint32_t m) {
    for (const char *name : {"gpipe", "1f1b", "flush"}) {
      const SimulatedStep step = ideal(pipelineOf(p, m), name);
      EXPECT_NEAR(step.bubbleOfTotal, (p - 1.) / (m + p - 1), 1e-9) << name;
      EXPECT_NEAR(step.bubbleOfIdeal, (p - 1.) / m, 1e-9) << name;
      EXPECT_NEAR(step.seconds, 3. * (m + p - 1), 1e-9) << name;
    }
    const SimulatedStep naive = ideal(pipelineOf(p, m), "naive");
    EXPECT_NEAR(naive.bubbleOfTotal, 1 - 1. / p, 1e-9);
    EXPECT_NEAR(naive.seconds, 3. * m * p, 1e-9);
  });
}

/// v stages of a role divide the bubble by v (Narayanan et al. 2021, section
/// 2.2).
TEST(Simulation, InterleavedBubblesAreTheClosedForms) {
  forAllSizes([](uint32_t p, uint32_t m) {
    for (uint32_t v : {2, 3, 4}) {
      if (m % p != 0 || p == 1)
        continue;
      FakePipeline pipeline = pipelineOf(p, m);
      pipeline.chunks = v;
      const SimulatedStep step = ideal(pipeline, "interleaved");
      EXPECT_NEAR(step.bubbleOfIdeal, (p - 1.) / (v * m), 1e-9) << v;
      EXPECT_NEAR(step.bubbleOfTotal, (p - 1.) / (v * m + p - 1), 1e-9) << v;
      EXPECT_NEAR(step.seconds, 3. * (v * m + p - 1), 1e-9) << v;
    }
  });
}

/// Weights fill the gaps: the first role waits for p - 1 forwards, and of few
/// micro-batches for what they leave open behind it, too (Qi et al. 2023,
/// section 2). Half stages, there and back, wait for p - 1 halves.
TEST(Simulation, ZeroBubblesAreTheClosedForms) {
  forAllSizes([](uint32_t p, uint32_t m) {
    FakePipeline pipeline = pipelineOf(p, m);
    pipeline.weights = true;
    const double open = std::max(p - 1., 2. * p - 1 - m);
    for (const char *name : {"zb-h1", "zb-h2"}) {
      const SimulatedStep step = ideal(pipeline, name);
      EXPECT_NEAR(step.seconds, 3. * m + open, 1e-9) << name;
      EXPECT_NEAR(step.bubbleOfIdeal, open / (3. * m), 1e-9) << name;
    }
    if (m < 2 * p - 1)
      return;
    pipeline.vee = true;
    pipeline.chunks = 2;
    const SimulatedStep step = ideal(pipeline, "zb-v");
    EXPECT_NEAR(step.seconds, 6. * m + p - 1, 1e-9);
    EXPECT_NEAR(step.bubbleOfIdeal, (p - 1.) / (6. * m), 1e-9);
  });
}

/// Without a flush a pipeline that is full stays so.
TEST(Simulation, StepsThatOverlapHaveNoBubble) {
  forAllSizes([](uint32_t p, uint32_t m) {
    for (const char *name : {"2bw", "stash"}) {
      if (name == std::string("2bw") && m < p)
        continue;
      const SimulatedStep step = ideal(pipelineOf(p, m), name);
      EXPECT_NEAR(step.seconds, 3. * m, 1e-9) << name;
      EXPECT_NEAR(step.bubbleOfTotal, 0, 1e-9) << name;
    }
  });
}

/// GPipe's example: four stages are busy for 25% of the time, and for 57% with
/// four micro-batches (Huang et al. 2019).
TEST(Simulation, FourStagesWithFourMicroBatches) {
  FakePipeline pipeline;
  pipeline.roles = pipeline.microBatches = 4;
  pipeline.micro = false;
  SimulatedStep step =
      simulate(makePipeline(pipeline, "gpipe", {}), idealCluster());
  EXPECT_NEAR(1 - step.bubbleOfTotal, 4 / 7., 1e-9);
  EXPECT_EQ(int(100 * (1 - step.bubbleOfTotal)), 57);
  step = simulate(makePipeline(pipeline, "naive", {}), idealCluster());
  EXPECT_NEAR(1 - step.bubbleOfTotal, .25, 1e-9);
}

/// The same orders as the schedule's own simulation, which buffers messages.
TEST(Simulation, AgreesWithSchedules) {
  for (uint32_t p = 2; p <= 8; ++p)
    for (uint32_t m : {p, 2 * p, 2 * p + 1, 4 * p})
      for (const char *name : {"zb-h1", "zb-h2", "zb-v"}) {
        SCOPED_TRACE(strCat(name, ", ", p, " roles, ", m, " micro-batches"));
        FakePipeline pipeline;
        pipeline.roles = p;
        pipeline.microBatches = m;
        pipeline.micro = false;
        pipeline.weights = true;
        pipeline.vee = name == std::string("zb-v");
        pipeline.chunks = pipeline.vee ? 2 : 1;
        Result<PipelineSchedule> schedule = makeSchedule({name, p, m});
        if (!schedule.ok()) // zb-v needs more micro-batches
          continue;
        const Costs costs{1, 1.5, .75};
        Result<Timeline> timeline = simulateSchedule(
            *schedule, WorkCosts::equal(pipeline.stages(), costs.forward,
                                        costs.backward, costs.weights));
        ASSERT_TRUE(timeline.ok());
        const SimulatedStep step =
            simulate(makePipeline(pipeline, name, costs), idealCluster());
        EXPECT_NEAR(step.seconds, timeline->makespan, 1e-9);
      }
}

TEST(Simulation, MessagesTakeTime) {
  FakePipeline pipeline;
  pipeline.microBatches = 1;
  pipeline.micro = false;
  // 64 bytes a message: a latency of 1 and 2 seconds on the way.
  const Cluster slow = cluster({{"links", 8, 32, 1}});
  const SimulatedStep step = simulate(makePipeline(pipeline, "1f1b", {}), slow);
  EXPECT_NEAR(step.seconds, 1 + 3 + 1 + 2 + 3 + 2, 1e-9);
  EXPECT_NEAR(step.orders.roles[0].waiting, 1 + 2 + 6, 1e-9);
  EXPECT_DOUBLE_EQ(step.orders.roles[0].sentBytes[0], 64);
}

TEST(Simulation, WithoutFlushStepsFollowOneAnother) {
  FakePipeline pipeline;
  pipeline.roles = 4;
  pipeline.microBatches = 8;
  pipeline.micro = false;
  plan::Manifest manifest = makePipeline(pipeline, "2bw", {});
  ASSERT_GT(manifest.roles(0).train().actions_size(), 0);
  const SimulatedStep step = simulate(manifest, idealCluster());
  EXPECT_NEAR(step.seconds, 3 * 8, 1e-9);
  EXPECT_NEAR(step.bubbleOfTotal, 0, 1e-9);
}

/// Two streams: a collective of 5 seconds beside work of 3, then work that
/// waits for it.
plan::Manifest makeOverlap() {
  plan::Manifest manifest;
  manifest.set_mode("train");
  plan::Setting *dp = manifest.add_mesh();
  dp->set_name("dp");
  dp->set_value("2");
  plan::Role *role = manifest.add_roles();
  plan::Program *program = role->add_programs();
  program->set_name("step");
  const uint32_t buffer =
      addBuffer(*program, plan::TRANSIENT, 0, plan::F32, {100});
  addWork(*program, 2);
  plan::Instruction *sum = program->add_instructions();
  sum->set_stream(1);
  sum->add_waits(0);
  sum->mutable_collective()->add_axes("dp");
  sum->mutable_collective()->set_source(buffer);
  sum->mutable_collective()->set_destination(buffer);
  addWork(*program, 3);
  addWork(*program, 1);
  program->mutable_instructions(3)->add_waits(1);
  role->mutable_train()->add_actions()->mutable_call()->set_program(0);
  return manifest;
}

TEST(Simulation, WhatIsHiddenIsNotExposed) {
  // 2 (2-1)/2 of 400 bytes at 80 bytes/s.
  Cluster on = cluster({{"links", 8, 80, 0}});
  SimulatedStep step = simulate(makeOverlap(), on);
  EXPECT_NEAR(step.seconds, 2 + 5 + 1, 1e-9);
  EXPECT_NEAR(step.orders.roles[0].compute, 6, 1e-9);
  EXPECT_NEAR(step.orders.roles[0].exposed.at("dp"), 2, 1e-9);
  EXPECT_NEAR(step.bubbleOfTotal, 0, 1e-9);
  // At half the rate while it sends, 2.5 of the 3 are done in 5 seconds.
  on.computeWhileSending = .5;
  step = simulate(makeOverlap(), on);
  EXPECT_NEAR(step.seconds, 2 + 5 + .5 + 1, 1e-9);
  EXPECT_EQ(step.orders.roles[0].exposed.count("dp"), 0u);
}

/// Two roles of two ranks each: each role computes for so many seconds, and
/// then adds up 400 bytes between its ranks.
plan::Manifest makeTwoSums(double first, double second) {
  plan::Manifest manifest;
  manifest.set_mode("train");
  for (const char *name : {"pp", "dp"}) {
    plan::Setting *axis = manifest.add_mesh();
    axis->set_name(name);
    axis->set_value("2");
  }
  for (double seconds : {first, second}) {
    plan::Role *role = manifest.add_roles();
    plan::Program *program = role->add_programs();
    program->set_name("step");
    const uint32_t buffer =
        addBuffer(*program, plan::TRANSIENT, 0, plan::F32, {100});
    addWork(*program, seconds);
    plan::Instruction *sum = program->add_instructions();
    sum->mutable_collective()->add_axes("dp");
    sum->mutable_collective()->set_source(buffer);
    sum->mutable_collective()->set_destination(buffer);
    role->mutable_train()->add_actions()->mutable_call()->set_program(0);
  }
  return manifest;
}

/// Nodes of two devices, which share so many links of 80 bytes/s to others: one
/// rank of each role stands on each node.
SimulatedStep sumBetweenNodes(double first, double second, int links = 1) {
  Cluster on = cluster({{"node", 2, 0, 0}, {"net", 4, 40. * links, 0, 80}});
  SimulationOptions options;
  options.placement = {"dp", "pp"};
  Result<SimulatedStep> step =
      simulateStep(makeTwoSums(first, second), on, options);
  EXPECT_TRUE(step.ok()) << step.status().message();
  return step.ok() ? *step : SimulatedStep();
}

/// 400 bytes by the whole link take 5 s; two roles at once take twice as long.
TEST(Simulation, RolesOfANodeShareItsLinks) {
  SimulatedStep step = sumBetweenNodes(1, 1);
  EXPECT_NEAR(step.seconds, 1 + 10, 1e-9);
  for (const SimulatedRole &role : step.orders.roles) {
    EXPECT_NEAR(role.end, 1 + 10, 1e-9);
    EXPECT_NEAR(role.sentBytes[1], 400, 1e-9);
    // The share of each is 40 bytes/s.
    EXPECT_NEAR(role.busyBytes[1], 400, 1e-9);
  }
  // One behind the other has the whole link, though the other role is there.
  step = sumBetweenNodes(1, 6);
  EXPECT_NEAR(step.orders.roles[0].end, 1 + 5, 1e-9);
  EXPECT_NEAR(step.orders.roles[1].end, 6 + 5, 1e-9);
  // Where they meet for 2 s, each has half of it meanwhile.
  step = sumBetweenNodes(1, 4);
  EXPECT_NEAR(step.orders.roles[0].end, 1 + 3 + 4, 1e-9);
  EXPECT_NEAR(step.orders.roles[1].end, 4 + 4 + 3, 1e-9);
  // With a link for each device nobody waits for another.
  EXPECT_NEAR(sumBetweenNodes(1, 1, 2).seconds, 1 + 5, 1e-9);
}

/// Ranks of one role send at once, and always have a share each.
TEST(Simulation, RanksOfARoleShareTheirNodesLinks) {
  plan::Manifest manifest = makeOverlap();
  plan::Setting *tp = manifest.add_mesh();
  tp->set_name("tp");
  for (int ranks : {1, 2}) {
    tp->set_value(std::to_string(ranks));
    const Cluster on =
        cluster({{"node", ranks, 0, 0}, {"net", 4, 80. / ranks, 0, 80}});
    EXPECT_NEAR(simulate(manifest, on).seconds, 2 + 5 * ranks + 1, 1e-9);
  }
}

/// A store of 3 seconds and a fetch of 2 behind it in the program, beside work
/// of 1; `waits`: the fetch brings back what was stored.
plan::Manifest makeCopies(bool waits, uint32_t storing) {
  plan::Manifest manifest;
  manifest.set_mode("train");
  plan::Role *role = manifest.add_roles();
  plan::Program *program = role->add_programs();
  program->set_name("step");
  for (uint32_t stream : {storing, streams::kFetches}) {
    plan::Instruction *copy = program->add_instructions();
    copy->set_stream(stream);
    copy->mutable_copy();
    copy->set_bytes(2 * (program->instructions_size() == 1 ? 30 : 20));
  }
  if (waits)
    program->mutable_instructions(1)->add_waits(0);
  addWork(*program, 1);
  addWork(*program, 1);
  program->mutable_instructions(3)->add_waits(1);
  role->mutable_train()->add_actions()->mutable_call()->set_program(0);
  return manifest;
}

TEST(Simulation, StoresAndFetchesRunBesideEachOther) {
  Cluster gpu = idealCluster();
  gpu.device.target = "cuda";
  gpu.device.hostBytesPerSecond = 10;
  auto seconds = [&](bool waits, uint32_t storing) {
    return simulate(makeCopies(waits, storing), gpu).seconds;
  };
  // The store is the longer one; the last work begins when the fetch is there.
  EXPECT_NEAR(seconds(false, streams::kStores), 3, 1e-9);
  EXPECT_NEAR(seconds(true, streams::kStores), 3 + 2 + 1, 1e-9);
  // As artifacts of earlier compilers have them, in one stream.
  EXPECT_NEAR(seconds(false, streams::kFetches), 3 + 2 + 1, 1e-9);
  // A CPU's second memory is a disk.
  gpu.device.target = "cpu";
  EXPECT_NEAR(seconds(false, streams::kStores), 3 + 2 + 1, 1e-9);
}

/// Sums that were timed at 2 s for 400 bytes, where the level's rate says 1 s,
/// keep the link busy for twice as long as their bytes.
TEST(Simulation, SlowTransfersKeepLinksBusy) {
  Cluster on = cluster({{"links", 8, 400, 0}});
  SimulatedStep step = simulate(makeOverlap(), on);
  EXPECT_NEAR(step.orders.roles[0].busyBytes[0], 400, 1e-9);
  on.measuredCollectives = {{plan::ALL_REDUCE, 2, 4, 1e-9},
                            {plan::ALL_REDUCE, 2, 400, 2}};
  step = simulate(makeOverlap(), on);
  EXPECT_NEAR(step.orders.roles[0].sentBytes[0], 400, 1e-9);
  EXPECT_NEAR(step.orders.roles[0].busyBytes[0], 800, 1e-5);
}

/// The slowest stage of a pipeline takes all its time, the others fill and
/// empty it.
TEST(Simulation, StragglersStretchTheStep) {
  for (uint32_t p = 1; p <= 6; ++p)
    for (uint32_t m : {1u, 4u, 9u})
      for (uint32_t slow = 0; slow < p; ++slow)
        for (const char *name : {"gpipe", "1f1b"}) {
          SCOPED_TRACE(strCat(name, " ", p, " roles, ", m, ", slow ", slow));
          FakePipeline pipeline;
          pipeline.roles = p;
          pipeline.microBatches = m;
          pipeline.micro = false;
          SimulationOptions options;
          options.stragglers = {{slow, 3}};
          Result<SimulatedStep> step = simulateStep(
              makePipeline(pipeline, name, {}), idealCluster(), options);
          ASSERT_TRUE(step.ok());
          // With 1F1B what is behind the slow stage is hidden by the other
          // micro-batches that it has in flight, if they are enough.
          const bool hides = name == std::string("1f1b") && m >= p && m > 1;
          const uint32_t others = hides ? slow : p - 1;
          if (name == std::string("1f1b") && m > 1 && m < p)
            continue;
          EXPECT_NEAR(step->seconds, 3. * others + 3 * 3. * m, 1e-9);
        }
  // Sends take as long as before.
  SimulationOptions options;
  options.stragglers = {{1, 2}};
  Result<SimulatedStep> step =
      simulateStep(makeOverlap(), cluster({{"links", 8, 80, 0}}), options);
  ASSERT_TRUE(step.ok());
  EXPECT_NEAR(step->seconds, 2 * 2 + std::max(5, 2 * 3) + 2 * 1, 1e-9);
  options.stragglers = {{2, 2}};
  step = simulateStep(makeOverlap(), cluster({{"links", 8, 80, 0}}), options);
  ASSERT_FALSE(step.ok());
  EXPECT_EQ(step.status().message(),
            "straggler 2: the mesh has 2 ranks, from 0 on");
}

TEST(Simulation, AClusterMayBeTooSmall) {
  Result<SimulatedStep> step =
      simulateStep(makeOverlap(), cluster({{"links", 1, 0, 0}}));
  ASSERT_FALSE(step.ok());
  EXPECT_EQ(step.status().message(),
            "cluster 'test' has room for 1 ranks, fewer than 2: take a smaller "
            "mesh, or a larger `size` of its last level");
}

} // namespace
} // namespace zc
