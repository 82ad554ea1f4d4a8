#include "runtime/Exec/Streams.h"
#include "runtime/Comm/InProcess/InProcess.h"
#include "runtime/Device/Cpu/CpuDevice.h"
#include "runtime/Exec/Executor.h"
#include "test/unit/runtime/PlanBuilder.h"
#include "test/unit/runtime/TinyArtifact.h"
#include "test/unit/runtime/TinyRanks.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

namespace zc {
namespace {

using namespace test;

/// A gate that kernels can wait at.
struct Gate {
  std::atomic<bool> open{false};
  bool pass(std::chrono::milliseconds limit) const {
    auto end = std::chrono::steady_clock::now() + limit;
    while (!open && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    return open;
  }
};

/// The CPU, whose kernels on one rank wait at a gate that another rank opens.
class GatedDevice final : public Device {
public:
  GatedDevice(Gate &gate, bool waits)
      : cpu(cpu::createCpuDevice({})), gate(gate), waits(waits) {}

  std::string description() const override { return "gated"; }
  Result<void *> allocate(uint64_t bytes) override {
    return cpu->allocate(bytes);
  }
  void release(void *address, uint64_t bytes) override {
    cpu->release(address, bytes);
  }
  Status
  checkFeatures(const std::vector<std::string> &features) const override {
    return cpu->checkFeatures(features);
  }
  Status loadCode(const CodeImage &image) override {
    return cpu->loadCode(image);
  }
  Result<std::unique_ptr<Executable>> prepare(const Launch &launch) override {
    return cpu->prepare(launch);
  }
  Status launch(Executable &executable, StreamId stream) override {
    if (waits && !gate.pass(std::chrono::seconds(20)))
      return Status(StatusCode::Internal, "the gate stayed shut");
    return cpu->launch(executable, stream);
  }
  Status copyIn(void *to, const void *from, uint64_t bytes,
                StreamId stream) override {
    return cpu->copyIn(to, from, bytes, stream);
  }
  Status copyOut(void *to, const void *from, uint64_t bytes,
                 StreamId stream) override {
    return cpu->copyOut(to, from, bytes, stream);
  }
  Result<EventId> createEvent() override { return cpu->createEvent(); }
  Status record(EventId event, StreamId stream) override {
    return cpu->record(event, stream);
  }
  Status wait(EventId event, StreamId stream) override {
    return cpu->wait(event, stream);
  }
  Status synchronize(StreamId stream) override {
    return cpu->synchronize(stream);
  }

private:
  std::unique_ptr<Device> cpu;
  Gate &gate;
  bool waits;
};

/// An all-reduce on the second stream, and a kernel that needs nothing of it.
plan::Manifest overlappingManifest() {
  plan::Manifest manifest = tinyManifestOfTwo(false);
  plan::Program &step = *manifest.mutable_roles(0)->mutable_programs(1);
  step.clear_instructions();
  uint32_t data = 0, count = 0;
  for (int i = 0; i < step.buffers_size(); ++i) {
    if (step.buffers(i).type().dtype() == plan::I64 &&
        step.buffers(i).space() == plan::PERSISTENT)
      count = uint32_t(i);
    if (step.buffers(i).offset() == 0 &&
        step.buffers(i).space() == plan::TRANSIENT)
      data = uint32_t(i);
  }
  addCollective(step, plan::ALL_REDUCE, data, data, 2)->set_stream(1);
  addKernel(step, "tiny_count", {count}, 0, 1);
  return manifest;
}

TEST(Streams, CollectivesRunBesideKernels) {
  TemporaryFolder folder;
  writeArtifact(folder.path("a.zca"), overlappingManifest());
  auto artifact = Artifact::load(folder.path("a.zca"));
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  auto worlds = createInProcessRanks(2);
  Gate gate;
  float sums[2] = {};
  Status statuses[2];
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      // Rank 0's kernel ends when rank 1 has the sum, which needs rank 0's
      // part of the all-reduce meanwhile.
      GatedDevice device(gate, r == 0);
      auto executor =
          Executor::prepare(device, *artifact, {"step"}, worlds[r].get());
      ASSERT_TRUE(executor.ok()) << executor.status().message();
      const plan::Program &step = *artifact->program("step");
      uint32_t data = step.inputs(0).buffer();
      const float x[6] = {float(r + 1), 0, 0, 0, 0, 0};
      float sum[6];
      ASSERT_TRUE((*executor)->write(step, data, x).ok());
      statuses[r] = (*executor)->run(step);
      ASSERT_TRUE((*executor)->read(step, data, sum).ok());
      sums[r] = sum[0];
      if (r == 1)
        gate.open = true;
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int r = 0; r < 2; ++r) {
    EXPECT_TRUE(statuses[r].ok()) << statuses[r].message();
    EXPECT_EQ(sums[r], 3.0f);
  }
}

TEST(Streams, WaitsAreKept) {
  StreamProgress progress;
  progress.begin();
  std::atomic<bool> passed{false};
  std::thread waiter([&] {
    EXPECT_TRUE(progress.waitFor(0, 5));
    passed = true;
  });
  progress.done(0, 4);
  EXPECT_FALSE(passed);
  progress.done(0, 6); // 5 was of the other stream
  waiter.join();
  std::thread failing([&] { EXPECT_FALSE(progress.waitFor(1, 0)); });
  progress.fail();
  failing.join();
}

TEST(Streams, ASideThreadTakesOneWorkAfterAnother) {
  SideThread thread;
  int sum = 0;
  for (int i = 1; i <= 100; ++i) {
    thread.start([&sum, i] { sum += i; });
    thread.wait();
  }
  EXPECT_EQ(sum, 5050);
}

// Two streams that wait for each other's instructions at random, and a third
// that waits for both: nobody misses the end of what he waits for.
TEST(StreamProgress, WakesWhoeverWaits) {
  constexpr uint32_t kSteps = 20000;
  StreamProgress progress;
  progress.begin();
  auto walk = [&](uint32_t mine, uint32_t other, uint32_t offset) {
    for (uint32_t i = 0; i < kSteps; ++i) {
      if (i % 7 == offset && i >= 3)
        ASSERT_TRUE(progress.waitFor(other, i - 3));
      progress.done(mine, i);
    }
  };
  std::thread collectives([&] { walk(kCollectiveStream, kMainStream, 2); });
  std::thread copies([&] {
    for (uint32_t i = 0; i < kSteps; i += 11) {
      ASSERT_TRUE(progress.waitFor(kMainStream, i));
      ASSERT_TRUE(progress.waitFor(kCollectiveStream, i));
    }
  });
  walk(kMainStream, kCollectiveStream, 5);
  collectives.join();
  copies.join();
}

TEST(StreamProgress, FailureEndsWaiting) {
  StreamProgress progress;
  progress.begin();
  std::thread waits([&] { EXPECT_FALSE(progress.waitFor(kMainStream, 5)); });
  progress.done(kMainStream, 4);
  progress.fail();
  waits.join();
  EXPECT_FALSE(progress.waitFor(kMainStream, 4));
}

} // namespace
} // namespace zc
