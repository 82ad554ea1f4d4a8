// The program itself, as a user runs it.
#include "runtime/Plan/Order/BuildOrders.h"
#include "test/unit/runtime/Shell.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>

namespace {

using namespace zc::test;
namespace fs = std::filesystem;

class ZcRun : public ::testing::Test {
protected:
  void SetUp() override {
    writeArtifact(folder.path("tiny.zca"), tinyManifest());
    writeTinyData(folder.path("data"), 10);
  }

  /// `zc-run run tiny.zca --data data` and more.
  Outcome run(const std::string &more, const std::string &prefix = "") {
    return shell("cd " + folder.path() + " && " + prefix +
                 "zc_run run tiny.zca --data data " + more);
  }
  nlohmann::json step(const std::string &log, size_t index) {
    return readLog(folder.path(log)).at(index);
  }

  TemporaryFolder folder;
};

TEST_F(ZcRun, NeedsNothingButTheCLibraryAndLibstdcxx) {
#ifdef ZC_TEST_EMULATED
  GTEST_SKIP() << "ldd knows this machine's programs alone";
#endif
  Outcome outcome = shell("ldd '" ZC_RUN "'");
  ASSERT_EQ(outcome.code, 0);
  for (const char *library :
       {"dnnl", "gomp", "protobuf", "libz.", "LLVM", "MLIR", "python", "onnx"})
    EXPECT_EQ(outcome.text.find(library), std::string::npos) << library;
}

TEST_F(ZcRun, TrainsLogsAndSaves) {
  Outcome outcome = run(
      "--steps 40 --lr 0.1 --log log.jsonl --checkpoint ck --save-every 15");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  auto records = readLog(folder.path("log.jsonl"));
  ASSERT_EQ(records.size(), 40u);
  EXPECT_EQ(records[0]["step"], 1);
  EXPECT_LT(records[39]["loss"].get<double>(),
            0.1 * records[0]["loss"].get<double>());
  for (const char *key : {"lr", "step_ms", "samples_per_s", "peak_bytes"})
    EXPECT_GT(records[0][key].get<double>(), 0) << key;
  EXPECT_EQ(records[0]["sent_bytes"], 0);
  for (const char *name : {"step-15", "step-30", "step-40"})
    for (const char *file :
         {"model-00001-of-00001.safetensors", "model.safetensors.index.json",
          "optimizer-00001-of-00001.safetensors",
          "optimizer.safetensors.index.json", "train_state.json"})
      EXPECT_TRUE(fs::exists(folder.path("ck/") + name + "/" + file)) << file;
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path("ck")),
                          fs::directory_iterator()),
            3);
}

TEST_F(ZcRun, ResumesBitForBit) {
  ASSERT_EQ(run("--steps 9 --seed 7 --log log.jsonl --checkpoint whole").code,
            0);
  fs::rename(folder.path("log.jsonl"), folder.path("whole.jsonl"));
  ASSERT_EQ(run("--steps 4 --seed 7 --log log.jsonl --checkpoint parts").code,
            0);
  Outcome outcome = run("--steps 9 --checkpoint parts --resume");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  fs::rename(folder.path("log.jsonl"), folder.path("parts.jsonl"));
  auto whole = readLog(folder.path("whole.jsonl"));
  auto parts = readLog(folder.path("parts.jsonl"));
  ASSERT_EQ(parts.size(), 9u);
  for (size_t i = 0; i < 9; ++i)
    EXPECT_EQ(parts[i]["loss"], whole[i]["loss"]) << i;
  for (const char *file :
       {"model-00001-of-00001.safetensors",
        "optimizer-00001-of-00001.safetensors", "train_state.json"})
    EXPECT_EQ(readWhole(folder.path("parts/step-9/") + file),
              readWhole(folder.path("whole/step-9/") + file))
        << file;
}

TEST_F(ZcRun, ResumingWhatIsDoneDoesNothing) {
  ASSERT_EQ(run("--steps 3 --checkpoint ck").code, 0);
  Outcome outcome = run("--steps 3 --checkpoint ck --resume");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.text.find("nothing to do"), std::string::npos);
}

TEST_F(ZcRun, ResumingFromNothingBeginsWithANote) {
  Outcome outcome = run("--steps 3 --checkpoint ck --resume");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.text.find("no checkpoint"), std::string::npos);
  EXPECT_NE(outcome.text.find("begins anew"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder.path("ck/step-3")));
}

TEST_F(ZcRun, ACheckpointOfAnEarlierRunNeverPassesForTheLatest) {
  ASSERT_EQ(run("--steps 9 --checkpoint ck --save-every 4").code, 0);
  Outcome outcome = run("--steps 5 --checkpoint ck --no-shuffle");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("holds 3 checkpoints of another run"),
            std::string::npos)
      << outcome.text;
  outcome = run("--steps 5 --checkpoint ck --no-shuffle --overwrite");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.text.find("removed 3 checkpoints"), std::string::npos)
      << outcome.text;
  EXPECT_TRUE(fs::exists(folder.path("ck/step-5")));
  EXPECT_FALSE(fs::exists(folder.path("ck/step-8")));
  EXPECT_FALSE(fs::exists(folder.path("ck/step-9")));
  // One that fails before its first checkpoint leaves the older ones.
  EXPECT_EQ(run("--steps 3 --checkpoint ck --lr 1e38 --overwrite").code, 1);
  EXPECT_TRUE(fs::exists(folder.path("ck/step-5")));
}

TEST_F(ZcRun, ResumesFromAStepInAnySpelling) {
  ASSERT_EQ(run("--steps 2 --checkpoint ck").code, 0);
  Outcome outcome = run("--steps 4 --checkpoint ck/step-2/ --resume");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_TRUE(fs::exists(folder.path("ck/step-4/train_state.json")));
  EXPECT_FALSE(fs::exists(folder.path("ck/step-2/step-4")));
}

TEST_F(ZcRun, ResumingLogsEveryStepOnce) {
  ASSERT_EQ(
      run("--steps 7 --checkpoint ck --save-every 5 --log log.jsonl").code, 0);
  fs::remove_all(folder.path("ck/step-7")); // as if killed before it was saved
  ASSERT_EQ(run("--steps 8 --checkpoint ck --resume --log log.jsonl").code, 0);
  auto records = readLog(folder.path("log.jsonl"));
  ASSERT_EQ(records.size(), 8u);
  for (size_t i = 0; i < 8; ++i)
    EXPECT_EQ(records[i]["step"], i + 1);
}

TEST_F(ZcRun, KeepsTheNewest) {
  ASSERT_EQ(run("--steps 8 --checkpoint ck --save-every 2 --keep 2").code, 0);
  EXPECT_FALSE(fs::exists(folder.path("ck/step-4")));
  EXPECT_TRUE(fs::exists(folder.path("ck/step-6")));
  EXPECT_TRUE(fs::exists(folder.path("ck/step-8")));
}

TEST_F(ZcRun, CountsEpochsInWholeBatches) {
  ASSERT_EQ(run("--epochs 2 --log log.jsonl").code, 0);
  EXPECT_EQ(readLog(folder.path("log.jsonl")).size(), 5u); // 20 samples by 4
}

TEST_F(ZcRun, ShufflesUnlessToldNotTo) {
  auto shuffles = [&](const std::string &more) {
    EXPECT_EQ(run("--steps 1 --checkpoint ck --overwrite " + more).code, 0);
    return nlohmann::json::parse(
        readWhole(folder.path("ck/step-1/train_state.json")))["shuffle"];
  };
  EXPECT_EQ(shuffles(""), true);
  EXPECT_EQ(shuffles("--shuffle"), true);
  EXPECT_EQ(shuffles("--no-shuffle"), false);
  EXPECT_EQ(run("--steps 1 --shuffle --no-shuffle").code, 2);
}

TEST_F(ZcRun, NanLossStopsAndKeepsTheLastCheckpoint) {
  Outcome outcome = run("--steps 400 --lr 1e6 --checkpoint ck --save-every 2");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("the loss is "), std::string::npos);
  EXPECT_NE(outcome.text.find("ck/step-"), std::string::npos);
  EXPECT_FALSE(fs::is_empty(folder.path("ck")));
}

TEST_F(ZcRun, EvaluatesPartialBatchesWithTrainedWeights) {
  ASSERT_EQ(run("--steps 200 --lr 0.1 --checkpoint ck").code, 0);
  Outcome outcome = shell("cd " + folder.path() +
                          " && zc_run eval tiny.zca --input "
                          "x=data/x.npy --output-dir out --checkpoint ck");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  std::string bytes = readWhole(folder.path("out/pred_out.npy"));
  ASSERT_NE(bytes.find("'shape': (10, 1)"), std::string::npos);
  const float *values =
      reinterpret_cast<const float *>(bytes.data() + bytes.size() - 40);
  std::string labels = readWhole(folder.path("data/labels.npy"));
  const float *expected =
      reinterpret_cast<const float *>(labels.data() + labels.size() - 40);
  for (int i = 0; i < 10; ++i)
    EXPECT_NEAR(values[i], expected[i], 0.1);
}

TEST_F(ZcRun, EvaluatesHeldOutDataExactly) {
  writeTinyData(folder.path("held"), 7); // a batch and three
  Outcome outcome = run("--steps 30 --lr 0.1 --log log.jsonl "
                        "--eval-data held --eval-every 10");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  std::vector<double> losses;
  for (const auto &record : readLog(folder.path("log.jsonl")))
    if (record.contains("eval_loss"))
      losses.push_back(record["eval_loss"].get<double>());
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_LT(losses[2], losses[0]);
  outcome = run("--steps 1 --eval-data nowhere");
  EXPECT_EQ(outcome.code, 1);
}

// Ten samples are a batch of two micro-batches, and half of one.
TEST_F(ZcRun, EvaluatesSeveralMicroBatchesAtOnce) {
  zc::plan::Manifest manifest = tinyManifest();
  manifest.set_loss("mse");
  writeArtifact(folder.path("one.zca"), manifest);
  zc::OrderOptions options;
  options.evaluated = 2;
  ASSERT_TRUE(zc::buildOrders(manifest, options).ok());
  writeArtifact(folder.path("two.zca"), manifest);
  const std::string go = "cd " + folder.path() + " && zc_run eval ";
  Outcome outcome = shell(go + "two.zca --input x=data/x.npy --output-dir two");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  ASSERT_EQ(shell(go + "one.zca --input x=data/x.npy --output-dir one").code,
            0);
  EXPECT_EQ(readWhole(folder.path("two/pred_out.npy")),
            readWhole(folder.path("one/pred_out.npy")));
  const std::string data = " --data data --metrics mae,r2 --json";
  Outcome two = shell(go + "two.zca" + data);
  EXPECT_EQ(two.code, 0) << two.text;
  EXPECT_EQ(two.text, shell(go + "one.zca" + data).text);
}

TEST_F(ZcRun, EvaluationNamesUnknownAndMissingInputs) {
  std::string go = "cd " + folder.path() + " && zc_run eval tiny.zca ";
  Outcome outcome = shell(go + "--input y=data/x.npy --output-dir out");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("no such input"), std::string::npos);
  outcome = shell(go + "--input labels=data/labels.npy --output-dir out");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("lacks the input 'x'"), std::string::npos);
}

TEST_F(ZcRun, RefusesWrongUsage) {
  EXPECT_EQ(run("").code, 2);
  EXPECT_EQ(run("--steps 0").code, 2);
  EXPECT_EQ(run("--steps 1 --epochs 1").code, 2);
  EXPECT_EQ(run("--steps 1 --lr nan").code, 2);
  EXPECT_EQ(run("--steps 1 --resume").code, 2);
  EXPECT_EQ(run("--steps 1 --no-such-option").code, 2);
  EXPECT_EQ(shell("zc_run").code, 2);
  EXPECT_EQ(shell("zc_run run --help").code, 0);
  EXPECT_EQ(shell("zc_run --version").code, 0);
}

TEST_F(ZcRun, NamesWhatIsWrongWithData) {
  fs::remove(folder.path("data/labels.npy"));
  writeNpy(folder.path("data/x.npy"), {10, 4}, std::vector<float>(40));
  Outcome outcome = run("--steps 1");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(
      outcome.text.find("'x' is float32 [10, 4]; expected float32 [N, 3]"),
      std::string::npos)
      << outcome.text;
  EXPECT_NE(outcome.text.find("lacks the input 'labels'"), std::string::npos);
}

TEST_F(ZcRun, NamesTheSampleWhoseValueIsOutOfRange) {
  writeNpy(folder.path("data/ids.npy"), {10},
           std::vector<int64_t>{0, 1, -100, 3, 4, 5, 6, 7, 8, 10});
  Outcome outcome = run("--steps 9 --no-shuffle");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("'ids', sample 9: the value 10 is out of range"),
            std::string::npos)
      << outcome.text;
}

TEST_F(ZcRun, RefusesAnotherVersionAndMissingInstructions) {
  auto manifest = tinyManifest();
  manifest.set_format_version(1);
  writeArtifact(folder.path("tiny.zca"), manifest);
  Outcome outcome = run("--steps 1");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("version 3"), std::string::npos);
  manifest = tinyManifest();
  manifest.mutable_target()->mutable_code(0)->add_features("amx-fp16");
  writeArtifact(folder.path("tiny.zca"), manifest);
  outcome = run("--steps 1");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("'amx-fp16'"), std::string::npos);
}

TEST_F(ZcRun, FullDiskKeepsTheOlderCheckpoint) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer itself writes a file at a program's start";
#endif
  ASSERT_EQ(run("--steps 2 --checkpoint ck").code, 0);
  std::string before = readWhole(folder.path("ck/step-2/train_state.json"));
  Outcome outcome =
      run("--steps 4 --checkpoint ck --resume", "ulimit -S -f 0; ");
  EXPECT_EQ(outcome.code, 1) << outcome.text;
  EXPECT_NE(outcome.text.find("File too large"), std::string::npos)
      << outcome.text;
  EXPECT_NE(outcome.text.find("after step 4"), std::string::npos)
      << outcome.text;
  EXPECT_EQ(readWhole(folder.path("ck/step-2/train_state.json")), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path("ck")),
                          fs::directory_iterator()),
            1);
  ASSERT_EQ(run("--steps 4 --checkpoint ck --resume").code, 0);
}

TEST_F(ZcRun, AFullLogIsWarnedOfOnce) {
  Outcome outcome = run("--steps 2 --log /dev/full --checkpoint ck");
  EXPECT_EQ(outcome.code, 0);
  size_t at = outcome.text.find("No space left");
  EXPECT_NE(at, std::string::npos);
  EXPECT_EQ(outcome.text.rfind("No space left"), at) << outcome.text;
  EXPECT_NE(outcome.text.find("lacks 2 records"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder.path("ck/step-2")));
}

TEST_F(ZcRun, AMissingFolderIsToldBeforeAnyWork) {
  Outcome outcome = run("--steps 2 --log nowhere/log.jsonl --checkpoint ck");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("no folder 'nowhere'"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder.path("ck")));
}

/// Waits in a shell until a step has been logged, however slow the machine.
static const char kAwaitStep[] =
    "for i in $(seq 600); do [ -s log.jsonl ] && break; sleep 0.1; done; ";

TEST_F(ZcRun, AnInterruptedRunSavesAndGoesOn) {
  Outcome stopped =
      shell("cd " + folder.path() +
            " && { '" ZC_RUN "' run tiny.zca --data data --steps 1000000000 "
            "--checkpoint ck --log log.jsonl > out.txt & pid=$!; " +
            kAwaitStep + "kill -TERM $pid; wait $pid; }");
  EXPECT_EQ(stopped.code, 143) << stopped.text;
  EXPECT_FALSE(fs::is_empty(folder.path("ck")));
  EXPECT_NE(readWhole(folder.path("out.txt")).find("stopped after step"),
            std::string::npos);
  Outcome resumed = run("--steps 1 --checkpoint ck --resume");
  EXPECT_EQ(resumed.code, 0) << resumed.text;
}

TEST_F(ZcRun, ASignalAtADueStepSavesAndEvaluatesOnce) {
  Outcome stopped =
      shell("cd " + folder.path() +
            " && { '" ZC_RUN "' run tiny.zca --data data --steps 1000000000 "
            "--checkpoint ck --save-every 1 --keep 1 --eval-data data "
            "--eval-every 1 --log log.jsonl > out.txt & pid=$!; " +
            kAwaitStep + "kill -TERM $pid; wait $pid; }");
  EXPECT_EQ(stopped.code, 143) << stopped.text;
  int64_t steps = 0, evaluations = 0;
  for (const auto &record : readLog(folder.path("log.jsonl")))
    ++(record.contains("eval_loss") ? evaluations : steps);
  EXPECT_GT(steps, 0);
  // The last one may have been stopped; it leaves no record then.
  EXPECT_LE(evaluations, steps);
  EXPECT_GE(evaluations, steps - 1);
}

TEST_F(ZcRun, AnInterruptedEvaluationLeavesNothing) {
  // Zeros without end, of which the disk holds none.
  const int64_t samples = int64_t(1) << 27;
  writeNpy(folder.path("x.npy"), {samples, 3}, std::vector<float>());
  fs::resize_file(folder.path("x.npy"),
                  fs::file_size(folder.path("x.npy")) + 12 * samples);
  for (const char *signals : {"", "kill -TERM $pid;"}) {
    auto start = std::chrono::steady_clock::now();
    Outcome stopped =
        shell("cd " + folder.path() +
              " && { '" ZC_RUN "' eval tiny.zca --input x=x.npy --output-dir "
              "out & pid=$!; sleep 0.5; kill -TERM $pid; " +
              signals + " wait $pid; }");
    EXPECT_EQ(stopped.code, 143) << stopped.text;
    EXPECT_LT(std::chrono::steady_clock::now() - start,
              std::chrono::seconds(10));
    EXPECT_TRUE(!fs::exists(folder.path("out")) ||
                fs::is_empty(folder.path("out")));
  }
}

} // namespace
