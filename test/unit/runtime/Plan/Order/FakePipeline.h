// Pipelines put together by hand, for tests: roles with programs, rings and
// messages as the compiler exports them, but without instructions.
#ifndef ZC_TEST_UNIT_RUNTIME_PLAN_ORDER_FAKEPIPELINE_H
#define ZC_TEST_UNIT_RUNTIME_PLAN_ORDER_FAKEPIPELINE_H

#include "runtime/Plan/Order/BuildOrders.h"
#include "runtime/Plan/Order/VerifyOrders.h"
#include "test/unit/runtime/PlanBuilder.h"

#include <map>
#include <set>
#include <tuple>

namespace zc::test {

struct FakePipeline {
  uint32_t roles = 2;
  uint32_t microBatches = 4;
  bool micro = true; // the last role has it, too
  bool eval = true;
  bool weights = false; // apart from the backward
  bool skip = false;    // from role 0 to a later one
  uint32_t skipTo = 2;
  bool stashInput = false; // activations are received into the stash
  bool feedsStash = false; // role 0's input lies in the stash
  int64_t freezeStep = 0;
};

/// One role under construction.
class FakeRole {
public:
  FakeRole(plan::Role &role, const FakePipeline &pipeline, uint32_t index)
      : role(role), pipeline(pipeline), index(index),
        isLast(index + 1 == pipeline.roles) {
    add("forward");
    add("backward");
    if (pipeline.weights)
      add("weight_gradients");
    if (pipeline.micro && isLast)
      add("micro");
    add("apply");
    if (pipeline.freezeStep > 0)
      add("apply.compressed");
    if (pipeline.eval)
      add("eval");
    for (const char *name : {"forward", "backward", "weight_gradients"})
      addBufferIn(name, "stash", 0);
    if (index == 0 || isLast)
      for (const char *name : {"forward", "micro", "eval"})
        feed(name);
  }

  /// This end of a message; `part` numbers the messages of a boundary.
  void addMessage(uint32_t id, uint32_t peer, uint32_t line, bool sends,
                  bool gradient, bool eval, int part) {
    const uint64_t offset = uint64_t(part) * 64;
    plan::Message *message = role.add_messages();
    message->set_id(id);
    message->set_name(strCat(gradient ? "grad" : "h", id));
    message->set_peer(peer);
    message->set_sends(sends);
    message->set_gradient(gradient);
    message->set_line(line);
    message->set_eval(eval);
    setType(message->mutable_type(), plan::F32, {16});
    if (!gradient && !eval && !sends && pipeline.stashInput) {
      message->set_offset(offset + 128);
      message->set_ring(ring("stash"));
      addBufferIn("forward", "stash", offset + 128);
      addBufferIn("micro", "stash", offset + 128);
      return;
    }
    const std::string name = std::string(eval       ? "eval"
                                         : gradient ? "gradients"
                                                    : "activations") +
                             (sends ? ".out" : ".in");
    message->set_offset(offset);
    message->set_ring(ring(name));
    if (eval)
      return addBufferIn("eval", name, offset);
    addBufferIn(gradient ? "backward" : "forward", name, offset);
    addBufferIn("micro", name, offset);
  }

private:
  void add(const std::string &name) { role.add_programs()->set_name(name); }

  plan::Program *find(const std::string &name) {
    for (plan::Program &program : *role.mutable_programs())
      if (program.name() == name)
        return &program;
    return nullptr;
  }

  uint32_t ring(const std::string &name) {
    for (int i = 0; i < role.rings_size(); ++i)
      if (role.rings(i).name() == name)
        return uint32_t(i);
    plan::Ring *ring = role.add_rings();
    ring->set_name(name);
    ring->set_slot_bytes(name == "stash" ? 256 : 128);
    ring->set_memory_class(name == "stash" ? plan::ACTIVATIONS
                                           : plan::COMMUNICATION);
    return uint32_t(role.rings_size() - 1);
  }

  void addBufferIn(const std::string &program, const std::string &ringName,
                   uint64_t offset) {
    if (plan::Program *found = find(program)) {
      uint32_t buffer =
          addBuffer(*found, plan::FLIGHT, offset, plan::F32, {16});
      found->mutable_buffers(int(buffer))->set_ring(ring(ringName));
    }
  }

  void feed(const std::string &name) {
    plan::Program *program = find(name);
    if (!program)
      return;
    uint32_t buffer;
    if (pipeline.feedsStash && index == 0 && name == "forward") {
      addBufferIn(name, "stash", 64);
      buffer = uint32_t(program->buffers_size() - 1);
    } else {
      buffer = addBuffer(*program, plan::TRANSIENT, 0, plan::F32, {16});
      program->set_transient_bytes(64);
    }
    addInput(*program, index == 0 ? "x" : "labels", buffer, index != 0);
  }

  plan::Role &role;
  const FakePipeline &pipeline;
  const uint32_t index;
  const bool isLast;
};

/// A training artifact of several roles (or one) without orders.
inline plan::Manifest fakePipeline(const FakePipeline &pipeline) {
  plan::Manifest manifest;
  manifest.set_format_version(1);
  manifest.set_mode("train");
  manifest.mutable_target()->set_device("cpu");
  manifest.mutable_target()->set_threads(1);
  manifest.set_accumulate(pipeline.microBatches);
  manifest.set_freeze_step(pipeline.freezeStep);
  std::vector<FakeRole> roles;
  for (uint32_t i = 0; i < pipeline.roles; ++i)
    manifest.add_roles();
  for (uint32_t i = 0; i < pipeline.roles; ++i)
    roles.emplace_back(*manifest.mutable_roles(int(i)), pipeline, i);
  uint32_t id = 1;
  std::map<std::tuple<uint32_t, uint32_t, bool>, uint32_t> lines;
  auto connect = [&](uint32_t from, uint32_t to, bool gradient, bool eval,
                     int part) {
    uint32_t line =
        lines.emplace(std::tuple(from, to, gradient), uint32_t(lines.size()))
            .first->second;
    roles[from].addMessage(id, to, line, true, gradient, eval, part);
    roles[to].addMessage(id++, from, line, false, gradient, eval, part);
  };
  auto connectAll = [&](uint32_t from, uint32_t to, int part) {
    connect(from, to, false, false, part);
    connect(to, from, true, false, part);
    if (pipeline.eval)
      connect(from, to, false, true, part);
  };
  for (uint32_t i = 0; i + 1 < pipeline.roles; ++i)
    connectAll(i, i + 1, 0);
  if (pipeline.skip && pipeline.roles > pipeline.skipTo)
    connectAll(0, pipeline.skipTo, 1);
  return manifest;
}

/// The same with orders; a failure is an empty manifest.
inline plan::Manifest fakePipeline(const FakePipeline &pipeline,
                                   const std::string &schedule) {
  plan::Manifest manifest = fakePipeline(pipeline);
  Status status = buildOrders(manifest, {schedule, pipeline.microBatches});
  return status.ok() ? manifest : plan::Manifest();
}

inline uint32_t ringOf(const plan::Role &role, const std::string &name) {
  for (int i = 0; i < role.rings_size(); ++i)
    if (role.rings(i).name() == name)
      return uint32_t(i);
  return UINT32_MAX;
}

inline uint32_t slotsOf(const plan::Role &role, const std::string &name) {
  uint32_t ring = ringOf(role, name);
  return ring == UINT32_MAX ? 0 : role.rings(int(ring)).slots();
}

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_PLAN_ORDER_FAKEPIPELINE_H
