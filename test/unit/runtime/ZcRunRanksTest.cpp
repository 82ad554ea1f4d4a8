// Several ranks, as a user runs them: threads of one process, and mpirun.
#include "runtime/Plan/Safetensors.h"
#include "test/unit/runtime/FreePort.h"
#include "test/unit/runtime/Shell.h"
#include "test/unit/runtime/TinyArtifact.h"
#include "test/unit/runtime/TinyRanks.h"

#include <filesystem>
#include <gtest/gtest.h>

namespace {

using namespace zc::test;
namespace fs = std::filesystem;

const std::string kMpirun = ZC_MPIRUN;

/// How often the program has told of an error.
size_t errorsIn(const std::string &text) {
  size_t count = 0;
  for (size_t at = 0;
       (at = text.find("zc-run: error", at)) != std::string::npos; ++at)
    ++count;
  return count;
}

class ZcRunRanks : public ::testing::Test {
protected:
  void SetUp() override {
    writeArtifact(folder.path("one.zca"), tinyManifest());
    writeArtifact(folder.path("two.zca"), tinyManifestOfTwo(false));
    writeArtifact(folder.path("zero.zca"), tinyManifestOfTwo(true));
    writeTinyData(folder.path("data"), 10);
  }

  /// `zc-run run …` in the folder.
  Outcome run(const std::string &arguments) {
    return shell("cd " + folder.path() + " && zc_run run " + arguments);
  }
  /// The same by mpirun, with two processes.
  Outcome mpirun(const std::string &arguments, const std::string &more = "") {
    return shell("cd " + folder.path() +
                 " && OMPI_ALLOW_RUN_AS_ROOT=1 "
                 "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                 "OMPI_MCA_rmaps_base_oversubscribe=1 '" +
                 kMpirun + "' -n 2 " + more + " '" ZC_RUN "' run " + arguments);
  }
  std::vector<nlohmann::json> log(const std::string &name) {
    return readLog(folder.path(name));
  }

  /// The log of one rank, to compare with.
  std::vector<nlohmann::json> alone(const std::string &options) {
    Outcome outcome = run("one.zca --log alone.jsonl " + options);
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    return log("alone.jsonl");
  }

  void expectSameLosses(const std::vector<nlohmann::json> &found,
                        const std::vector<nlohmann::json> &expected,
                        int64_t sentBytes) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      const char *key = found[i].contains("loss") ? "loss" : "eval_loss";
      double value = expected[i][key].get<double>();
      EXPECT_NEAR(found[i][key].get<double>(), value, 1e-5 * value) << i;
      if (found[i].contains("loss")) {
        EXPECT_EQ(found[i]["sent_bytes"], sentBytes) << i;
      }
    }
  }

  TemporaryFolder folder;
};

const std::string kOptions = "--data data --steps 12 --lr 0.05 --seed 3 "
                             "--eval-data data --eval-every 5 ";

TEST_F(ZcRunRanks, ThreadsTrainLikeOneRank) {
  auto expected = alone(kOptions);
  Outcome outcome = run("two.zca --local-ranks 2 --log two.jsonl " + kOptions);
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  // The loss, 4 bytes, and 3 gradients, half of each twice.
  expectSameLosses(log("two.jsonl"), expected, 4 + 12);
  outcome = run("zero.zca --local-ranks 2 --log zero.jsonl " + kOptions);
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  // Gathered and scattered are 4 elements with the padding.
  expectSameLosses(log("zero.jsonl"), expected, 4 + 8 + 8);
}

TEST_F(ZcRunRanks, ProcessesTrainLikeOneRank) {
  if (kMpirun.empty())
    GTEST_SKIP() << "no MPI";
  auto expected = alone(kOptions);
  Outcome outcome = mpirun("zero.zca --log mpi.jsonl " + kOptions);
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  expectSameLosses(log("mpi.jsonl"), expected, 4 + 8 + 8);
  // Only the first rank talks.
  EXPECT_EQ(outcome.text.find("trained to step"),
            outcome.text.rfind("trained to step"));
}

TEST_F(ZcRunRanks, ASecondStreamChangesNothingButWhen) {
  auto manifest = tinyManifestOfTwo(true);
  moveCollectivesToSecondStream(manifest);
  writeArtifact(folder.path("streams.zca"), manifest);
  ASSERT_EQ(run("zero.zca --local-ranks 2 --log zero.jsonl " + kOptions).code,
            0);
  Outcome outcome = run("streams.zca --local-ranks 2 --log streams.jsonl "
                        "--trace trace.json " +
                        kOptions);
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  auto expected = log("zero.jsonl"), found = log("streams.jsonl");
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(found[i]["loss"], expected[i]["loss"]);
  // Instructions are on their streams' tracks; behind them come the tracks of
  // steps, data and checkpoints.
  constexpr int kStreams = 2;
  auto trace = nlohmann::json::parse(readWhole(folder.path("trace.json")));
  int instructions = 0;
  for (const auto &event : trace["traceEvents"])
    if (event["ph"] == "X" && event["tid"] < kStreams) {
      EXPECT_EQ(event["tid"], event["cat"] == "collective" ? 1 : 0);
      ++instructions;
    } else if (event["ph"] == "X") {
      EXPECT_NE(event["cat"], "collective");
    }
  EXPECT_GT(instructions, 0);
}

TEST_F(ZcRunRanks, EvaluationPutsTheRanksOutputsTogether) {
  const std::string go = "cd " + folder.path() + " && zc_run eval ";
  const std::string inputs = " --input x=data/x.npy --output-dir ";
  ASSERT_EQ(shell(go + "one.zca" + inputs + "one").code, 0);
  Outcome outcome = shell(go + "zero.zca --local-ranks 2" + inputs + "two");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("evaluated 10 samples"), std::string::npos);
  EXPECT_EQ(readWhole(folder.path("two/pred_out.npy")),
            readWhole(folder.path("one/pred_out.npy")));
}

/// The tensors of a checkpoint's group, by name, as bytes.
std::map<std::string, std::string> tensorsOf(const std::string &checkpoint,
                                             const std::string &group) {
  auto index = nlohmann::json::parse(
      readWhole(checkpoint + "/" + group + ".safetensors.index.json"));
  std::map<std::string, std::string> tensors;
  for (const auto &[name, file] : index["weight_map"].items()) {
    std::string bytes =
        readWhole(checkpoint + "/" + file.template get<std::string>());
    auto parsed = zc::parseSafetensors(bytes);
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    for (const zc::SafetensorsTensor &tensor : *parsed)
      if (tensor.name == name)
        tensors[name] = std::string(tensor.data);
  }
  return tensors;
}

TEST_F(ZcRunRanks, CheckpointsAreOfWholeTensorsAndResumeOnOtherMeshes) {
  const std::string options = "--data data --lr 0.05 --seed 3 ";
  ASSERT_EQ(
      run("one.zca --log one.jsonl --checkpoint one --steps 9 " + options).code,
      0);
  // ZeRO for 3 steps, then one rank, then replicas.
  auto goOn = [&](const std::string &what, const std::string &steps) {
    Outcome outcome = run(what + " --log mixed.jsonl --checkpoint mixed " +
                          options + "--steps " + steps);
    ASSERT_EQ(outcome.code, 0) << outcome.text;
  };
  goOn("zero.zca --local-ranks 2", "3");
  goOn("one.zca --resume", "5");
  goOn("two.zca --resume --local-ranks 2", "7");
  goOn("zero.zca --resume --local-ranks 2", "9");
  auto one = log("one.jsonl"), mixed = log("mixed.jsonl");
  ASSERT_EQ(mixed.size(), 9u);
  for (size_t i = 0; i < 9; ++i)
    EXPECT_NEAR(mixed[i]["loss"].get<double>(), one[i]["loss"].get<double>(),
                1e-6)
        << i;
  for (const char *group : {"model", "optimizer"}) {
    auto expected = tensorsOf(folder.path("one/step-9"), group);
    auto found = tensorsOf(folder.path("mixed/step-9"), group);
    ASSERT_EQ(found.size(), 1u);
    ASSERT_EQ(found.begin()->first, expected.begin()->first);
    ASSERT_EQ(found.begin()->second.size(), 12u);
    for (int i = 0; i < 3; ++i)
      EXPECT_NEAR(
          reinterpret_cast<const float *>(found.begin()->second.data())[i],
          reinterpret_cast<const float *>(expected.begin()->second.data())[i],
          1e-5);
  }
  for (const auto &entry : fs::directory_iterator(folder.path("mixed")))
    EXPECT_EQ(entry.path().filename().string().rfind("step-", 0), 0u);
}

/// A command that starts rank `r` of two, which meet at `port`, with another
/// prefix for each and a file for what they print: out0 and out1.
std::string startRank(int r, int port, const std::string &arguments) {
  return zc::strCat("RANK=", r, " WORLD_SIZE=2 LOCAL_RANK=", r,
                    " MASTER_ADDR=localhost MASTER_PORT=", port,
                    " '" ZC_RUN "' run ", arguments, " > out", r, " 2>&1 & pid",
                    r, "=$!; ");
}

TEST_F(ZcRunRanks, ProcessesMeetByTorchrunsVariables) {
  auto expected = alone(kOptions);
  int port = zc::freePort();
  const std::string arguments = "zero.zca --log tcp.jsonl " + kOptions;
  Outcome outcome =
      shell("cd " + folder.path() + "; " + startRank(0, port, arguments) +
            startRank(1, port, arguments) + "wait $pid0 && wait $pid1");
  ASSERT_EQ(outcome.code, 0)
      << readWhole(folder.path("out0")) << readWhole(folder.path("out1"));
  expectSameLosses(log("tcp.jsonl"), expected, 4 + 8 + 8);
  EXPECT_EQ(readWhole(folder.path("out1")), "");
}

TEST_F(ZcRunRanks, ARankThatIsKilledIsNamedAndTheCheckpointStays) {
  int port = zc::freePort();
  const std::string arguments =
      "two.zca --data data --steps 1000000000 --checkpoint ck --save-every "
      "100 --keep 1 --timeout 5";
  Outcome outcome =
      shell("cd " + folder.path() + "; " + startRank(0, port, arguments) +
            startRank(1, port, arguments) +
            "while [ ! -e ck/step-*00/train_state.json ]; do sleep 0.05; done; "
            "kill -9 $pid1; wait $pid0");
  EXPECT_EQ(outcome.code, 1);
  std::string text = readWhole(folder.path("out0"));
  EXPECT_NE(text.find("rank 1 is gone"), std::string::npos) << text;
  EXPECT_EQ(errorsIn(text), 1u) << text;
  outcome = run("two.zca --data data --steps 1 --checkpoint ck --resume "
                "--local-ranks 2");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
}

TEST_F(ZcRunRanks, ARankThatHangsIsNamedWithinTheTimeout) {
  int port = zc::freePort();
  const std::string arguments =
      "two.zca --data data --steps 1000000000 --log log.jsonl --timeout 0.5";
  Outcome outcome =
      shell("cd " + folder.path() + "; " + startRank(0, port, arguments) +
            startRank(1, port, arguments) +
            "while [ ! -s log.jsonl ]; do sleep 0.05; done; kill -STOP $pid1; "
            "wait $pid0; code=$?; kill -9 $pid1; exit $code");
  EXPECT_EQ(outcome.code, 1);
  std::string text = readWhole(folder.path("out0"));
  EXPECT_NE(text.find("waited 0.5 s in a collective for rank 1"),
            std::string::npos)
      << text;
  EXPECT_EQ(errorsIn(text), 1u) << text;
}

TEST_F(ZcRunRanks, ARankWithAnotherArtifactIsNamed) {
  int port = zc::freePort();
  Outcome outcome =
      shell("cd " + folder.path() + "; " +
            startRank(0, port, "two.zca --data data --steps 1") +
            startRank(1, port, "zero.zca --data data --steps 1") +
            "wait $pid0; code=$?; wait $pid1; exit $(($? + $code))");
  EXPECT_EQ(outcome.code, 2); // both failed
  std::string text =
      readWhole(folder.path("out0")) + readWhole(folder.path("out1"));
  EXPECT_NE(text.find("rank 1 holds another artifact than rank 0"),
            std::string::npos)
      << text;
  EXPECT_EQ(errorsIn(text), 1u) << text;
}

TEST_F(ZcRunRanks, SlurmsVariablesServeWithoutPmi) {
  Outcome outcome = shell(
      zc::strCat("cd ", folder.path(),
                 "; export SLURM_STEP_NUM_TASKS=2 "
                 "SLURM_STEP_NODELIST='localhost' MASTER_PORT=",
                 zc::freePort(),
                 "; for r in 0 1; do SLURM_PROCID=$r '" ZC_RUN "' run two.zca "
                 "--data data --steps 3 > out$r 2>&1 & done; wait"));
  EXPECT_NE(readWhole(folder.path("out0")).find("trained to step 3"),
            std::string::npos)
      << readWhole(folder.path("out0"));
}

TEST_F(ZcRunRanks, AWrongNumberOfRanksIsAnError) {
  Outcome outcome = run("two.zca --data data --steps 1");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("is for 2 ranks, but 1 was started; start it "
                              "with --local-ranks 2"),
            std::string::npos)
      << outcome.text;
  outcome = run("two.zca --data data --steps 1 --local-ranks 3");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("is for 2 ranks, but 3 were started"),
            std::string::npos)
      << outcome.text;
  EXPECT_EQ(errorsIn(outcome.text), 1u) << outcome.text;
  if (kMpirun.empty())
    return;
  outcome = mpirun("one.zca --data data --steps 1");
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.text.find("is for 1 rank, but 2 were started"),
            std::string::npos)
      << outcome.text;
  EXPECT_EQ(errorsIn(outcome.text), 1u) << outcome.text;
}

TEST_F(ZcRunRanks, OneMessageTellsOfOneRanksFailure) {
  writeNpy(folder.path("data/ids.npy"), {10},
           std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 10});
  Outcome outcome =
      run("two.zca --data data --steps 9 --no-shuffle --local-ranks 2");
  EXPECT_EQ(outcome.code, 1);
  // Samples 8, 9 | 0, 1: the first rank's. Then 8 | 9 would be the second's.
  EXPECT_NE(outcome.text.find("rank 0: 'data': 'ids', sample 9"),
            std::string::npos)
      << outcome.text;
  EXPECT_EQ(errorsIn(outcome.text), 1u) << outcome.text;
}

TEST_F(ZcRunRanks, TracesHaveATrackForEachRank) {
  Outcome outcome = run("zero.zca --local-ranks 2 --data data --steps 2 "
                        "--trace trace.json --profile");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  auto trace = nlohmann::json::parse(readWhole(folder.path("trace.json")));
  std::map<int, int> collectives; // by rank
  for (const auto &event : trace["traceEvents"])
    if (event["ph"] == "X" && event["cat"] == "collective")
      ++collectives[event["pid"].get<int>()];
  EXPECT_EQ(collectives, (std::map<int, int>{{0, 6}, {1, 6}}));
}

TEST_F(ZcRunRanks, ASignalStopsAllAfterTheSameStep) {
  Outcome stopped =
      shell("cd " + folder.path() +
            " && { '" ZC_RUN "' run two.zca --local-ranks 2 --data data "
            "--steps 1000000000 > out.txt & pid=$!; sleep 1; "
            "kill -TERM $pid; wait $pid; }");
  EXPECT_EQ(stopped.code, 143) << stopped.text;
  EXPECT_NE(readWhole(folder.path("out.txt")).find("stopped after step"),
            std::string::npos);
}

TEST_F(ZcRunRanks, ALauncherAndLocalRanksExcludeEachOther) {
  Outcome outcome = shell("cd " + folder.path() +
                          " && OMPI_COMM_WORLD_SIZE=2 zc_run run "
                          "two.zca --data data --steps 1 --local-ranks 2");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("OMPI_COMM_WORLD_SIZE"), std::string::npos);
}

} // namespace
