// Orders of two roles, which send each other messages in flight.
#include "runtime/Exec/OrderRunner.h"
#include "runtime/Comm/InProcess/InProcess.h"
#include "runtime/Comm/Tcp/Socket.h"
#include "runtime/Comm/Tcp/Tcp.h"
#include "runtime/Device/Cpu/CpuDevice.h"
#include "runtime/Plan/Order/VerifyOrders.h"
#include "test/unit/runtime/PlanBuilder.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <gtest/gtest.h>
#include <random>
#include <thread>

namespace zc {
namespace {

using namespace test;
using std::chrono::milliseconds;

constexpr uint32_t kMicroBatches = 4, kDepth = 2;
constexpr int64_t kWidth = 4;
constexpr uint64_t kWorkspaceBytes = 256 * 1024;
constexpr uint64_t kMessageBytes = kWidth * sizeof(float);

// --- The artifact
// ---------------------------------------------------------------

// The rings of the roles.
enum { kStash, kOut, kGradientIn };
enum { kIn, kGradientOut };

void addRing(plan::Role &role, const std::string &name) {
  plan::Ring &ring = *role.add_rings();
  ring.set_name(name);
  ring.set_offset(role.flight_bytes());
  ring.set_slot_bytes(64);
  ring.set_slots(kDepth);
  ring.set_memory_class(plan::ACTIVATIONS);
  role.set_flight_bytes(role.flight_bytes() + 64 * kDepth);
}

void addMessage(plan::Role &role, uint32_t id, uint32_t peer, bool sends,
                uint32_t ring) {
  plan::Message &message = *role.add_messages();
  message.set_id(id);
  message.set_name(id == 0 ? "y" : "dy");
  message.set_peer(peer);
  message.set_sends(sends);
  message.set_gradient(id == 1);
  message.set_line(id);
  message.set_ring(ring);
  setType(message.mutable_type(), plan::F32, {1, kWidth});
}

uint32_t addFlight(plan::Program &program, uint32_t ring) {
  auto buffer = addBuffer(program, plan::FLIGHT, 0, plan::F32, {1, kWidth});
  program.mutable_buffers(int(buffer))->set_ring(ring);
  return buffer;
}

uint32_t addWorkspace(plan::Program &program) {
  program.set_transient_bytes(64 + kWorkspaceBytes);
  return addBuffer(program, plan::TRANSIENT, 64, plan::U8,
                   {int64_t(kWorkspaceBytes)});
}

void addCopy(plan::Program &program, uint32_t from, uint32_t to) {
  plan::Instruction *instruction = program.add_instructions();
  instruction->set_label("test.copy");
  instruction->mutable_copy()->set_source(from);
  instruction->mutable_copy()->set_destination(to);
}

/// x, which stays until backward, is sent.
void addForward(plan::Role &role) {
  plan::Program &program = *role.add_programs();
  program.set_name("forward");
  auto x = addFlight(program, kStash);
  addInput(program, "x", x);
  addCopy(program, x, addFlight(program, kOut));
}

/// acc += x . dy
void addBackward(plan::Role &role) {
  plan::Program &program = *role.add_programs();
  program.set_name("backward");
  auto x = addFlight(program, kStash), dy = addFlight(program, kGradientIn);
  auto acc = addBuffer(program, plan::PERSISTENT, 0, plan::F32, {1, 1});
  addMatmulAdd(program, x, dy, acc, addWorkspace(program), {"transpose_rhs"});
}

/// dy = scale y
void addMicro(plan::Role &role) {
  plan::Program &program = *role.add_programs();
  program.set_name("micro");
  auto y = addFlight(program, kIn), dy = addFlight(program, kGradientOut);
  auto scale = addBuffer(program, plan::PERSISTENT, 0, plan::F32, {1, 1});
  addMatmul(program, scale, y, dy, addWorkspace(program));
}

/// The sum over the roles of what lies first among the states, which then
/// becomes what lies behind it.
void addApply(plan::Role &role) {
  plan::Program &program = *role.add_programs();
  program.set_name("apply");
  program.set_transient_bytes(64);
  auto mine = addBuffer(program, plan::PERSISTENT, 0, plan::F32, {});
  auto next = addBuffer(program, plan::PERSISTENT, 64, plan::F32, {});
  auto sum = addBuffer(program, plan::TRANSIENT, 0, plan::F32, {});
  auto *collective = addCollective(program, plan::ALL_REDUCE, mine, sum, 2)
                         ->mutable_collective();
  collective->clear_axes();
  collective->add_axes("pp");
  addCopy(program, next, mine);
  addMetric(program, "loss", sum);
}

/// Writes an order.
struct Writer {
  plan::Order &order;

  void feed(uint32_t program, uint32_t k, const Slots &slots) {
    plan::Feed &feed = *order.add_actions()->mutable_feed();
    feed.set_program(program);
    feed.set_micro_batch(k);
    feed.mutable_slots()->Add(slots.begin(), slots.end());
  }
  void call(uint32_t program, uint32_t k, const Slots &slots) {
    plan::Call &call = *order.add_actions()->mutable_call();
    call.set_program(program);
    call.set_micro_batch(k);
    call.mutable_slots()->Add(slots.begin(), slots.end());
  }
  void move(bool sends, uint32_t message, uint32_t k) {
    plan::Action &action = *order.add_actions();
    plan::Move &move =
        sends ? *action.mutable_send() : *action.mutable_receive();
    move.set_message(message);
    move.set_micro_batch(k);
    move.set_slot(k % kDepth);
  }
};

/// Two micro-batches are ahead of the backward.
void orderFirst(plan::Role &role) {
  Writer writer = {*role.mutable_train()};
  auto forward = [&](uint32_t k) {
    writer.feed(0, k, {k % kDepth});
    writer.call(0, k, {k % kDepth, k % kDepth, 0});
    writer.move(true, 0, k);
  };
  for (uint32_t k = 0; k < kDepth; ++k)
    forward(k);
  for (uint32_t k = 0; k < kMicroBatches; ++k) {
    writer.move(false, 1, k);
    writer.call(1, k, {k % kDepth, 0, k % kDepth});
    if (k + kDepth < kMicroBatches)
      forward(k + kDepth);
  }
  writer.call(2, 0, {0, 0, 0});
}

/// Receives are one call ahead.
void orderSecond(plan::Role &role) {
  Writer writer = {*role.mutable_train()};
  writer.move(false, 0, 0);
  for (uint32_t k = 0; k < kMicroBatches; ++k) {
    if (k + 1 < kMicroBatches)
      writer.move(false, 0, k + 1);
    writer.call(0, k, {k % kDepth, k % kDepth});
    writer.move(true, 1, k);
  }
  writer.call(1, 0, {0, 0});
}

void addStates(plan::Role &role, const std::string &name, bool isParameter) {
  role.set_persistent_bytes(128);
  addState(role, name, isParameter ? plan::PARAMETER : plan::ACCUMULATOR,
           plan::F32, {}, 0);
  addState(role, name + ".next", isParameter ? plan::PARAMETER : plan::CONSTANT,
           plan::F32, {}, 64);
}

plan::Manifest manifestOfRoles() {
  plan::Manifest manifest = tinyManifest();
  manifest.clear_roles();
  manifest.set_batch(kMicroBatches);
  manifest.set_accumulate(kMicroBatches);
  plan::Setting *axis = manifest.add_mesh();
  axis->set_name("pp");
  axis->set_value("2");
  plan::Role &first = *manifest.add_roles();
  addStates(first, "acc", false);
  for (const char *name : {"stash", "out", "gradient.in"})
    addRing(first, name);
  addMessage(first, 0, 1, true, kOut);
  addMessage(first, 1, 1, false, kGradientIn);
  addForward(first);
  addBackward(first);
  addApply(first);
  first.add_programs()->set_name("init"); // all begins as zeros
  orderFirst(first);
  plan::Role &second = *manifest.add_roles();
  addStates(second, "scale", true);
  for (const char *name : {"in", "gradient.out"})
    addRing(second, name);
  addMessage(second, 0, 0, false, kIn);
  addMessage(second, 1, 0, true, kGradientOut);
  addMicro(second);
  addApply(second);
  second.add_programs()->set_name("init");
  orderSecond(second);
  return manifest;
}

// --- The ranks --------------------------------------------------------------

/// The CPU, whose memory the host is not to use.
class FarDevice final : public Device {
public:
  std::string description() const override { return "far"; }
  bool hostReadsMemory() const override { return false; }
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
  std::unique_ptr<Device> cpu = cpu::createCpuDevice({});
};

struct Case {
  const char *name;
  bool byTcp, isFar;
};

/// A sample of a step.
std::vector<float> sample(int step, uint32_t k) {
  return {float(step + 1), float(k), float(step * int(k)), 2};
}

float scaleOf(int step) { return step == 0 ? 3 : 5; }

float expectedLoss(int step) {
  float sum = scaleOf(step); // of the second role
  for (uint32_t k = 0; k < kMicroBatches; ++k)
    for (float x : sample(step, k))
      sum += scaleOf(step) * x * x;
  return sum;
}

class OrderRunnerTest : public ::testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    writeArtifact(folder.path("a.zca"), manifestOfRoles());
    auto loaded = Artifact::load(folder.path("a.zca"));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    artifact.emplace(std::move(*loaded));
    Status sound = verifyOrders(artifact->manifest());
    ASSERT_TRUE(sound.ok()) << sound.message();
  }

  using Body = std::function<Status(World &)>;
  std::vector<Status> onRanks(const Body &body) {
    auto worlds = GetParam().byTcp ? std::vector<std::unique_ptr<World>>()
                                   : createInProcessRanks(2);
    const int port = *tcp::portOf(*tcp::listenOn(0));
    std::vector<Status> statuses(2);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        std::unique_ptr<World> own;
        if (worlds.empty()) {
          auto transport =
              connectByTcp({rank, 2, "localhost", port}, milliseconds(20000));
          own = std::make_unique<World>(std::move(*transport));
        }
        World &world = own ? *own : *worlds[size_t(rank)];
        world.setTimeout(milliseconds(20000));
        statuses[size_t(rank)] = body(world);
      });
    for (std::thread &thread : threads)
      thread.join();
    return statuses;
  }

  /// Everything of a rank.
  struct Ranked {
    explicit Ranked(Artifact view) : artifact(std::move(view)) {}
    Artifact artifact;
    std::unique_ptr<Device> device;
    std::unique_ptr<Executor> executor;
  };
  Result<std::unique_ptr<Ranked>> prepare(World &world) {
    auto ranked = std::make_unique<Ranked>(artifact->forRole(world.rank()));
    ranked->device = GetParam().isFar ? std::make_unique<FarDevice>()
                                      : cpu::createCpuDevice({});
    ZC_ASSIGN_OR_RETURN(
        ranked->executor,
        Executor::prepare(*ranked->device, ranked->artifact,
                          programNamesOf(ranked->artifact.role(),
                                         ordersOf(ranked->artifact).train),
                          &world));
    ZC_RETURN_IF_ERROR(ranked->executor->connect());
    return ranked;
  }

  TemporaryFolder folder;
  std::optional<Artifact> artifact;
};

INSTANTIATE_TEST_SUITE_P(Ways, OrderRunnerTest,
                         ::testing::Values(Case{"InProcess", false, false},
                                           Case{"Tcp", true, false},
                                           Case{"InProcessFar", false, true},
                                           Case{"TcpFar", true, true}),
                         [](const auto &info) { return info.param.name; });

/// Rests a while, now and then.
class Delays {
public:
  explicit Delays(unsigned seed) : random(seed) {}
  void rest() {
    if (random() % 2)
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
  }

private:
  std::mt19937 random;
};

Status feedSample(Executor &executor, const plan::Feed &feed, int step) {
  const plan::Program &program = executor.role().programs(int(feed.program()));
  return executor.write(program, program.inputs(0).buffer(),
                        sample(step, feed.micro_batch()).data(),
                        slotsOf(program, feed.slots()));
}

TEST_P(OrderRunnerTest, MessagesReachTheRightMicroBatchHoweverSlow) {
  constexpr int kSteps = 12;
  std::vector<float> losses[2];
  auto statuses = onRanks([&](World &world) -> Status {
    ZC_ASSIGN_OR_RETURN(std::unique_ptr<Ranked> ranked, prepare(world));
    Executor &executor = *ranked->executor;
    if (world.rank() == 1)
      for (int i : {0, 1}) {
        const float scale = scaleOf(i);
        ZC_RETURN_IF_ERROR(executor.writeState(executor.role().states(i), 0,
                                               &scale, sizeof(scale)));
      }
    Delays delays(unsigned(world.rank()) + 1);
    OrderRunner runner(executor);
    const plan::Order &order = executor.role().train();
    for (int step = 0; step < kSteps; ++step) {
      OrderCallbacks callbacks;
      callbacks.feed = [&](const plan::Feed &feed) {
        delays.rest();
        return feedSample(executor, feed, step);
      };
      callbacks.called = [&](const plan::Call &) {
        delays.rest();
        return Status();
      };
      ZC_RETURN_IF_ERROR(runner.run(order, callbacks));
      const plan::Program &last = *lastProgramOf(executor.role(), order);
      float loss = 0;
      ZC_RETURN_IF_ERROR(executor.read(last, last.outputs(0).buffer(), &loss));
      losses[world.rank()].push_back(loss);
    }
    return Status();
  });
  for (const Status &status : statuses)
    ASSERT_TRUE(status.ok()) << status.message();
  for (const auto &found : losses) {
    ASSERT_EQ(found.size(), size_t(kSteps));
    for (int step = 0; step < kSteps; ++step)
      EXPECT_EQ(found[size_t(step)], expectedLoss(step)) << "step " << step;
  }
}

TEST_P(OrderRunnerTest, NextFeedsAndBytesAreTold) {
  auto statuses = onRanks([&](World &world) -> Status {
    ZC_ASSIGN_OR_RETURN(std::unique_ptr<Ranked> ranked, prepare(world));
    Executor &executor = *ranked->executor;
    const plan::Role &role = executor.role();
    EXPECT_EQ(executor.arenaBytes(), role.persistent_bytes() + 64 +
                                         kWorkspaceBytes + role.flight_bytes());
    // All but the collective at its end.
    plan::Order order = role.train();
    order.mutable_actions()->RemoveLast();
    std::vector<int> next;
    OrderCallbacks callbacks;
    callbacks.feed = [&](const plan::Feed &feed) {
      return feedSample(executor, feed, 0);
    };
    callbacks.meanwhile = [&](const plan::Feed *feed) {
      next.push_back(feed ? int(feed->micro_batch()) : -1);
      return Status();
    };
    ZC_RETURN_IF_ERROR(OrderRunner(executor).run(order, callbacks));
    EXPECT_EQ(executor.sentBytes(), kMicroBatches * kMessageBytes);
    const std::vector<int> fed = {1, 2, 2, 3, 3, -1, -1, -1};
    EXPECT_EQ(next, world.rank() == 0 ? fed : std::vector<int>(4, -1));
    return Status();
  });
  for (const Status &status : statuses)
    EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(OrderRunnerTest, AMessageThatDoesNotComeIsNamed) {
  std::atomic<bool> over{false};
  auto statuses = onRanks([&](World &world) -> Status {
    ZC_ASSIGN_OR_RETURN(std::unique_ptr<Ranked> ranked, prepare(world));
    if (world.rank() == 1) {
      while (!over)
        std::this_thread::sleep_for(milliseconds(5));
      return Status();
    }
    world.setTimeout(milliseconds(200));
    // It sends nothing, and waits for a gradient.
    plan::Order order;
    Writer{order}.move(false, 1, 3);
    Status status = OrderRunner(*ranked->executor).run(order, {});
    over = true;
    return status;
  });
  EXPECT_EQ(statuses[0].code(), StatusCode::DeadlineExceeded);
  EXPECT_NE(statuses[0].message().find(
                "role 0, gradient 'dy' from role 1, micro-batch 3: "),
            std::string::npos)
      << statuses[0].message();
  EXPECT_NE(
      statuses[0].message().find("waited 0.2 s for a message from rank 1, "
                                 "which does not answer (--timeout)"),
      std::string::npos)
      << statuses[0].message();
}

TEST_P(OrderRunnerTest, AFailureTakesBackWhatIsUnderWay) {
  auto statuses = onRanks([&](World &world) -> Status {
    ZC_ASSIGN_OR_RETURN(std::unique_ptr<Ranked> ranked, prepare(world));
    OrderCallbacks callbacks;
    callbacks.feed = [&](const plan::Feed &feed) {
      return feed.micro_batch() == 1
                 ? Status(StatusCode::IoError, "the disk is gone")
                 : feedSample(*ranked->executor, feed, 0);
    };
    Status status = OrderRunner(*ranked->executor)
                        .run(ranked->executor->role().train(), callbacks);
    return status.ok() ? status : world.fail(status);
  });
  EXPECT_NE(statuses[0].message().find("the disk is gone"), std::string::npos)
      << statuses[0].message();
  EXPECT_EQ(statuses[1].code(), StatusCode::Cancelled) << statuses[1].message();
}

} // namespace
} // namespace zc
