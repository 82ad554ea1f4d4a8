#include "runtime/Plan/Order/ListSchedule.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace zc {
namespace {

PipelineSchedule make(const std::string &name, uint32_t roles,
                      uint32_t microBatches, uint32_t chunks = 2) {
  Result<PipelineSchedule> schedule =
      makeSchedule({name, roles, microBatches, chunks});
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  return schedule.ok() ? *schedule : PipelineSchedule();
}

/// With a forward of 1; backward and weights of equal stages as given.
Timeline run(const PipelineSchedule &schedule, double forward, double backward,
             double weights) {
  Result<Timeline> timeline =
      simulateSchedule(schedule, WorkCosts::equal(schedule.roleOfStage.size(),
                                                  forward, backward, weights));
  EXPECT_TRUE(timeline.ok()) << timeline.status().message();
  return timeline.ok() ? *timeline : Timeline();
}

Timeline runEqual(const std::string &name, uint32_t roles,
                  uint32_t microBatches) {
  return run(make(name, roles, microBatches), 1, .5, .5);
}

TEST(Schedules, NaiveKeepsOneRoleOfFourBusy) {
  Timeline timeline = runEqual("naive", 4, 1);
  EXPECT_EQ(timeline.makespan, 8);
  EXPECT_DOUBLE_EQ(1 - timeline.bubbleOfTotal, .25);
  EXPECT_EQ(timeline.inFlight, std::vector<uint32_t>({1, 1, 1, 1}));
}

TEST(Schedules, GpipeAndOneForwardOneBackwardOfFourByFour) {
  for (const char *name : {"gpipe", "1f1b", "flush"}) {
    Timeline timeline = runEqual(name, 4, 4);
    EXPECT_EQ(timeline.makespan, 14) << name;
    EXPECT_DOUBLE_EQ(1 - timeline.bubbleOfTotal, 8. / 14) << name;
    EXPECT_DOUBLE_EQ(timeline.bubbleOfTotal, 3. / 7) << name;
    EXPECT_DOUBLE_EQ(timeline.bubbleOfIdeal, 3. / 4) << name;
  }
}

/// A line a role, a column a unit of time: forwards as digits, backwards as
/// letters; of the second stage of a role as other digits and capitals.
std::string draw(const PipelineSchedule &schedule, const Timeline &timeline) {
  std::string drawing;
  for (size_t role = 0; role < schedule.roles.size(); ++role) {
    std::string line(size_t(timeline.makespan), '.');
    for (size_t i = 0; i < schedule.roles[role].size(); ++i) {
      const StageWork &work = schedule.roles[role][i];
      const WorkTime &time = timeline.roles[role][i];
      const bool isSecond = schedule.chunkOf(work.stage) > 0;
      const char first = work.work == Work::Forward ? (isSecond ? '5' : '1')
                                                    : (isSecond ? 'A' : 'a');
      for (auto at = size_t(time.start); at < size_t(time.end); ++at)
        line[at] = char(first + work.microBatch);
    }
    drawing += line + "\n";
  }
  return drawing;
}

std::string drawEqual(const std::string &name, uint32_t roles,
                      uint32_t microBatches) {
  const PipelineSchedule schedule = make(name, roles, microBatches);
  return draw(schedule, run(schedule, 1, .5, .5));
}

/// Figures 2, 3, 4 and 6 of "How to Train Really Large Models on Many GPUs".
TEST(Schedules, Drawings) {
  EXPECT_EQ(drawEqual("naive", 4, 1), "1......a\n"
                                      ".1....a.\n"
                                      "..1..a..\n"
                                      "...1a...\n");
  EXPECT_EQ(drawEqual("gpipe", 4, 4), "1234......abcd\n"
                                      ".1234....abcd.\n"
                                      "..1234..abcd..\n"
                                      "...1234abcd...\n");
  for (const char *name : {"1f1b", "flush"})
    EXPECT_EQ(drawEqual(name, 4, 4), "1234...a.b.c.d\n"
                                     ".123..a4b.c.d.\n"
                                     "..12.a3b4c.d..\n"
                                     "...1a2b3c4d...\n");
}

TEST(Schedules, BubbleShrinksWithMicroBatches) {
  for (const char *name : {"gpipe", "1f1b"}) {
    EXPECT_DOUBLE_EQ(runEqual(name, 4, 8).bubbleOfTotal, 3. / 11);
    EXPECT_DOUBLE_EQ(runEqual(name, 4, 16).bubbleOfTotal, 3. / 19);
  }
}

TEST(Schedules, ClosedForms) {
  for (uint32_t roles = 1; roles <= 8; ++roles)
    for (uint32_t m = 1; m <= 32; ++m) {
      SCOPED_TRACE(strCat(roles, " roles, ", m, " micro-batches"));
      Timeline gpipe = runEqual("gpipe", roles, m);
      Timeline alternating = runEqual("1f1b", roles, m);
      EXPECT_EQ(gpipe.makespan, 2 * (m + roles - 1));
      EXPECT_EQ(alternating.makespan, 2 * (m + roles - 1));
      EXPECT_EQ(run(make("1f1b", roles, m), 1, 1, 1).makespan,
                3 * (m + roles - 1));
      EXPECT_EQ(runEqual("naive", roles, m).makespan, 2 * m * roles);
      for (uint32_t role = 0; role < roles; ++role) {
        EXPECT_EQ(gpipe.inFlight[role], m);
        EXPECT_EQ(alternating.inFlight[role], std::min(m, roles - role));
      }
      if (m >= roles) {
        EXPECT_EQ(run(make("zb-h1", roles, m), 1, 1, 1).makespan,
                  3 * m + roles - 1);
      }
      if (m >= 2 * roles - 1) {
        EXPECT_EQ(run(make("zb-v", roles, m), 1, 1, 1).makespan,
                  6 * m + roles - 1);
      }
    }
}

/// Requirement D-14: with stages of 1, 1, 1 and 2, whose imbalance (the largest
/// by the mean) is 1.6, four roles become 4 / 1.6 times as quick as one.
TEST(Schedules, TheSlowestStageBoundsGpipe) {
  WorkCosts costs = WorkCosts::equal(4, 1, 1, 0);
  costs.forward.back() = costs.backward.back() = 2;
  for (uint32_t m : {4, 16, 64, 1024}) {
    Result<Timeline> timeline = simulateSchedule(make("gpipe", 4, m), costs);
    ASSERT_TRUE(timeline.ok());
    // The last stage never waits between its first work and its last.
    EXPECT_EQ(timeline->makespan, 2 * (2 * m + 3));
    double quicker = 2 * 5 * m / timeline->makespan;
    EXPECT_LT(quicker, 4 / 1.6);
    if (m == 1024) {
      EXPECT_NEAR(quicker, 4 / 1.6, 0.01);
    }
  }
}

TEST(Schedules, InterleavedDividesTheBubbleByItsChunks) {
  Timeline timeline = run(make("interleaved", 4, 8), .5, .25, .25);
  EXPECT_DOUBLE_EQ(timeline.makespan, 19);
  EXPECT_DOUBLE_EQ(timeline.bubbleOfTotal, 3. / 19);
  EXPECT_DOUBLE_EQ(timeline.bubbleOfIdeal, 3. / 16);
  EXPECT_EQ(timeline.inFlight, std::vector<uint32_t>({11, 9, 7, 5}));
  for (uint32_t roles = 1; roles <= 8; ++roles)
    for (uint32_t m = 2 * roles; m <= 32; m += roles)
      for (uint32_t v : {2, 3})
        EXPECT_NEAR(
            run(make("interleaved", roles, m, v), 1. / v, .5 / v, .5 / v)
                .makespan,
            2. * m + 2. * (roles - 1) / v, 1e-9)
            << roles << " roles, " << m << " micro-batches, " << v << " chunks";
}

TEST(Schedules, ZeroBubbleHoldsWhatThePapersSay) {
  EXPECT_EQ(run(make("zb-h1", 4, 8), 1, 1, 1).inFlight,
            std::vector<uint32_t>({4, 4, 4, 4}));
  EXPECT_EQ(run(make("zb-v", 4, 8), 1, 1, 1).inFlight,
            std::vector<uint32_t>({8, 8, 8, 8}));
  Timeline twice = run(make("zb-h2", 4, 8), 1, 1, 1);
  EXPECT_EQ(twice.inFlight, std::vector<uint32_t>({7, 7, 7, 7}));
  EXPECT_EQ(twice.makespan, 27);
}

/// Each work once, on its role, forward before backward before weights, and
/// each of them in the order of the micro-batches.
TEST(Schedules, EveryWorkComesOnceAndInOrder) {
  for (const char *name :
       {"naive", "gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v"})
    for (uint32_t roles : {1, 2, 3, 4})
      for (uint32_t m : {1, 2, 3, 5, 8, 12}) {
        Result<PipelineSchedule> schedule = makeSchedule({name, roles, m, 2});
        if (!schedule.ok())
          continue;
        SCOPED_TRACE(strCat(name, " ", roles, "x", m));
        for (uint32_t role = 0; role < roles; ++role) {
          std::vector<std::vector<uint32_t>> done(
              3, std::vector<uint32_t>(schedule->roleOfStage.size()));
          for (const StageWork &work : schedule->roles[role]) {
            EXPECT_EQ(schedule->roleOfStage[work.stage], role);
            EXPECT_EQ(done[int(work.work)][work.stage]++, work.microBatch);
            if (work.work != Work::Forward) {
              EXPECT_GT(done[int(work.work) - 1][work.stage], work.microBatch);
            }
          }
          for (uint32_t stage = 0; stage < done[0].size(); ++stage)
            for (Work work : {Work::Forward, Work::Backward, Work::Weights})
              EXPECT_EQ(
                  done[int(work)][stage],
                  schedule->roleOfStage[stage] == role &&
                          (work != Work::Weights || schedule->splitsWeights)
                      ? m
                      : 0);
        }
        run(*schedule, 1, 1, 1);
      }
}

TEST(Schedules, MessagesTakeTheirTime) {
  PipelineSchedule schedule = make("naive", 3, 1);
  WorkCosts costs = WorkCosts::equal(3, 1, 1, 1);
  costs.message = 10;
  Result<Timeline> timeline = simulateSchedule(schedule, costs);
  ASSERT_TRUE(timeline.ok());
  EXPECT_EQ(timeline->makespan, 3 + 6 + 4 * 10);
  EXPECT_EQ(timeline->roles[1][0].start, 11);
  EXPECT_EQ(timeline->roles[1][0].end, 12);
}

/// Layers of a model go round: the first device of four has the first and the
/// third pair of eight.
TEST(Schedules, StagesGoRoundOrThereAndBack) {
  PipelineSchedule round = make("interleaved", 4, 8);
  std::vector<std::vector<uint32_t>> layers(4); // of 16, two a stage
  for (uint32_t role = 0; role < 4; ++role)
    for (uint32_t stage : round.stagesOf(role))
      layers[role].insert(layers[role].end(), {2 * stage + 1, 2 * stage + 2});
  EXPECT_EQ(
      layers,
      (std::vector<std::vector<uint32_t>>{
          {1, 2, 9, 10}, {3, 4, 11, 12}, {5, 6, 13, 14}, {7, 8, 15, 16}}));
  PipelineSchedule back = make("zb-v", 3, 5);
  EXPECT_EQ(back.stagesOf(0), std::vector<uint32_t>({0, 5}));
  EXPECT_EQ(back.stagesOf(2), std::vector<uint32_t>({2, 3}));
  EXPECT_EQ(back.chunkOf(3), 1u);
}

/// Bubbles of the paper, as parts of the ideal time and of all.
TEST(Schedules, InterleavedAgainstAlternating) {
  Timeline one = run(make("1f1b", 4, 8), 1, .5, .5);
  Timeline two = run(make("interleaved", 4, 8), .5, .25, .25);
  EXPECT_DOUBLE_EQ(one.bubbleOfIdeal, .375);
  EXPECT_DOUBLE_EQ(two.bubbleOfIdeal, .1875);
  EXPECT_NEAR(one.bubbleOfTotal, .273, 5e-4);
  EXPECT_NEAR(two.bubbleOfTotal, .158, 5e-4);
}

TEST(Schedules, ListsFillGapsOfUnevenStages) {
  // The head's stage is slower than the others.
  for (uint32_t roles : {2, 3, 4, 6})
    for (uint32_t m : {roles, 2 * roles, 4 * roles}) {
      WorkCosts costs = WorkCosts::equal(roles, 1, 1, 1);
      costs.forward.back() = 2;
      costs.weights.front() = 3;
      PipelineSchedule published = make("zb-h1", roles, m);
      PipelineSchedule listed =
          listSchedule(published.roleOfStage, roles, m, costs, 2 * roles - 1);
      SCOPED_TRACE(strCat(roles, "x", m));
      Result<Timeline> before = simulateSchedule(published, costs);
      Result<Timeline> after = simulateSchedule(listed, costs);
      ASSERT_TRUE(before.ok() && after.ok());
      EXPECT_LE(after->makespan, before->makespan);
      for (uint32_t depth : after->inFlight)
        EXPECT_LE(depth, 2 * roles - 1);
    }
}

TEST(Schedules, RefusesWhatDoesNotFit) {
  EXPECT_FALSE(makeSchedule({"2f2b", 2, 4}).ok());
  EXPECT_FALSE(makeSchedule({"1f1b", 0, 4}).ok());
  EXPECT_FALSE(makeSchedule({"1f1b", 4, 0}).ok());
  EXPECT_FALSE(makeSchedule({"interleaved", 4, 6}).ok());
  EXPECT_FALSE(makeSchedule({"zb-v", 4, 6}).ok());
}

TEST(Schedules, SaysWhereRolesWaitForEachOther) {
  PipelineSchedule schedule = make("gpipe", 2, 2);
  std::reverse(schedule.roles[1].begin(), schedule.roles[1].end());
  EXPECT_FALSE(simulateSchedule(schedule, WorkCosts::equal(2, 1, 1, 1)).ok());
}

/// PipeDream's 1F1B-RR.
TEST(Schedules, ReplicasTakeMicroBatchesInTurn) {
  const std::vector<std::vector<uint32_t>> all = {
      {1}, {3}, {2, 1}, {1, 2}, {2, 2}, {3, 2, 1}, {1, 4, 2}};
  for (const char *name : {"naive", "gpipe", "1f1b"})
    for (const std::vector<uint32_t> &replicas : all)
      for (uint32_t m = 4; m <= 16; ++m) {
        uint32_t roles = 0;
        for (uint32_t each : replicas)
          roles += each;
        SCOPED_TRACE(strCat(name, " ", replicas.size(), " stages, ", m));
        Result<PipelineSchedule> schedule =
            makeSchedule({name, roles, m, 2, replicas});
        ASSERT_TRUE(schedule.ok()) << schedule.status().message();
        ASSERT_EQ(schedule->roles.size(), roles);
        uint32_t forwards = 0, backwards = 0;
        for (uint32_t role = 0; role < roles; ++role)
          for (const StageWork &work : schedule->roles[role]) {
            EXPECT_EQ(schedule->roleOf(work.stage, work.microBatch), role);
            ++(work.work == Work::Forward ? forwards : backwards);
          }
        EXPECT_EQ(forwards, m * replicas.size());
        EXPECT_EQ(backwards, forwards);
        run(*schedule, 1, 1, 1);
      }
}

TEST(Schedules, ReplicasKeepThoseBehindThemBusy) {
  // A first stage of twice the second one's time, on twice its roles.
  Result<PipelineSchedule> schedule = makeSchedule({"1f1b", 3, 16, 2, {2, 1}});
  ASSERT_TRUE(schedule.ok());
  WorkCosts costs = WorkCosts::equal(2, 1, 1, 0);
  costs.forward[0] = costs.backward[0] = 2;
  Result<Timeline> timeline = simulateSchedule(*schedule, costs);
  ASSERT_TRUE(timeline.ok());
  EXPECT_EQ(timeline->inFlight, std::vector<uint32_t>({2, 2, 1}));
  // The second stage's 32 units, behind a forward and in front of a backward.
  EXPECT_EQ(timeline->makespan, 36);
}

TEST(Schedules, ReplicasThatDoNotFit) {
  auto refuses = [](const ScheduleRequest &request, const char *text) {
    Result<PipelineSchedule> schedule = makeSchedule(request);
    ASSERT_FALSE(schedule.ok());
    EXPECT_NE(schedule.status().message().find(text), std::string::npos)
        << schedule.status().message();
  };
  refuses({"1f1b", 3, 4, 2, {2, 2}}, "4 replicas in all for 3 roles");
  refuses({"1f1b", 4, 2, 2, {3, 1}}, "3 replicas, which take turns with 2");
  refuses({"1f1b", 2, 2, 2, {0, 2}}, "0 replicas");
  refuses({"zb-h1", 3, 4, 2, {2, 1}}, "has no replicas of stages");
}

} // namespace
} // namespace zc
