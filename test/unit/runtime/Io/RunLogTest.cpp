#include "runtime/Io/RunLog.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <gtest/gtest.h>
#include <random>

namespace zc {
namespace {

using namespace test;

TEST(RunLog, FloatsReadBackExactly) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    float value = std::ldexp(float(random()), int(random() % 100) - 60);
    EXPECT_EQ(std::strtof(exactDecimal(value).c_str(), nullptr), value);
    double wide = value * 1.1;
    EXPECT_EQ(std::strtod(exactDecimal(wide).c_str(), nullptr), wide);
  }
}

TEST(RunLog, AppendsAfterTheLastWholeLine) {
  TemporaryFolder folder;
  std::string path = folder.path("log.jsonl");
  writeWhole(path, "{\"step\": 1}\n{\"st");
  StepRecord record;
  record.step = 2;
  record.loss = "0.5";
  {
    auto log = RunLog::open(path, true);
    ASSERT_TRUE(log.ok());
    ASSERT_TRUE(log->write(record).ok());
  }
  EXPECT_EQ(readWhole(path).find("{\"step\": 1}\n{\"step\": 2, \"loss\": 0.5"),
            0u);
  auto log = RunLog::open(path, false);
  EXPECT_EQ(readWhole(path), "");
}

TEST(RunLog, WritesEvaluations) {
  TemporaryFolder folder;
  auto log = RunLog::open(folder.path("log.jsonl"), false);
  ASSERT_TRUE(log->write(EvaluationRecord{3, 0.25, 0.5}).ok());
  EXPECT_EQ(readWhole(folder.path("log.jsonl")),
            "{\"step\": 3, \"eval_loss\": 0.25, \"eval_accuracy\": 0.5}\n");
}

} // namespace
} // namespace zc
