#include "runtime/Io/RunLog.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

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
    auto log = RunLog::open(path, 1);
    ASSERT_TRUE(log.ok());
    ASSERT_TRUE(log->write(record).ok());
  }
  EXPECT_EQ(readWhole(path).find("{\"step\": 1}\n{\"step\": 2, \"loss\": 0.5"),
            0u);
  auto log = RunLog::open(path, std::nullopt);
  EXPECT_EQ(readWhole(path), "");
}

TEST(RunLog, CutsOffTheStepsThatAreTakenAgain) {
  TemporaryFolder folder;
  std::string path = folder.path("log.jsonl");
  const std::string kept = "{\"step\": 1}\n{\"step\": 2}\n"
                           "{\"step\": 2, \"eval_loss\": 1}\n";
  const std::string later = "{\"step\": 3}\n{\"step\": 4}\n"
                            "{\"step\": 4, \"eval_loss\": 1}\n";
  auto textAfter = [&](const std::string &text, int64_t step) {
    writeWhole(path, text);
    EXPECT_TRUE(RunLog::open(path, step).ok());
    return readWhole(path);
  };
  EXPECT_EQ(textAfter(kept + later, 2), kept);
  EXPECT_EQ(textAfter(kept + later + "{\"step\": 5", 2), kept);
  EXPECT_EQ(textAfter(kept, 7), kept);
  EXPECT_EQ(textAfter(later, 2), "");
  EXPECT_EQ(textAfter("", 2), "");
  EXPECT_EQ(textAfter("of another program\n" + later, 2),
            "of another program\n");
}

TEST(RunLog, WritesToAPipeThatIsReadAndToNoOther) {
  TemporaryFolder folder;
  const std::string path = folder.path("log");
  std::signal(SIGPIPE, SIG_IGN); // as zc-run does
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  for (std::optional<int64_t> resumedAfter : {std::optional<int64_t>(), {4}}) {
    auto unread = RunLog::open(path, resumedAfter);
    ASSERT_FALSE(unread.ok());
    EXPECT_NE(unread.status().message().find("no program reads"),
              std::string::npos);
    int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
    auto log = RunLog::open(path, resumedAfter);
    ASSERT_TRUE(log.ok()) << log.status().message();
    EvaluationRecord record;
    record.step = 3;
    EXPECT_TRUE(log->write(record).ok());
    char text[10] = {};
    EXPECT_EQ(::read(reader, text, 9), 9);
    EXPECT_STREQ(text, "{\"step\": ");
    ::close(reader);
    EXPECT_FALSE(log->write(record).ok());
  }
}

TEST(RunLog, WritesEvaluations) {
  TemporaryFolder folder;
  auto log = RunLog::open(folder.path("log.jsonl"), std::nullopt);
  ASSERT_TRUE(log->write(EvaluationRecord{3, 0.25, 0.5}).ok());
  EXPECT_EQ(readWhole(folder.path("log.jsonl")),
            "{\"step\": 3, \"eval_loss\": 0.25, \"eval_accuracy\": 0.5}\n");
}

} // namespace
} // namespace zc
