#include "test/unit/runtime/Exec/Chain.h"
#include "runtime/Device/Cpu/CpuDevice.h"
#include "runtime/Plan/Order/BuildOrders.h"
#include "test/unit/runtime/PlanBuilder.h"
#include "test/unit/runtime/TinyArtifact.h"

namespace zc::test {
namespace {

constexpr int64_t kWidth = 4;
constexpr uint64_t kWorkspaceBytes = 256 * 1024;
// Where a role's states lie.
enum : uint64_t {
  kAcc = 0,
  kZero = 64,
  kWeight = 128,
  kRate = 192,
  kEnd = 256
};

/// One role of a chain: y = w x forward, dx = w dy and acc += x . dy backward;
/// the last one takes y for dy. Then w += rate acc.
class ChainRole {
public:
  ChainRole(plan::Role &role, uint32_t index, uint32_t roles)
      : role(role), index(index), roles(roles) {
    role.set_persistent_bytes(kEnd);
    addState(role, "acc", plan::ACCUMULATOR, plan::F32, {}, kAcc);
    addState(role, "zero", plan::CONSTANT, plan::F32, {}, kZero);
    addState(role, strCat("w", index), plan::PARAMETER, plan::F32, {}, kWeight);
    addState(role, "rate", plan::CONSTANT, plan::F32, {}, kRate);
    for (const char *name : {"x", "y", "dy", "dx"})
      addRing(name);
    if (index > 0) {
      addMessage(index - 1, false, false, kX);
      addMessage(index - 1, true, true, kDx);
    }
    if (!isLast()) {
      addMessage(index, false, true, kY);
      addMessage(index, true, false, kDy);
    }
    addForward(add("forward"));
    addBackward(add("backward"));
    if (isLast()) {
      plan::Program &micro = add("micro");
      addForward(micro);
      addBackward(micro);
    }
    addApply(add("apply"));
    role.add_programs()->set_name("init"); // all begins as zeros
  }

private:
  enum { kX, kY, kDy, kDx }; // the rings

  bool isLast() const { return index + 1 == roles; }

  void addRing(const char *name) {
    plan::Ring &ring = *role.add_rings();
    ring.set_name(name);
    ring.set_slot_bytes(64);
    ring.set_memory_class(plan::ACTIVATIONS);
  }

  /// Between the roles `boundary` and the one behind it.
  void addMessage(uint32_t boundary, bool gradient, bool sends, uint32_t ring) {
    plan::Message &message = *role.add_messages();
    message.set_id(2 * boundary + gradient);
    message.set_line(message.id());
    message.set_name(gradient ? "dy" : "y");
    message.set_peer(boundary == index ? index + 1 : index - 1);
    message.set_sends(sends);
    message.set_gradient(gradient);
    message.set_ring(ring);
    setType(message.mutable_type(), plan::F32, {1, kWidth});
  }

  plan::Program &add(const char *name) {
    plan::Program &program = *role.add_programs();
    program.set_name(name);
    program.set_transient_bytes(64 + kWorkspaceBytes);
    return program;
  }
  uint32_t flight(plan::Program &program, uint32_t ring) {
    auto buffer = addBuffer(program, plan::FLIGHT, 0, plan::F32, {1, kWidth});
    program.mutable_buffers(int(buffer))->set_ring(ring);
    return buffer;
  }
  static uint32_t scalar(plan::Program &program, uint64_t offset) {
    return addBuffer(program, plan::PERSISTENT, offset, plan::F32, {1, 1});
  }
  /// c = a b, or c += a b, of [1, inner] and [inner, width]; a column is stored
  /// as a row.
  static void multiply(plan::Program &program, uint32_t a, uint32_t b,
                       uint32_t c, int64_t inner, int64_t width, bool adds) {
    auto workspace = addBuffer(program, plan::TRANSIENT, 64, plan::U8,
                               {int64_t(kWorkspaceBytes)});
    const std::vector<std::string> marks =
        inner > 1 ? std::vector<std::string>{"transpose_rhs"}
                  : std::vector<std::string>();
    if (adds)
      addMatmulAdd(program, a, b, c, workspace, marks);
    else
      addMatmul(program, a, b, c, workspace, marks);
  }
  static void copy(plan::Program &program, uint32_t from, uint32_t to) {
    plan::Instruction *instruction = program.add_instructions();
    instruction->set_label("test.copy");
    instruction->mutable_copy()->set_source(from);
    instruction->mutable_copy()->set_destination(to);
  }

  void addForward(plan::Program &program) {
    auto x = flight(program, kX);
    if (index == 0)
      addInput(program, "x", x);
    multiply(program, scalar(program, kWeight), x, flight(program, kY), 1,
             kWidth, false);
  }
  void addBackward(plan::Program &program) {
    auto x = flight(program, kX);
    auto dy = flight(program, isLast() ? kY : kDy);
    multiply(program, x, dy, scalar(program, kAcc), kWidth, 1, true);
    if (index > 0)
      multiply(program, scalar(program, kWeight), dy, flight(program, kDx), 1,
               kWidth, false);
  }
  void addApply(plan::Program &program) {
    multiply(program, scalar(program, kRate), scalar(program, kAcc),
             scalar(program, kWeight), 1, 1, true);
    auto acc = addBuffer(program, plan::PERSISTENT, kAcc, plan::F32, {});
    auto sum = addBuffer(program, plan::TRANSIENT, 0, plan::F32, {});
    auto *collective =
        addCollective(program, plan::ALL_REDUCE, acc, sum, int64_t(roles))
            ->mutable_collective();
    collective->set_axes(0, "pp");
    copy(program, addBuffer(program, plan::PERSISTENT, kZero, plan::F32, {}),
         acc);
    addMetric(program, "loss", sum);
  }

  plan::Role &role;
  const uint32_t index, roles;
};

} // namespace

Status writeChain(const std::string &path, uint32_t roles,
                  uint32_t microBatches, const std::string &schedule) {
  plan::Manifest manifest = tinyManifest();
  manifest.clear_roles();
  manifest.set_batch(microBatches);
  manifest.set_accumulate(microBatches);
  plan::Setting *axis = manifest.add_mesh();
  axis->set_name("pp");
  axis->set_value(std::to_string(roles));
  for (uint32_t i = 0; i < roles; ++i)
    ChainRole(*manifest.add_roles(), i, roles);
  ZC_RETURN_IF_ERROR(buildOrders(manifest, {schedule, microBatches}));
  writeArtifact(path, manifest);
  return Status();
}

static Status feedSample(Executor &executor, const plan::Feed &feed, int step) {
  const plan::Program &program = executor.role().programs(int(feed.program()));
  float x[kWidth];
  for (int i = 0; i < kWidth; ++i)
    x[i] = 0.1f + 0.37f * float(i) - 0.071f * float(feed.micro_batch()) +
           0.013f * float(step);
  return executor.write(program, program.inputs(0).buffer(), x,
                        slotsOf(program, feed.slots()));
}

Status runChain(const Artifact &artifact, World &world,
                const OrderCallbacks &given, Found &found) {
  const Artifact view = artifact.forRole(world.rank());
  auto device = cpu::createCpuDevice({});
  ZC_ASSIGN_OR_RETURN(
      auto executor,
      Executor::prepare(*device, view,
                        programNamesOf(view.role(), view.role().train()),
                        &world));
  ZC_RETURN_IF_ERROR(executor->connect());
  const float weight = 0.7f + 0.13f * float(world.rank()), rate = 1e-3f;
  for (auto [state, value] : {std::pair(2, weight), {3, rate}})
    ZC_RETURN_IF_ERROR(executor->writeState(view.role().states(state), 0,
                                            &value, sizeof(value)));
  OrderRunner runner(*executor);
  for (int step = 0; step < 3; ++step) {
    OrderCallbacks callbacks = given;
    callbacks.feed = [&](const plan::Feed &feed) {
      return feedSample(*executor, feed, step);
    };
    const plan::Order &order = view.role().train();
    ZC_RETURN_IF_ERROR(runner.run(order, callbacks));
    const plan::Program &last = *lastProgramOf(view.role(), order);
    found.push_back(0);
    ZC_RETURN_IF_ERROR(
        executor->read(last, last.outputs(0).buffer(), &found.back()));
  }
  found.push_back(0);
  return executor->readState(view.role().states(2), 0, &found.back(),
                             sizeof(float));
}

} // namespace zc::test
