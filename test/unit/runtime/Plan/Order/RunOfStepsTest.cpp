// Steps without flush: how old their parameters are, what roles do in a run of
// them, and what the checker finds wrong.
#include "runtime/Plan/Order/RunOfSteps.h"
#include "runtime/Plan/Order/Schedules.h"
#include "runtime/Plan/Order/Versions.h"
#include "test/unit/runtime/Plan/Order/RendezvousSimulator.h"

#include <gtest/gtest.h>

#include <random>

namespace zc::test {
namespace {

uint32_t ceilDiv(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

/// Adds to each role a parameter, and to programs its reads and writes.
void addParameters(plan::Manifest &manifest, const DelayRule &rule) {
  for (uint32_t i = 0; i < rule.stages; ++i) {
    plan::Role &role = *manifest.mutable_roles(int(i));
    const uint32_t delay = delayOf(rule, i);
    role.set_persistent_bytes(64 * (delay + 1));
    plan::State *state =
        addState(role, strCat("w", i), plan::PARAMETER, plan::F32, {16}, 0);
    state->set_delay(delay);
    if (delay > 0) {
      role.set_versions(delay + 1);
      role.set_version_bytes(64);
    }
    auto touch = [&](plan::Program &program, int32_t age) {
      const uint32_t at =
          addBuffer(program, plan::PERSISTENT, 0, plan::F32, {16});
      program.mutable_buffers(int(at))->set_versioned(delay > 0);
      program.mutable_buffers(int(at))->set_age(delay > 0 ? age : 0);
    };
    for (plan::Program &program : *role.mutable_programs())
      if (program.name() == "apply") {
        touch(program, 0);
        touch(program, -1);
      } else {
        touch(program, program.name() == "eval" ? 0 : int32_t(delay));
      }
  }
}

struct Case {
  std::string schedule;
  uint32_t roles, microBatches;
  bool verticalSync = false;

  plan::Manifest build() const {
    FakePipeline pipeline{roles, microBatches};
    plan::Manifest manifest = fakePipeline(pipeline);
    addParameters(manifest, {schedule, roles, microBatches, verticalSync});
    Status status = buildOrders(manifest, {schedule, microBatches});
    EXPECT_TRUE(status.ok()) << status.message();
    return manifest;
  }
  std::string print() const {
    return strCat(schedule, " ", roles, "x", microBatches, " ", verticalSync);
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (uint32_t roles : {2, 3, 4, 5})
    for (uint32_t m : {1, 2, 3, 4, 6, 8})
      for (bool sync : {false, true}) {
        all.push_back({"stash", roles, m, sync});
        if (m >= roles && !sync)
          all.push_back({"2bw", roles, m});
      }
  return all;
}

void expectRefused(const plan::Manifest &manifest, const std::string &why) {
  const Status status = verifyOrders(manifest);
  EXPECT_EQ(status.code(), StatusCode::Corrupt);
  EXPECT_NE(status.message().find(why), std::string::npos)
      << "'" << status.message() << "' has no '" << why << "'";
}

TEST(Versions, TheDelayIsWhatANeverDrainedOrderHas) {
  for (uint32_t roles = 1; roles <= 8; ++roles)
    for (uint32_t m = 1; m <= 16; ++m) {
      const uint32_t steps = 10;
      Result<PipelineSchedule> run = makeSchedule({"1f1b", roles, steps * m});
      ASSERT_TRUE(run.ok());
      for (uint32_t stage = 0; stage < roles; ++stage) {
        const uint32_t delay = delayOf({"stash", roles, m}, stage);
        EXPECT_EQ(delay, ceilDiv(roles - 1 - stage, m));
        uint32_t backwards = 0;
        for (const StageWork &work : run->roles[stage]) {
          backwards += work.work == Work::Backward;
          if (work.work != Work::Forward || work.microBatch % m != 0)
            continue;
          const uint32_t step = work.microBatch / m;
          EXPECT_EQ(backwards / m, step - std::min(step, delay))
              << roles << "x" << m << ", stage " << stage << ", step " << step;
        }
      }
    }
}

TEST(Versions, OfEachSchedule) {
  EXPECT_EQ(delayOf({"1f1b", 4, 2}, 0), 0u);
  EXPECT_EQ(delayOf({"2bw", 4, 4}, 0), 1u);
  EXPECT_EQ(delayOf({"2bw", 4, 4}, 3), 1u);
  EXPECT_EQ(delayOf({"stash", 4, 1}, 0), 3u);
  EXPECT_EQ(delayOf({"stash", 4, 1}, 3), 0u);
  EXPECT_EQ(delayOf({"stash", 4, 2, true}, 3), 2u);
}

TEST(RunOfSteps, IsOneOrderOfAllItsMicroBatches) {
  for (const Case &each : cases()) {
    const plan::Manifest manifest = each.build();
    for (uint32_t steps : {1u, 2u, 3u, 7u}) {
      Result<plan::Manifest> run = unroll(manifest, steps);
      ASSERT_TRUE(run.ok());
      Result<PipelineSchedule> schedule =
          makeSchedule({"1f1b", each.roles, steps * each.microBatches});
      for (uint32_t i = 0; i < each.roles; ++i) {
        const plan::Role &role = run->roles(int(i));
        std::vector<StageWork> works;
        for (const plan::Action &action : role.train().actions()) {
          if (!action.has_call())
            continue;
          const std::string &name =
              role.programs(int(action.call().program())).name();
          const uint32_t k = action.call().micro_batch();
          if (name == "forward" || name == "micro")
            works.push_back({Work::Forward, i, k});
          if (name == "backward" || name == "micro")
            works.push_back({Work::Backward, i, k});
        }
        EXPECT_EQ(works, schedule->roles[i])
            << each.print() << ", " << steps << " steps, role " << i;
      }
      EXPECT_EQ(RendezvousSimulator(*run).run(), Ending::Finished)
          << each.print() << ", " << steps << " steps";
    }
  }
}

TEST(RunOfSteps, AllAreAccepted) {
  for (const Case &each : cases()) {
    const plan::Manifest manifest = each.build();
    Status status = verifyOrders(manifest);
    EXPECT_TRUE(status.ok()) << each.print() << ": " << status.message();
    // There are as many micro-batches in flight as stages behind, whole steps
    // or not.
    for (uint32_t i = 0; i + 1 < each.roles; ++i)
      EXPECT_EQ(slotsOf(manifest.roles(int(i)), "stash"), each.roles - i)
          << each.print();
  }
}

TEST(RunOfSteps, SlotsComeRoundWithTheLargestRing) {
  for (const Case &each : cases()) {
    const plan::Manifest manifest = each.build();
    for (const plan::Role &role : manifest.roles()) {
      uint32_t most = 1;
      for (const plan::Ring &ring : role.rings())
        if (ring.turns())
          most = std::max(most, ring.slots());
      EXPECT_EQ(most % turnsOf(role, each.microBatches), 0u) << each.print();
    }
  }
}

TEST(RunOfSteps, WithoutVersionsItIsRefused) {
  plan::Manifest manifest = fakePipeline({3, 4});
  addParameters(manifest, {"1f1b", 3, 4});
  ASSERT_TRUE(buildOrders(manifest, {"2bw", 4}).ok());
  expectRefused(manifest, "different versions");
}

TEST(RunOfSteps, AVersionTooYoungOrTooOldIsRefused) {
  const plan::Manifest good = Case{"stash", 4, 1}.build();
  ASSERT_TRUE(verifyOrders(good).ok());
  plan::Manifest young = good;
  for (plan::Program &program : *young.mutable_roles(0)->mutable_programs())
    if (program.name() == "forward" || program.name() == "backward")
      program.mutable_buffers(program.buffers_size() - 1)->set_age(2);
  expectRefused(young, "it reads version");
  plan::Manifest few = good;
  few.mutable_roles(0)->set_versions(3);
  expectRefused(few, "of which 3 are kept");
}

TEST(RunOfSteps, IndicesAreInRange) {
  plan::Manifest manifest = Case{"2bw", 2, 2}.build();
  manifest.mutable_roles(0)
      ->mutable_train_prologue()
      ->mutable_actions(1)
      ->mutable_call()
      ->set_program(99);
  expectRefused(manifest, "no such program");
}

/// Refused, or a run of any length comes to its end.
TEST(RunOfSteps, Mutations) {
  std::mt19937 random(7);
  int accepted = 0, refused = 0;
  auto below = [&](int count) {
    return std::uniform_int_distribution<int>(0, count - 1)(random);
  };
  for (const Case &each :
       {Case{"2bw", 3, 4}, Case{"stash", 4, 1}, Case{"stash", 3, 2, true}}) {
    const plan::Manifest good = each.build();
    for (int i = 0; i < 700; ++i) {
      plan::Manifest mutant = good;
      plan::Role &role = *mutant.mutable_roles(below(int(each.roles)));
      const bool inside = role.train_prologue().actions_size() < 2 || below(2);
      auto &actions =
          *(inside ? role.mutable_train() : role.mutable_train_prologue())
               ->mutable_actions();
      const int at = below(actions.size() - 1);
      if (i % 4 == 0)
        actions.DeleteSubrange(at, 1);
      else if (i % 4 == 1)
        role.mutable_rings(below(role.rings_size()))
            ->set_slots(uint32_t(1 + below(4)));
      else
        actions.SwapElements(at, i % 4 == 2 ? at + 1 : below(actions.size()));
      if (!verifyOrders(mutant).ok()) {
        ++refused;
        continue;
      }
      ++accepted;
      for (uint32_t steps : {1u, 2u, 5u, 9u}) {
        Result<plan::Manifest> run = unroll(mutant, steps);
        ASSERT_TRUE(run.ok());
        ASSERT_EQ(RendezvousSimulator(*run).run(), Ending::Finished)
            << each.print() << ", " << steps << " steps";
      }
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 500);
}

} // namespace
} // namespace zc::test
