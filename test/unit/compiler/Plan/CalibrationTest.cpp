#include "compiler/Plan/Calibration.h"

#include "runtime/Simulate/Simulation.h"

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

/// Steps of a rank: each kernel takes 1, 2, 4 ms, with 10 us between them and
/// 500 us between steps. The second step's first kernel was disturbed, and
/// every third step a little.
std::string makeTrace(int steps) {
  Json events = Json::array();
  double now = 1000;
  for (int step = 0; step < steps; ++step) {
    events.push_back({{"ph", "X"},
                      {"pid", 0},
                      {"tid", 17},
                      {"ts", now},
                      {"dur", 7000},
                      {"cat", "steps"},
                      {"name", "step"}});
    for (int i = 0; i < 3; ++i) {
      const double took = 1000.0 * (1 << i) + (step == 1 && i == 0 ? 9000 : 0) +
                          (step % 3 == 0 && i == 1 ? 700 : 0);
      events.push_back({{"ph", "X"},
                        {"pid", 0},
                        {"tid", 0},
                        {"ts", now + 1},
                        {"dur", took},
                        {"cat", "kernel"},
                        {"name", "train.add"},
                        {"args",
                         {{"program", "step"},
                          {"instruction", i},
                          {"waits", Json::array()}}}});
      now += took + 10;
    }
    now += 490;
  }
  return Json{{"traceEvents", events}}.dump();
}

/// 5 us a message and 1 GB/s: a sum of two ranks has two messages of a half.
std::string makeLinks() {
  Json links = Json::array();
  for (double bytes : {1e3, 1e5, 1e7})
    for (const char *kind : {"all_reduce", "message"}) {
      const bool isSum = std::string(kind) == "all_reduce";
      links.push_back({{"kind", kind},
                       {"bytes", uint64_t(bytes)},
                       {"seconds", (isSum ? 2 : 1) * 5e-6 + bytes / 1e9}});
    }
  return Json{{"ranks", 2}, {"links", links}}.dump();
}

Cluster calibrate() {
  Calibration calibration({"test", 2, 1 << 30, {"a test"}});
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

TEST(Calibration, LinksAreFitted) {
  const Cluster here = calibrate();
  EXPECT_NEAR(here.levels[0].latencySeconds, 5e-6, 1e-8);
  EXPECT_NEAR(here.levels[0].bytesPerSecond, 1e9, 1e6);
  ASSERT_EQ(here.measuredCollectives.size(), 3u);
  EXPECT_EQ(here.measuredCollectives[2].ranks, 2);
  EXPECT_NEAR(here.measuredCollectives[2].seconds, 10e-6 + 1e7 / 1e9, 1e-5);
  EXPECT_EQ(here.size(), 2);
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
