// The rates of a run against PyTorch's schedulers, whose step s is ours s + 1,
// and against the closed forms where PyTorch has none, or ends a step later.
#include "runtime/Driver/LearningRate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace zc {
namespace {

using Kind = LearningRateSchedule::Kind;

LearningRateSchedule make(Kind kind) {
  LearningRateSchedule schedule;
  schedule.kind = kind;
  schedule.peak = 0.1f;
  return schedule;
}

void expectRates(const LearningRateSchedule &schedule,
                 const std::vector<double> &rates) {
  for (size_t step = 1; step <= rates.size(); ++step)
    EXPECT_NEAR(schedule.at(int64_t(step), int64_t(rates.size())),
                rates[step - 1], 1e-8)
        << "step " << step;
}

// OneCycleLR(max_lr=0.1, total_steps=10).
TEST(LearningRateTest, OneCycle) {
  expectRates(make(Kind::OneCycle),
              {0.004, 0.052, 0.1, 0.095048463201, 0.081174565395,
               0.061126202194, 0.038874197806, 0.018825834605, 0.004951936799,
               4e-07});
}

// OneCycleLR(max_lr=0.1, total_steps=20, pct_start=0.25).
TEST(LearningRateTest, OneCycleWarmup) {
  LearningRateSchedule schedule = make(Kind::OneCycle);
  schedule.warmupSteps = 5;
  EXPECT_NEAR(schedule.at(1, 20), 0.004, 1e-8);
  EXPECT_NEAR(schedule.at(5, 20), 0.1, 1e-8);
  EXPECT_NEAR(schedule.at(20, 20), 4e-7, 1e-12);
}

// StepLR(step_size=3, gamma=0.1).
TEST(LearningRateTest, Step) {
  LearningRateSchedule schedule = make(Kind::Step);
  schedule.stepSize = 3;
  expectRates(schedule,
              {0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.001, 0.001, 0.001, 0.0001});
  schedule.lowest = 0.005f;
  EXPECT_NEAR(schedule.at(7, 10), 0.005, 1e-8);
}

TEST(LearningRateTest, StepBehindWarmup) {
  LearningRateSchedule schedule = make(Kind::Step);
  schedule.stepSize = 2;
  schedule.warmupSteps = 2;
  expectRates(schedule, {0.05, 0.1, 0.1, 0.1, 0.01, 0.01});
}

// peak (1 - s / total)^power, which is the lowest at the last step.
TEST(LearningRateTest, Polynomial) {
  LearningRateSchedule schedule = make(Kind::Polynomial);
  for (double power : {2.0, 0.5}) {
    schedule.power = power;
    for (int64_t step = 1; step <= 10; ++step)
      EXPECT_NEAR(schedule.at(step, 10), 0.1 * std::pow(1 - step / 10.0, power),
                  1e-8);
  }
  schedule.power = 1;
  schedule.lowest = 0.02f;
  EXPECT_NEAR(schedule.at(5, 10), 0.06, 1e-8);
  EXPECT_NEAR(schedule.at(10, 10), 0.02, 1e-8);
}

// Up, at the peak, and down to the lowest in the last steps.
TEST(LearningRateTest, WarmupStableDecay) {
  LearningRateSchedule schedule = make(Kind::WarmupStableDecay);
  schedule.warmupSteps = 2;
  schedule.decaySteps = 4;
  expectRates(schedule, {0.05, 0.1, 0.1, 0.1, 0.1, 0.1, 0.075, 0.05, 0.025, 0});
  schedule.decaySteps = 0; // a tenth of all
  EXPECT_NEAR(schedule.at(18, 20), 0.1, 1e-8);
  EXPECT_NEAR(schedule.at(19, 20), 0.05, 1e-8);
  schedule.lowest = 0.01f;
  EXPECT_NEAR(schedule.at(20, 20), 0.01, 1e-8);
}

// A run that is resumed asks for the same steps.
TEST(LearningRateTest, WhatDependsOnTheTotal) {
  EXPECT_FALSE(make(Kind::Constant).dependsOnTotal());
  EXPECT_FALSE(make(Kind::Step).dependsOnTotal());
  for (Kind kind : {Kind::Cosine, Kind::Linear, Kind::Polynomial,
                    Kind::OneCycle, Kind::WarmupStableDecay})
    EXPECT_TRUE(make(kind).dependsOnTotal());
}

} // namespace
} // namespace zc
