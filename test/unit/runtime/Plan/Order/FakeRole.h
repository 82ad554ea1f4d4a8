// One role of a pipeline put together by hand: programs, rings and messages as
// the compiler exports them, but without instructions.
#ifndef ZC_TEST_UNIT_RUNTIME_PLAN_ORDER_FAKEROLE_H
#define ZC_TEST_UNIT_RUNTIME_PLAN_ORDER_FAKEROLE_H

#include "runtime/Plan/Order/RoleUse.h"
#include "test/unit/runtime/PlanBuilder.h"

#include <numeric>
#include <string>
#include <vector>

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
  uint32_t chunks = 1;              // stages of each role
  bool vee = false;                 // the second ones go back up the roles
  std::vector<uint32_t> replicas{}; // roles of each stage; none: one
  uint32_t reshardEvery = 0; // micro-batches for which units stay gathered
  uint64_t unitStride = 64;  // from a stage's unit to the next one's; 0: shared

  uint32_t stages() const {
    return replicas.empty() ? roles * chunks : uint32_t(replicas.size());
  }
  uint32_t replicasOf(uint32_t stage) const {
    return replicas.empty() ? 1 : replicas[stage];
  }
  uint32_t roleOf(uint32_t stage) const {
    uint32_t role =
        vee && stage >= roles ? 2 * roles - 1 - stage : stage % roles;
    if (!replicas.empty())
      role = std::accumulate(replicas.begin(), replicas.begin() + stage, 0u);
    return role;
  }
  uint32_t chunkOf(uint32_t stage) const {
    return replicas.empty() ? stage / roles : 0;
  }
  /// "forward.1" of several.
  std::string name(const std::string &program, uint32_t chunk) const {
    return chunks > 1 ? strCat(program, ".", chunk) : program;
  }
};

/// One role under construction.
class FakeRole {
public:
  FakeRole(plan::Role &role, const FakePipeline &pipeline, uint32_t index)
      : role(role), pipeline(pipeline), index(index),
        isFirst(index < pipeline.replicasOf(0)),
        isLast(pipeline.replicas.empty()
                   ? index == pipeline.roleOf(pipeline.stages() - 1)
                   : index >= pipeline.roleOf(pipeline.stages() - 1)) {
    for (uint32_t chunk = 0; chunk < pipeline.chunks; ++chunk)
      for (const char *name : {"forward", "backward", "weight_gradients"})
        if (pipeline.weights || name != std::string("weight_gradients"))
          add(pipeline.name(name, chunk));
    if (pipeline.micro && isLast && pipeline.chunks == 1)
      add("micro");
    add("apply");
    if (pipeline.freezeStep > 0)
      add("apply.compressed");
    for (uint32_t chunk = 0; chunk < pipeline.chunks; ++chunk) {
      if (pipeline.reshardEvery)
        addUnit(chunk);
      if (pipeline.eval)
        add(pipeline.name("eval", chunk));
      for (const char *name : {"forward", "backward", "weight_gradients"})
        addBufferIn(pipeline.name(name, chunk), pipeline.name("stash", chunk),
                    0);
      if (chunk == 0 ? isFirst || (isLast && pipeline.chunks == 1)
                     : isLast && chunk + 1 == pipeline.chunks)
        for (const char *name : {"forward", "micro", "eval"})
          feed(pipeline.name(name, chunk));
    }
  }

  /// Adds a tensor from one stage of the role to another.
  void addLocal(const char *program, uint32_t from, uint32_t to) {
    for (uint32_t chunk : {from, to})
      addBufferIn(pipeline.name(program, chunk), strCat("local.", program), 0);
  }

  /// This end of a message; `part` numbers the messages of a boundary.
  void addMessage(uint32_t id, uint32_t peer, uint32_t line, bool sends,
                  bool gradient, bool eval, int part, uint32_t chunk = 0) {
    const uint64_t offset = uint64_t(part) * 64;
    plan::Message *message = role.add_messages();
    message->set_id(id);
    message->set_name(strCat(gradient ? "grad" : "h", id));
    message->set_peer(peer);
    message->set_sends(sends);
    message->set_gradient(gradient);
    message->set_line(line);
    message->set_chunk(chunk);
    message->set_eval(eval);
    setType(message->mutable_type(), plan::F32, {16});
    if (!gradient && !eval && !sends && pipeline.stashInput) {
      message->set_offset(offset + 128);
      const std::string stash = pipeline.name("stash", chunk);
      message->set_ring(ring(stash));
      addBufferIn(pipeline.name("forward", chunk), stash, offset + 128);
      addBufferIn("micro", stash, offset + 128);
      return;
    }
    const std::string name =
        pipeline.name(std::string(eval       ? "eval"
                                  : gradient ? "gradients"
                                             : "activations") +
                          (sends ? ".out" : ".in"),
                      chunk);
    message->set_offset(offset);
    message->set_ring(ring(name));
    if (eval)
      return addBufferIn(pipeline.name("eval", chunk), name, offset);
    addBufferIn(pipeline.name(gradient ? "backward" : "forward", chunk), name,
                offset);
    addBufferIn("micro", name, offset);
  }

private:
  /// A stage's unit, the program that gathers it, and those that read it.
  void addUnit(uint32_t chunk) {
    role.set_reshard_every(pipeline.reshardEvery);
    const plan::State *unit =
        addState(role, strCat("unit.", chunk), plan::GATHERED, plan::F32, {16},
                 pipeline.unitStride * chunk);
    add(pipeline.name("gather", chunk));
    for (const char *user : {"gather", "forward", "backward", "micro"})
      if (plan::Program *program = find(pipeline.name(user, chunk)))
        addBufferOf(*program, *unit);
  }

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
    const bool isStash = name.rfind("stash", 0) == 0;
    ring->set_slot_bytes(isStash ? 256 : 128);
    ring->set_memory_class(isStash ? plan::ACTIVATIONS : plan::COMMUNICATION);
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
    if (pipeline.feedsStash && isFirst && name == "forward") {
      addBufferIn(name, "stash", 64);
      buffer = uint32_t(program->buffers_size() - 1);
    } else {
      buffer = addBuffer(*program, plan::TRANSIENT, 0, plan::F32, {16});
      program->set_transient_bytes(64);
    }
    addInput(*program, isFirst ? "x" : "labels", buffer, !isFirst);
  }

  plan::Role &role;
  const FakePipeline &pipeline;
  const uint32_t index;
  const bool isFirst, isLast;
};

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_PLAN_ORDER_FAKEROLE_H
