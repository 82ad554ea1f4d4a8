#include "compiler/Plan/Calibration.h"

#include "runtime/Simulate/CollectiveTimes.h"
#include "runtime/Simulate/Simulation.h"
#include "test/unit/runtime/PlanBuilder.h"

#include <array>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace zc {
namespace {

using Json = nlohmann::json;

/// A step of three kernels on so many ranks along dp, with a sum over them.
plan::Manifest makeManifest(int ranks) {
  plan::Manifest manifest;
  manifest.set_mode("train");
  plan::Setting *dp = manifest.add_mesh();
  dp->set_name("dp");
  dp->set_value(std::to_string(ranks));
  plan::Role *role = manifest.add_roles();
  plan::Program *program = role->add_programs();
  program->set_name("step");
  plan::TensorType *type = program->add_buffers()->mutable_type();
  type->set_dtype(plan::F32);
  type->add_dims(250000);
  for (int i = 0; i < 3; ++i) {
    plan::Instruction *kernel = program->add_instructions();
    kernel->mutable_kernel();
    kernel->set_label("train.add");
    kernel->set_flops(1e6 * (1 << i));
    kernel->set_bytes(12e6 * (1 << i));
  }
  if (ranks > 1) {
    plan::Instruction *sum = program->add_instructions();
    sum->set_stream(1);
    sum->mutable_collective()->add_axes("dp");
  }
  role->mutable_train()->add_actions()->mutable_call()->set_program(0);
  return manifest;
}

void addSpan(Json &events, int track, double begin, double took,
             int instruction = 0) {
  events.push_back({{"ph", "X"},
                    {"pid", 0},
                    {"tid", track},
                    {"ts", begin},
                    {"dur", took},
                    {"cat", "kernel"},
                    {"args",
                     {{"program", "step"},
                      {"instruction", instruction},
                      {"waits", Json::array()}}}});
}

constexpr int kStepsTrack = 17;

/// Steps of a rank: each kernel takes 1, 2, 4 ms, with 10 us between them and
/// 500 us between steps. The second step's first kernel was disturbed, and
/// every third step a little. The kernels take so many times as long.
std::string makeTrace(int steps,
                      const std::array<double, 3> &slower = {1, 1, 1}) {
  Json events = Json::array();
  double now = 1000;
  for (int step = 0; step < steps; ++step) {
    addSpan(events, kStepsTrack, now, 7000);
    for (int i = 0; i < 3; ++i) {
      const double took = 1000.0 * (1 << i) * slower[size_t(i)] +
                          (step == 1 && i == 0 ? 9000 : 0) +
                          (step % 3 == 0 && i == 1 ? 700 : 0);
      addSpan(events, 0, now + 1, took, i);
      now += took + 10;
    }
    now += 490;
  }
  return Json{{"traceEvents", events}}.dump();
}

/// Equal steps, whose instructions take so many milliseconds each.
std::string makeSteadyTrace(const std::vector<double> &milliseconds) {
  Json events = Json::array();
  double now = 1000;
  for (int step = 0; step < 9; ++step) {
    addSpan(events, kStepsTrack, now, 1);
    for (size_t i = 0; i < milliseconds.size(); ++i) {
      addSpan(events, 0, now + 1, 1000 * milliseconds[i], int(i));
      now += 1000 * milliseconds[i] + 10;
    }
    now += 490;
  }
  return Json{{"traceEvents", events}}.dump();
}

/// 5 us a message and 1 GB/s: a sum of N ranks has 2 (N-1) messages of an Nth.
/// A message alone is three times as quick.
std::string makeLinks(double slower = 1, int ranks = 2) {
  const double messages = 2. * (ranks - 1);
  Json links = Json::array();
  for (double bytes : {1e3, 1e5, 1e7})
    for (const char *kind : {"all_reduce", "message"}) {
      const bool isSum = std::string(kind) == "all_reduce";
      links.push_back(
          {{"kind", kind},
           {"bytes", uint64_t(bytes)},
           {"seconds", slower * (isSum ? messages * (5e-6 + bytes / ranks / 1e9)
                                       : (5e-6 + bytes / 1e9) / 3)}});
    }
  return Json{{"ranks", ranks}, {"links", links}}.dump();
}

Cluster calibrate() {
  Calibration calibration({"test", 4, 1 << 30, {"a test"}});
  EXPECT_TRUE(calibration.addRun(makeManifest(1), makeTrace(9)).ok());
  EXPECT_TRUE(calibration.addRun(makeManifest(2), makeTrace(9)).ok());
  EXPECT_TRUE(calibration.addLinks(makeLinks()).ok());
  Result<std::string> text = calibration.finish();
  EXPECT_TRUE(text.ok()) << text.status().message();
  Result<Cluster> cluster = Cluster::parse(*text, "here.json");
  EXPECT_TRUE(cluster.ok()) << cluster.status().message();
  return *cluster;
}

TEST(Calibration, QuietStepsCount) {
  const Cluster here = calibrate();
  EXPECT_EQ(here.name, "here");
  EXPECT_NEAR(*here.device.measured.find({"kernel", "train.add", 1e6, 12e6}),
              1e-3, 1e-5);
  EXPECT_NEAR(*here.device.measured.find({"kernel", "train.add", 4e6, 48e6}),
              4e-3, 4e-5);
  EXPECT_NEAR(here.device.launchSeconds, 10e-6, 1e-8);
  EXPECT_NEAR(here.device.stepSeconds, 500e-6, 1e-8);
  EXPECT_EQ(here.device.callSeconds, 0);
}

/// A step of a product, calls of each rate and two kernels.
plan::Manifest makeCalls() {
  plan::Manifest manifest = makeManifest(1);
  plan::Program &program = *manifest.mutable_roles(0)->mutable_programs(0);
  program.clear_instructions();
  auto add = [&](const std::vector<int64_t> &dims) {
    return test::addBuffer(program, plan::TRANSIENT, 0, plan::F32, dims);
  };
  const uint32_t matrix = add({100, 100}), heads = add({2, 8, 1, 4}),
                 sums = add({2, 1, 8}), image = add({2, 3, 8, 8}),
                 filter = add({3, 3, 1, 1});
  test::addCall(program, "matmul", {matrix, matrix}, {matrix});
  test::addCall(program, "attention", {heads, heads, heads}, {heads});
  test::addCall(program, "attention_grad",
                {heads, heads, heads, heads, sums, heads}, {heads});
  test::addCall(program, "conv", {image, filter}, {image});
  for (plan::Instruction &call : *program.mutable_instructions())
    call.set_flops(1e6);
  for (const char *label : {"train.add", "train.mul"}) {
    plan::Instruction *kernel = program.add_instructions();
    kernel->mutable_kernel()->add_buffers(matrix);
    kernel->set_label(label);
    kernel->set_flops(1e5);
    kernel->set_bytes(12e6);
  }
  return manifest;
}

/// A compilation knows of instructions what share of the peaks those of their
/// kind reach. The product reaches 2 GFLOP/s, the first kernel 12 GB/s.
TEST(Calibration, EachRateHasItsShare) {
  Calibration calibration({"test", 1, 1 << 30, {"a test"}});
  const plan::Manifest manifest = makeCalls();
  ASSERT_TRUE(
      calibration.addRun(manifest, makeSteadyTrace({1, 2, 4, 1, 1, 3})).ok());
  Result<std::string> text = calibration.finish();
  ASSERT_TRUE(text.ok()) << text.status().message();
  Result<Cluster> here = Cluster::parse(*text, "here.json");
  ASSERT_TRUE(here.ok()) << here.status().message();
  EXPECT_NEAR(here->device.flopsPerSecond[plan::F32], 2e9, 1e6);
  EXPECT_NEAR(here->device.bytesPerSecond, 12e9, 1e7);
  const Efficiency &shares = here->device.efficiency;
  EXPECT_NEAR(shareOf(shares, "attention"), .25, 1e-3);
  EXPECT_NEAR(shareOf(shares, "attention_backward"), .125, 1e-3);
  EXPECT_NEAR(shareOf(shares, "convolution"), .5, 1e-3);
  EXPECT_NEAR(shares.kernelFlops, 2e5 / 4e-3 / 2e9, 1e-4);
  EXPECT_NEAR(shares.bytes, 24e6 / 4e-3 / 12e9, 1e-3);
  // Plans go by the rows.
  Cluster rowsAlone = *here;
  rowsAlone.device.efficiency = Efficiency();
  rowsAlone.device.efficiency.matmul = shares.matmul;
  Result<SimulatedStep> step = simulateStep(manifest, *here);
  Result<SimulatedStep> same = simulateStep(manifest, rowsAlone);
  ASSERT_TRUE(step.ok() && same.ok());
  EXPECT_EQ(step->seconds, same->seconds);
}

TEST(Calibration, LinksAreFitted) {
  const Cluster here = calibrate();
  EXPECT_NEAR(here.levels[0].latencySeconds, 5e-6, 1e-8);
  EXPECT_NEAR(here.levels[0].bytesPerSecond, 1e9, 1e6);
  ASSERT_EQ(here.measuredCollectives.size(), 6u);
  EXPECT_EQ(here.measuredCollectives[2].ranks, 2);
  EXPECT_NEAR(here.measuredCollectives[2].seconds, 10e-6 + 1e7 / 1e9, 1e-5);
  EXPECT_EQ(here.size(), 4);
  // Messages take what they took.
  EXPECT_NEAR(messageCost(here, 0, 1, 1e7).seconds(here), 1e7 / 3e9, 1e-5);
}

/// Each number of ranks has rows; more than the most follow the fitted level.
TEST(Calibration, MoreRanksAreTimedByThemselves) {
  Calibration calibration({"test", 4, 1 << 30, {"a test"}});
  ASSERT_TRUE(calibration.addRun(makeManifest(1), makeTrace(9)).ok());
  for (int ranks : {2, 4})
    ASSERT_TRUE(calibration.addLinks(makeLinks(1, ranks)).ok());
  Result<std::string> text = calibration.finish();
  ASSERT_TRUE(text.ok()) << text.status().message();
  Result<Cluster> here = Cluster::parse(*text, "here.json");
  ASSERT_TRUE(here.ok()) << here.status().message();
  ASSERT_EQ(here->measuredCollectives.size(), 12u);
  EXPECT_NEAR(here->levels[0].latencySeconds, 5e-6, 1e-8);
  for (int64_t ranks : {2, 3, 4}) {
    const double found =
        costOnCluster(*here, plan::ALL_REDUCE, plan::AUTO, {{ranks}}, 1e7)
            .seconds(*here);
    const double expected =
        2. * (double(ranks) - 1) * (5e-6 + 1e7 / double(ranks) / 1e9);
    EXPECT_NEAR(found / expected, 1, 1e-3) << ranks << " ranks";
  }
}

double exposedOn(const Cluster &here, int ranks,
                 plan::CollectiveAlgorithm algorithm = plan::AUTO) {
  plan::Manifest manifest = makeManifest(ranks);
  plan::Program *program = manifest.mutable_roles(0)->mutable_programs(0);
  plan::Instruction *sum = program->mutable_instructions(3);
  sum->mutable_collective()->set_algorithm(algorithm);
  sum->add_waits(2);
  plan::Instruction *last = program->add_instructions();
  last->mutable_kernel();
  last->set_label("train.add");
  last->set_bytes(1);
  last->add_waits(3);
  Result<SimulatedStep> step = simulateStep(manifest, here);
  EXPECT_TRUE(step.ok()) << step.status().message();
  const auto &exposed = step->orders.roles[0].exposed;
  return exposed.count("dp") > 0 ? exposed.at("dp") : 0;
}

/// Two ranks alone are measured; what four take follows from them.
TEST(Calibration, MoreRanksAreExposedForLonger) {
  const Cluster here = calibrate();
  const double two = exposedOn(here, 2), four = exposedOn(here, 4);
  EXPECT_GT(two, 0);
  EXPECT_GE(four, two);
  EXPECT_NEAR(exposedOn(here, 2, plan::RING), two, 1e-9);
  EXPECT_NEAR(exposedOn(here, 4, plan::RING), four, 1e-9);
  // The level alone, as compilations know it, says what the rows say.
  Cluster levels = here;
  levels.measuredCollectives.clear();
  EXPECT_NEAR(exposedOn(levels, 2) / two, 1, .05);
}

/// In eight rounds, the third quickest of each size counts.
TEST(Calibration, LinksAreMeasuredInRounds) {
  Calibration calibration({"test", 4, 1 << 30, {"a test"}});
  EXPECT_TRUE(calibration.addRun(makeManifest(1), makeTrace(9)).ok());
  for (double slower : {9, 2, 5, 3, 7, 4, 8, 6})
    EXPECT_TRUE(calibration.addLinks(makeLinks(slower)).ok());
  Result<std::string> text = calibration.finish();
  ASSERT_TRUE(text.ok()) << text.status().message();
  Result<Cluster> here = Cluster::parse(*text, "here.json");
  ASSERT_TRUE(here.ok());
  ASSERT_EQ(here->measuredCollectives.size(), 6u);
  EXPECT_NEAR(here->measuredCollectives[2].seconds, 4 * (10e-6 + 1e7 / 1e9),
              1e-5);
}

/// A small sum that was disturbed is written as long as the next larger one.
TEST(Calibration, RowsOfLinksAscend) {
  Calibration calibration({"test", 4, 1 << 30, {"a test"}});
  EXPECT_TRUE(calibration.addRun(makeManifest(1), makeTrace(9)).ok());
  Json links = Json::array();
  for (auto [bytes, seconds] :
       {std::pair(1024, 2e-5), {4096, 9e-5}, {16384, 3e-5}, {65536, 8e-5}})
    links.push_back(
        {{"kind", "message"}, {"bytes", bytes}, {"seconds", seconds}});
  EXPECT_TRUE(
      calibration.addLinks(Json{{"ranks", 2}, {"links", links}}.dump()).ok());
  Result<std::string> text = calibration.finish();
  ASSERT_TRUE(text.ok()) << text.status().message();
  const Json here = Json::parse(*text);
  std::vector<double> seconds;
  for (const Json &row : here["collectives"]["measured"])
    seconds.push_back(row["seconds"]);
  EXPECT_EQ(seconds, (std::vector<double>{2e-5, 3e-5, 3e-5, 8e-5}));
}

/// Two equal instructions stand in two places: one of them takes longer. In
/// each place the third quickest of eight rounds counts, and then their mean.
/// All rounds of both places in one list would say 2.5 ms at its quartile, and
/// the quartile of the rounds' means another number.
TEST(Calibration, PlacesAreNoNoise) {
  plan::Manifest manifest = makeManifest(1);
  plan::Program *program = manifest.mutable_roles(0)->mutable_programs(0);
  for (int i = 0; i < 3; ++i) {
    program->mutable_instructions(i)->set_flops(1e6);
    program->mutable_instructions(i)->set_bytes(12e6);
  }
  program->mutable_instructions(2)->set_label("train.other");
  Calibration calibration({"test", 4, 1 << 30, {"a test"}});
  const double slower[2][8] = {{9, 2, 5, 3, 7, 4, 8, 6},
                               {7, 9, 3, 8, 2, 6, 5, 4.5}};
  for (int round = 0; round < 8; ++round)
    EXPECT_TRUE(calibration
                    .addRun(manifest, makeTrace(9, {slower[0][round],
                                                    slower[1][round], 1}))
                    .ok());
  Result<std::string> text = calibration.finish();
  ASSERT_TRUE(text.ok()) << text.status().message();
  Result<Cluster> here = Cluster::parse(*text, "here.json");
  ASSERT_TRUE(here.ok());
  // 4 times 1 ms in the one place, and 4.5 times 2 ms in the other.
  EXPECT_NEAR(*here->device.measured.find({"kernel", "train.add", 1e6, 12e6}),
              (4e-3 + 4.5 * 2e-3) / 2, 1e-5);
}

TEST(Calibration, AStepTakesWhatItTook) {
  const Cluster here = calibrate();
  Result<SimulatedStep> step = simulateStep(makeManifest(1), here);
  ASSERT_TRUE(step.ok());
  EXPECT_NEAR(step->seconds, 7.53e-3, 1e-4);
  // Ranks that share the host have what such ranks had.
  EXPECT_EQ(here.sharedBy(2).device.memoryBytes, uint64_t(1) << 29);
}

TEST(Calibration, WhatIsMissingIsTold) {
  Calibration calibration({"test", 2, 1 << 30, {}});
  EXPECT_FALSE(calibration.addRun(makeManifest(1), "{").ok());
  EXPECT_FALSE(calibration.addRun(makeManifest(1), makeTrace(1)).ok());
  EXPECT_FALSE(calibration.addLinks("{}").ok());
  Calibration empty({"test", 2, 1 << 30, {}});
  Result<std::string> text = empty.finish();
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().message(), "no run of one rank was measured");
}

} // namespace
} // namespace zc
