#include "test/unit/runtime/Plan/Order/FakePipeline.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace zc::test {
namespace {

std::string print(const plan::Role &role, const plan::Action &action) {
  auto program = [&](uint32_t index) {
    return role.programs(int(index)).name();
  };
  auto move = [&](const plan::Move &move) {
    return strCat(role.messages(int(move.message())).name(), ".",
                  move.micro_batch(), "@", move.slot());
  };
  if (action.has_call())
    return strCat(program(action.call().program()), ".",
                  action.call().micro_batch());
  if (action.has_feed())
    return strCat("feed ", program(action.feed().program()), ".",
                  action.feed().micro_batch());
  return action.has_send() ? "send " + move(action.send())
                           : "receive " + move(action.receive());
}

std::string print(const plan::Role &role, const plan::Order &order) {
  std::string text;
  for (const plan::Action &action : order.actions())
    text += (text.empty() ? "" : ", ") + print(role, action);
  return text;
}

plan::Manifest build(const FakePipeline &pipeline,
                     const std::string &schedule) {
  plan::Manifest manifest = fakePipeline(pipeline);
  Status status = buildOrders(manifest, {schedule, pipeline.microBatches});
  EXPECT_TRUE(status.ok()) << status.message();
  status = verifyOrders(manifest);
  EXPECT_TRUE(status.ok()) << schedule << ": " << status.message();
  return manifest;
}

/// One role, programs by name; those in `fed` have an input.
plan::Manifest oneRole(const std::vector<std::string> &programs,
                       uint32_t microBatches) {
  plan::Manifest manifest;
  manifest.set_mode("train");
  manifest.set_accumulate(microBatches);
  for (const std::string &name : programs) {
    plan::Program *program = manifest.roles_size()
                                 ? manifest.mutable_roles(0)->add_programs()
                                 : manifest.add_roles()->add_programs();
    program->set_name(name);
    if (name == "step" || name == "micro" || name == "eval")
      addInput(*program, "x",
               addBuffer(*program, plan::TRANSIENT, 0, plan::F32, {1}));
  }
  return manifest;
}

TEST(BuildOrders, StepOfOneRole) {
  plan::Manifest manifest = oneRole({"init", "step", "eval"}, 0);
  ASSERT_TRUE(buildOrders(manifest, {}).ok());
  const plan::Role &role = manifest.roles(0);
  EXPECT_EQ(print(role, role.train()), "feed step.0, step.0");
  EXPECT_EQ(print(role, role.eval()), "feed eval.0, eval.0");
  EXPECT_EQ(role.train_late().actions_size(), 0);
  EXPECT_TRUE(verifyOrders(manifest).ok());
}

TEST(BuildOrders, AccumulationOfOneRole) {
  plan::Manifest manifest = oneRole({"micro", "apply", "apply.compressed"}, 2);
  manifest.set_freeze_step(3);
  for (const char *schedule : {"1f1b", "gpipe", "naive"}) {
    ASSERT_TRUE(buildOrders(manifest, {schedule, 2}).ok());
    const plan::Role &role = manifest.roles(0);
    EXPECT_EQ(print(role, role.train()),
              "feed micro.0, micro.0, feed micro.1, micro.1, apply.0");
    EXPECT_EQ(print(role, role.train_late()),
              "feed micro.0, micro.0, feed micro.1, micro.1, "
              "apply.compressed.0");
    EXPECT_EQ(role.eval().actions_size(), 0);
    Status status = verifyOrders(manifest);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(BuildOrders, InferenceOfOneRole) {
  plan::Manifest manifest = oneRole({"eval"}, 0);
  manifest.set_mode("infer");
  ASSERT_TRUE(buildOrders(manifest, {}).ok());
  EXPECT_EQ(manifest.roles(0).train().actions_size(), 0);
  EXPECT_EQ(manifest.roles(0).eval().actions_size(), 2);
  EXPECT_TRUE(verifyOrders(manifest).ok());
}

TEST(BuildOrders, TwoRolesAlternate) {
  plan::Manifest manifest = build({2, 2}, "1f1b");
  const plan::Role &first = manifest.roles(0), &last = manifest.roles(1);
  EXPECT_EQ(print(first, first.train()),
            "feed forward.0, forward.0, send h1.0@0, receive grad2.0@0, "
            "feed forward.1, forward.1, send h1.1@0, receive grad2.1@1, "
            "backward.0, backward.1, apply.0");
  EXPECT_EQ(print(last, last.train()),
            "receive h1.0@0, receive h1.1@1, feed micro.0, micro.0, "
            "send grad2.0@0, feed micro.1, micro.1, send grad2.1@0, apply.0");
  EXPECT_EQ(print(first, first.eval()), "feed eval.0, eval.0, send h3.0@0");
  EXPECT_EQ(print(last, last.eval()), "receive h3.0@0, feed eval.0, eval.0");
}

/// How often a step calls a role's programs of that name, of all its stages.
int64_t countCalls(const plan::Role &role, const std::string &name) {
  return std::count_if(
      role.train().actions().begin(), role.train().actions().end(),
      [&](const plan::Action &action) {
        return action.has_call() && role.programs(int(action.call().program()))
                                            .name()
                                            .rfind(name, 0) == 0;
      });
}

TEST(BuildOrders, UnitsAreGatheredByGroups) {
  FakePipeline pipeline{2, 4};
  pipeline.eval = false;
  pipeline.reshardEvery = 2;
  plan::Manifest manifest = build(pipeline, "1f1b");
  EXPECT_EQ(print(manifest.roles(0), manifest.roles(0).train()),
            "gather.0, feed forward.0, forward.0, send h1.0@0, "
            "receive grad2.0@0, feed forward.1, forward.1, send h1.1@0, "
            "backward.0, gather.2, receive grad2.1@0, feed forward.2, "
            "forward.2, send h1.2@0, backward.1, receive grad2.2@0, "
            "feed forward.3, forward.3, send h1.3@0, receive grad2.3@1, "
            "backward.2, backward.3, apply.0");
  for (uint32_t every : {1, 2, 3, 4, 8}) {
    pipeline.reshardEvery = every;
    for (const char *schedule : {"naive", "gpipe", "1f1b"}) {
      manifest = build(pipeline, schedule);
      for (const plan::Role &role : manifest.roles())
        EXPECT_EQ(countCalls(role, "gather"), (4 + every - 1) / every);
    }
  }
}

TEST(BuildOrders, UnitsOfSeveralStagesMakeRoomForEachOther) {
  FakePipeline pipeline{2, 8};
  pipeline.micro = false;
  pipeline.chunks = 2;
  pipeline.reshardEvery = 8;
  plan::Manifest manifest = build(pipeline, "interleaved");
  for (const plan::Role &role : manifest.roles())
    EXPECT_EQ(countCalls(role, "gather"), 2);
  pipeline.unitStride = 0;
  manifest = build(pipeline, "interleaved");
  for (const plan::Role &role : manifest.roles()) {
    // Once each time that the order goes on with the other stage.
    int64_t changes = 0;
    std::string last;
    for (const plan::Action &action : role.train().actions()) {
      if (!action.has_call())
        continue;
      const std::string &name =
          role.programs(int(action.call().program())).name();
      if (name == "apply" || name.rfind("gather", 0) == 0)
        continue;
      changes += name.substr(name.find('.')) != last;
      last = name.substr(name.find('.'));
    }
    EXPECT_EQ(countCalls(role, "gather"), changes);
    EXPECT_LT(changes, 4 * 8);
  }
}

TEST(BuildOrders, LastRoleUsesMicroWhereForwardAndBackwardAreAdjacent) {
  auto calls = [](const plan::Manifest &manifest, const std::string &name) {
    const plan::Role &last = manifest.roles(manifest.roles_size() - 1);
    return std::count_if(
        last.train().actions().begin(), last.train().actions().end(),
        [&](const plan::Action &action) {
          return action.has_call() &&
                 last.programs(int(action.call().program())).name() == name;
        });
  };
  for (const char *schedule : {"1f1b", "flush", "naive"}) {
    plan::Manifest manifest = build({3, 4}, schedule);
    EXPECT_EQ(calls(manifest, "micro"), 4) << schedule;
    EXPECT_EQ(calls(manifest, "forward"), 0) << schedule;
    EXPECT_EQ(slotsOf(manifest.roles(2), "stash"), 0u) << schedule;
  }
  plan::Manifest manifest = build({3, 4}, "gpipe");
  EXPECT_EQ(calls(manifest, "micro"), 0);
  EXPECT_EQ(calls(manifest, "forward"), 4);
  FakePipeline without{3, 4};
  without.micro = false;
  EXPECT_EQ(calls(build(without, "1f1b"), "backward"), 4);
}

TEST(BuildOrders, StashIsAsDeepAsTheScheduleHolds) {
  for (uint32_t roles : {2, 3, 4, 6})
    for (uint32_t m : {1, 2, 3, 5, 8, 12})
      for (bool stashInput : {false, true}) {
        SCOPED_TRACE(strCat(roles, " roles, ", m, " micro-batches"));
        FakePipeline pipeline{roles, m};
        pipeline.micro = false;
        pipeline.stashInput = stashInput;
        plan::Manifest alternating = build(pipeline, "1f1b");
        plan::Manifest gpipe = build(pipeline, "gpipe");
        plan::Manifest naive = build(pipeline, "naive");
        for (uint32_t i = 0; i < roles; ++i) {
          EXPECT_EQ(slotsOf(alternating.roles(int(i)), "stash"),
                    std::min(m, roles - i));
          EXPECT_EQ(slotsOf(gpipe.roles(int(i)), "stash"), m);
          EXPECT_EQ(slotsOf(naive.roles(int(i)), "stash"), 1u);
        }
      }
}

TEST(BuildOrders, ReceivesGoOneCallAheadWithOneMoreSlot) {
  plan::Manifest manifest = build({4, 8}, "1f1b");
  for (int i = 1; i < 4; ++i)
    EXPECT_EQ(slotsOf(manifest.roles(i), "activations.in"), 2u);
  const plan::Role &role = manifest.roles(1);
  std::vector<int> callOf(8), receiveOf(8);
  int calls = 0;
  for (const plan::Action &action : role.train().actions()) {
    if (action.has_call() &&
        role.programs(int(action.call().program())).name() == "forward")
      callOf[action.call().micro_batch()] = calls;
    calls += action.has_call();
    if (action.has_receive() &&
        !role.messages(int(action.receive().message())).gradient())
      receiveOf[action.receive().micro_batch()] = calls;
  }
  EXPECT_EQ(receiveOf[0], 0);
  for (int k = 1; k < 8; ++k)
    EXPECT_EQ(receiveOf[k], callOf[k] - 1) << k;
}

/// A ring that is written and sent has one slot if the other end always takes
/// it in time.
TEST(BuildOrders, SentRingsAreShallow) {
  for (const char *schedule : {"naive", "gpipe", "1f1b"})
    for (uint32_t m : {1, 4, 8}) {
      plan::Manifest manifest = build({4, m}, schedule);
      for (const plan::Role &role : manifest.roles())
        for (const char *name : {"activations.out", "gradients.out"})
          EXPECT_LE(slotsOf(role, name), 2u)
              << schedule << " " << m << " " << name;
    }
}

/// A message that skips roles is taken later: its sender goes on meanwhile.
TEST(BuildOrders, SentRingsAreAsDeepAsTheOtherEndIsFar) {
  for (uint32_t to : {2, 3, 4, 5}) {
    FakePipeline pipeline{6, 12};
    pipeline.skip = true;
    pipeline.skipTo = to;
    plan::Manifest manifest = build(pipeline, "gpipe");
    EXPECT_EQ(slotsOf(manifest.roles(0), "activations.out"), to - 1);
    EXPECT_EQ(slotsOf(manifest.roles(int(to)), "gradients.out"), to - 1);
    EXPECT_EQ(slotsOf(manifest.roles(1), "activations.out"), 1u);
  }
}

TEST(BuildOrders, EverySchedulePassesTheCheck) {
  for (const char *schedule : {"naive", "gpipe", "1f1b", "zb-h1", "zb-h2"})
    for (uint32_t roles = 1; roles <= 6; ++roles)
      for (uint32_t m = 1; m <= 9; ++m)
        for (int variant = 0; variant < 8; ++variant) {
          FakePipeline pipeline{roles, m};
          pipeline.micro = variant & 1;
          pipeline.skip = variant & 2;
          pipeline.stashInput = variant & 4;
          pipeline.feedsStash = variant & 2;
          pipeline.eval = !(variant & 1);
          pipeline.weights = schedule[0] == 'z' || variant == 5;
          pipeline.freezeStep = variant == 3;
          SCOPED_TRACE(strCat(schedule, " ", roles, "x", m, " ", variant));
          build(pipeline, schedule);
        }
}

TEST(BuildOrders, SchedulesOfSeveralStagesPassTheCheck) {
  for (const char *schedule : {"interleaved", "zb-v"})
    for (uint32_t roles = 1; roles <= 5; ++roles)
      for (uint32_t m = 1; m <= 12; ++m)
        for (int variant = 0; variant < 8; ++variant) {
          const bool isVee = schedule == std::string("zb-v");
          if (isVee ? m < 2 * roles - 1 : m % roles != 0)
            continue;
          FakePipeline pipeline{roles, m};
          pipeline.chunks = isVee ? 2 : 2 + (variant & 1);
          pipeline.vee = isVee;
          pipeline.weights = isVee || (variant & 2);
          pipeline.skip = variant & 4;
          pipeline.skipTo = roles + 1;
          pipeline.stashInput = variant & 1;
          SCOPED_TRACE(strCat(schedule, " ", roles, "x", m, " ", variant));
          build(pipeline, schedule);
        }
}

/// Each of a middle role's stages sends; the last stage of the first role has
/// neighbours in others.
TEST(BuildOrders, AMiddleRoleSendsOncePerStage) {
  auto sentBy = [](const plan::Role &role) {
    return std::count_if(
        role.train().actions().begin(), role.train().actions().end(),
        [&](const plan::Action &action) {
          return action.has_send() &&
                 !role.messages(int(action.send().message())).gradient();
        });
  };
  for (uint32_t roles : {2, 3, 4, 6})
    for (uint32_t chunks : {2, 3}) {
      const uint32_t m = 2 * roles;
      plan::Manifest plain = build({roles, m}, "1f1b");
      FakePipeline pipeline{roles, m};
      pipeline.chunks = chunks;
      plan::Manifest interleaved = build(pipeline, "interleaved");
      long before = 0, after = 0;
      for (uint32_t i = 0; i < roles; ++i) {
        before += sentBy(plain.roles(int(i)));
        after += sentBy(interleaved.roles(int(i)));
        if (i + 1 < roles) {
          EXPECT_EQ(sentBy(interleaved.roles(int(i))),
                    chunks * sentBy(plain.roles(int(i))));
        }
      }
      EXPECT_EQ(before, m * (roles - 1));
      EXPECT_EQ(after, m * (chunks * roles - 1));
    }
}

TEST(BuildOrders, TrainAndEvalShareTheFlightSpace) {
  plan::Manifest manifest = build({3, 4}, "gpipe");
  const plan::Role &role = manifest.roles(1);
  uint64_t train = 0, eval = 0;
  for (const plan::Ring &ring : role.rings()) {
    EXPECT_EQ(ring.offset() % 64, 0u);
    (ring.name().rfind("eval", 0) == 0 ? eval : train) +=
        ring.slots() * ring.slot_bytes();
  }
  EXPECT_GT(train, eval);
  EXPECT_GT(eval, 0u);
  EXPECT_EQ(role.flight_bytes(), train);
}

TEST(BuildOrders, AnEvaluationMayHaveSeveralMicroBatches) {
  plan::Manifest manifest = fakePipeline({3, 4});
  OrderOptions options{"1f1b", 4};
  options.evaluated = 5;
  ASSERT_TRUE(buildOrders(manifest, options).ok());
  Status sound = verifyOrders(manifest);
  EXPECT_TRUE(sound.ok()) << sound.message();
  for (const plan::Role &role : manifest.roles()) {
    std::vector<uint32_t> called;
    for (const plan::Action &action : role.eval().actions())
      if (action.has_call())
        called.push_back(action.call().micro_batch());
    EXPECT_EQ(called, (std::vector<uint32_t>{0, 1, 2, 3, 4}));
  }
  // One role does fewer than another.
  plan::Manifest other = fakePipeline({3, 4});
  options.evaluated = 4;
  ASSERT_TRUE(buildOrders(other, options).ok());
  *manifest.mutable_roles(2)->mutable_eval() = other.roles(2).eval();
  EXPECT_NE(verifyOrders(manifest).message().find("calls are missing: of 5"),
            std::string::npos)
      << verifyOrders(manifest).message();
}

TEST(BuildOrders, SlotsAreRoundedUp) {
  plan::Manifest manifest = fakePipeline(FakePipeline());
  manifest.mutable_roles(0)->mutable_rings(0)->set_slot_bytes(200);
  ASSERT_TRUE(buildOrders(manifest, {"1f1b", 4}).ok());
  EXPECT_EQ(manifest.roles(0).rings(0).slot_bytes(), 256u);
}

TEST(BuildOrders, BuildingTwiceChangesNothing) {
  plan::Manifest once = build({3, 5}, "gpipe"), twice = once;
  ASSERT_TRUE(buildOrders(twice, {"gpipe", 5}).ok());
  EXPECT_EQ(once.SerializeAsString(), twice.SerializeAsString());
}

TEST(BuildOrders, RefusesWhatDoesNotFit) {
  auto fails = [](plan::Manifest manifest, const OrderOptions &options,
                  const std::string &why) {
    Status status = buildOrders(manifest, options);
    EXPECT_FALSE(status.ok()) << why;
    EXPECT_NE(status.message().find(why), std::string::npos)
        << status.message();
  };
  FakePipeline pipeline;
  fails(fakePipeline(pipeline), {"2f2b", 4}, "no schedule '2f2b'");
  fails(fakePipeline(pipeline), {"1f1b", 3}, "3 micro-batches");
  fails(fakePipeline(pipeline), {"zb-v", 4},
        "role 0, schedule zb-v: it needs 2 stages there, but there are 1");
  plan::Manifest broken = fakePipeline(pipeline);
  broken.mutable_roles(1)->mutable_programs(1)->set_name("lost");
  fails(broken, {"gpipe", 4},
        "role 1, schedule gpipe: there is no program "
        "'backward'");
  broken = fakePipeline(pipeline);
  broken.mutable_roles(1)->mutable_messages(0)->set_ring(9);
  fails(broken, {"gpipe", 4}, "ring 9");
}

} // namespace
} // namespace zc::test
