#include "runtime/Exec/Executor.h"
#include "runtime/Device/Cpu/CpuDevice.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <functional>
#include <gtest/gtest.h>

namespace zc {
namespace {

using namespace test;

class ExecutorTest : public ::testing::Test {
protected:
  void SetUp() override {
    writeArtifact(folder.path("a.zca"), tinyManifest());
    auto loaded = Artifact::load(folder.path("a.zca"));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    artifact.emplace(std::move(*loaded));
    device = cpu::createCpuDevice({});
    auto prepared =
        Executor::prepare(*device, *artifact, {"init", "step", "eval", "none"});
    ASSERT_TRUE(prepared.ok()) << prepared.status().message();
    executor = std::move(*prepared);
    ASSERT_TRUE(executor->initialise().ok());
  }

  const plan::State &state(const std::string &name) {
    for (const plan::State &state : artifact->manifest().roles(0).states())
      if (state.name() == name)
        return state;
    std::abort();
  }

  TemporaryFolder folder;
  std::optional<Artifact> artifact;
  std::unique_ptr<Device> device;
  std::unique_ptr<Executor> executor;
};

TEST_F(ExecutorTest, AllocatesWhatThePlanSays) {
  EXPECT_EQ(executor->arenaBytes(),
            artifact->manifest().roles(0).persistent_bytes() +
                artifact->program("step")->transient_bytes());
}

TEST_F(ExecutorTest, InitialisesFromWeightsAndByProgram) {
  float weights[3], momentum[3];
  ASSERT_TRUE(executor->readState(state("w"), 0, weights, 12).ok());
  EXPECT_EQ(weights[2], 3.0f);
  ASSERT_TRUE(
      executor->readState(state("state.w.momentum_buffer"), 0, momentum, 12)
          .ok());
  EXPECT_EQ(momentum[0], 0.0f);
}

TEST_F(ExecutorTest, OneStepIsWhatItShouldBe) {
  const plan::Program &step = *artifact->program("step");
  const float x[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
  const float labels[4] = {0, 0, 0, 0}, rate = 0.1f;
  const int64_t ids[4] = {};
  ASSERT_TRUE(executor->write(step, step.inputs(0).buffer(), x).ok());
  ASSERT_TRUE(executor->write(step, step.inputs(1).buffer(), labels).ok());
  ASSERT_TRUE(executor->write(step, step.inputs(2).buffer(), ids).ok());
  ASSERT_TRUE(executor->writeState(state("lr"), 0, &rate, 4).ok());
  Status status = executor->run(step);
  ASSERT_TRUE(status.ok()) << status.message();
  float loss, weights[3];
  ASSERT_TRUE(executor->read(step, step.outputs(0).buffer(), &loss).ok());
  EXPECT_FLOAT_EQ(loss, (1 + 4 + 9 + 36) / 4.0f);
  ASSERT_TRUE(executor->readState(state("w"), 0, weights, 12).ok());
  // The gradient is 2/4 * x^T (pred - labels) = (3.5, 4, 4.5).
  EXPECT_FLOAT_EQ(weights[0], 1 - 0.35f);
  EXPECT_FLOAT_EQ(weights[1], 2 - 0.40f);
  EXPECT_FLOAT_EQ(weights[2], 3 - 0.45f);
  int64_t count;
  ASSERT_TRUE(executor->readState(state("step"), 0, &count, 8).ok());
  EXPECT_EQ(count, 1);
}

TEST_F(ExecutorTest, RefusesKernelCallsThatDisagreeWithTheCode) {
  using Change = std::function<void(plan::KernelCall &, plan::Program &)>;
  auto message = [&](const Change &change) {
    plan::Manifest manifest = tinyManifest();
    plan::Program &step = *manifest.mutable_roles(0)->mutable_programs(1);
    // tiny_sgd: gradient, rate, weight, momentum over a grid of 3.
    change(*step.mutable_instructions(3)->mutable_kernel(), step);
    writeArtifact(folder.path("b.zca"), manifest);
    auto other = Artifact::load(folder.path("b.zca"));
    EXPECT_TRUE(other.ok()) << other.status().message();
    auto prepared = Executor::prepare(*device, *other, {"step"});
    return prepared.ok() ? "" : prepared.status().message();
  };
  auto expect = [&](const std::string &part, const Change &change) {
    std::string text = message(change);
    EXPECT_NE(text.find(part), std::string::npos) << part << ": " << text;
  };
  EXPECT_EQ(message([](auto &, auto &) {}), "");
  expect("over a grid of 3145728; its grid is 3",
         [](auto &call, auto &) { call.set_grid(3 << 20); });
  expect("with 0 buffers; it has 4", [](auto &call, auto &) {
    call.clear_buffers();
    call.set_num_inputs(0);
  });
  expect("its buffer 0 has 12 bytes, not 8", [](auto &call, auto &step) {
    step.mutable_buffers(call.buffers(0))->mutable_type()->set_dims(0, 2);
    step.mutable_instructions(2)->mutable_copy()->set_source(0);
    step.mutable_instructions(2)->mutable_copy()->set_destination(0);
  });
  expect("has no kernel 'tiny_none'",
         [](auto &call, auto &) { call.set_symbol("tiny_none"); });
  expect("does not say how kernel 'tiny_unsigned' is called",
         [](auto &call, auto &) { call.set_symbol("tiny_unsigned"); });
}

TEST_F(ExecutorTest, ChoosesTheMostDemandingCodeThatRuns) {
  plan::Manifest manifest = tinyManifest();
  plan::CodeObject *future = manifest.mutable_target()->add_code();
  future->set_entry("code/future.so");
  future->set_arch("future");
  for (const char *feature : {thisArchitecture(), "not-yet-invented"})
    future->add_features(feature);
  writeArtifact(folder.path("b.zca"), manifest);
  auto other = Artifact::load(folder.path("b.zca"));
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_TRUE(Executor::prepare(*device, *other, {"step"}).ok());
}

TEST_F(ExecutorTest, SaysWhyNoneOfTheCodeRuns) {
  plan::Manifest manifest = tinyManifest();
  plan::CodeObject *tiny = manifest.mutable_target()->mutable_code(0);
  const std::string here = thisArchitecture();
  const std::string there = here == "aarch64" ? "x86-64" : "aarch64";
  tiny->set_features(0, there);
  plan::CodeObject *future = manifest.mutable_target()->add_code();
  future->set_entry("code/future.so");
  future->set_arch("future");
  future->add_features(here);
  future->add_features("not-yet-invented");
  writeArtifact(folder.path("c.zca"), manifest);
  auto other = Artifact::load(folder.path("c.zca"));
  ASSERT_TRUE(other.ok()) << other.status().message();
  Status status = Executor::prepare(*device, *other, {"step"}).status();
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_EQ(status.message(),
            "'" + folder.path("c.zca") +
                "': code for 'tiny' cannot run here: it is made for processors "
                "of the architecture '" +
                there + "', and this one is of '" + here +
                "'; code for 'future' cannot run here: it needs the "
                "instruction set 'not-yet-invented', which this program does "
                "not know; compile the model for this machine (zc compile "
                "--cpu-arch)");
}

} // namespace
} // namespace zc
