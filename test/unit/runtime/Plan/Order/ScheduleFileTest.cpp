#include "runtime/Plan/Order/ScheduleFile.h"

#include <gtest/gtest.h>

namespace zc {
namespace {

std::string print(const StageWork &work) {
  return strCat(work.stage, "FBW"[int(work.work)], work.microBatch);
}

std::vector<std::string> print(const PipelineSchedule &schedule) {
  std::vector<std::string> lines;
  for (const std::vector<StageWork> &works : schedule.roles) {
    std::string &line = lines.emplace_back();
    for (const StageWork &work : works)
      line += (line.empty() ? "" : ",") + print(work);
  }
  return lines;
}

std::vector<std::string> parse(const std::string &text) {
  Result<PipelineSchedule> schedule = parseSchedule(text);
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  return schedule.ok() ? print(*schedule) : std::vector<std::string>();
}

TEST(ScheduleFile, WhatIsPrintedIsRead) {
  for (const char *name : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-v"}) {
    Result<PipelineSchedule> made = makeSchedule({name, 3, 6, 2});
    ASSERT_TRUE(made.ok());
    std::string text;
    for (const std::string &line : print(*made))
      text += line + "\n";
    Result<PipelineSchedule> read = parseSchedule(text);
    ASSERT_TRUE(read.ok()) << name << ": " << read.status().message();
    EXPECT_EQ(read->roles, made->roles) << name;
    EXPECT_EQ(read->roleOfStage, made->roleOfStage) << name;
    EXPECT_EQ(read->microBatches, made->microBatches) << name;
    EXPECT_EQ(read->splitsWeights, made->splitsWeights) << name;
  }
}

/// Schedules as torch.distributed.pipelining writes them, with and without
/// their communication.
TEST(ScheduleFile, CellsOfPyTorch) {
  EXPECT_EQ(parse("0F0,0F1,,0B0,,0B1\r\n,1F0,1B0,1F1,1B1,\r\n"),
            (std::vector<std::string>{"0F0,0F1,0B0,0B1", "1F0,1B0,1F1,1B1"}));
  EXPECT_EQ(
      parse(
          "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0I0,0W0\n1RECV_F0,1F0,1B0,1SEND_B0"),
      (std::vector<std::string>{"0F0,0B0,0W0", "1F0,1B0,1W0"}));
  EXPECT_EQ(parse("0F0,\"(0F1;0B0)OVERLAP_F_B\",0B1"),
            (std::vector<std::string>{"0F0,0F1,0B0,0B1"}));
}

TEST(ScheduleFile, RefusesWhatCannotBe) {
  auto fails = [](const std::string &text, const std::string &why) {
    Result<PipelineSchedule> schedule = parseSchedule(text);
    ASSERT_FALSE(schedule.ok()) << text;
    EXPECT_NE(schedule.status().message().find(why), std::string::npos)
        << schedule.status().message();
  };
  fails("", "found none");
  fails("0F0,0X0,0B0", "line 1: '0X0' is no action");
  fails("0F0,forward,0B0", "'forward' is no action");
  fails("0F,0B0", "'0F' is no action");
  fails("0F9999999,0B0", "expected fewer than");
  fails("0F0,(0B0;", "no closing bracket");
  fails("0F0,0B0\n0F1,0B1", "stage 0 is on ranks 0 and 1");
  fails("0F0,0B0\n2F0,2B0", "stage 1 has no action, but stage 2 has");
  fails("0F0,0F1,0B0", "stage 0 has 1 backwards of 2 micro-batches");
  fails("0F1,0F0,0B0,0B1", "of micro-batch 1 comes where that of 0 is");
  fails("0F0,0F0,0B0", "of micro-batch 0 comes where that of 1 is");
  fails("0B0,0F0", "wait for each other");
  fails("0F0,0B0\n0SEND_F0", "line 2: the rank has no forward");
}

} // namespace
} // namespace zc
