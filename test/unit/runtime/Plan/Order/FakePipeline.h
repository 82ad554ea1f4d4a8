// Pipelines put together by hand, for tests: roles with programs, rings and
// messages as the compiler exports them, but without instructions.
#ifndef ZC_TEST_UNIT_RUNTIME_PLAN_ORDER_FAKEPIPELINE_H
#define ZC_TEST_UNIT_RUNTIME_PLAN_ORDER_FAKEPIPELINE_H

#include "runtime/Plan/Order/BuildOrders.h"
#include "runtime/Plan/Order/VerifyOrders.h"
#include "test/unit/runtime/Plan/Order/FakeRole.h"

#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace zc::test {

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
  for (uint32_t stage = 0; pipeline.chunks > 1 && stage < pipeline.stages();
       ++stage)
    manifest.mutable_roles(int(pipeline.roleOf(stage)))->add_stages(stage);
  uint32_t id = 1;
  std::map<std::tuple<uint32_t, uint32_t, bool>, uint32_t> lines;
  for (uint32_t stage = 0; stage < pipeline.replicas.size(); ++stage)
    for (uint32_t turn = 0; turn < pipeline.replicas[stage]; ++turn) {
      plan::Role &role =
          *manifest.mutable_roles(int(pipeline.roleOf(stage) + turn));
      role.add_stages(stage);
      role.set_turn(turn);
      role.set_turns(pipeline.replicas[stage]);
    }
  auto connectPair = [&](uint32_t fromStage, uint32_t toStage, bool gradient,
                         bool eval, int part, uint32_t turn, uint32_t toTurn) {
    const uint32_t from = pipeline.roleOf(fromStage) + turn,
                   to = pipeline.roleOf(toStage) + toTurn,
                   sender = pipeline.chunkOf(fromStage),
                   receiver = pipeline.chunkOf(toStage);
    if (from == to)
      return roles[from].addLocal(eval       ? "eval"
                                  : gradient ? "backward"
                                             : "forward",
                                  sender, receiver);
    uint32_t line =
        lines
            .emplace(std::tuple(fromStage + pipeline.stages() * turn,
                                toStage + pipeline.stages() * toTurn, gradient),
                     uint32_t(lines.size()))
            .first->second;
    roles[from].addMessage(id, to, line, true, gradient, eval, part, sender);
    roles[to].addMessage(id++, from, line, false, gradient, eval, part,
                         receiver);
  };
  // Replicas meet where they compute one micro-batch.
  auto connect = [&](uint32_t from, uint32_t to, bool gradient, bool eval,
                     int part) {
    const uint32_t senders = pipeline.replicasOf(from),
                   receivers = pipeline.replicasOf(to),
                   common = std::gcd(senders, receivers);
    for (uint32_t turn = 0; turn < senders; ++turn)
      for (uint32_t toTurn = 0; toTurn < receivers; ++toTurn)
        if (turn % common == toTurn % common)
          connectPair(from, to, gradient, eval, part, turn, toTurn);
  };
  auto connectAll = [&](uint32_t from, uint32_t to, int part) {
    connect(from, to, false, false, part);
    connect(to, from, true, false, part);
    if (pipeline.eval)
      connect(from, to, false, true, part);
  };
  for (uint32_t i = 0; i + 1 < pipeline.stages(); ++i)
    connectAll(i, i + 1, 0);
  if (pipeline.skip && pipeline.stages() > pipeline.skipTo)
    connectAll(0, pipeline.skipTo, 1);
  return manifest;
}

/// The same with orders; a failure is an empty manifest.
inline plan::Manifest fakePipeline(const FakePipeline &pipeline,
                                   const std::string &schedule) {
  plan::Manifest manifest = fakePipeline(pipeline);
  OrderOptions options{schedule, pipeline.microBatches};
  Result<PipelineSchedule> replicated = makeSchedule(
      {schedule, pipeline.roles, pipeline.microBatches, 2, pipeline.replicas});
  if (!pipeline.replicas.empty()) {
    if (!replicated.ok())
      return plan::Manifest();
    options.given = &*replicated;
  }
  Status status = buildOrders(manifest, options);
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
