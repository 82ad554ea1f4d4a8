#include "runtime/Device/Cpu/CpuDevice.h"
#include "runtime/Io/CheckpointBeside.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

namespace zc {
namespace {

using namespace test;
namespace fs = std::filesystem;

/// An executor over the tiny artifact.
struct TinyRun {
  TinyRun(const std::string &path, const plan::Manifest &manifest)
      : artifact([&] {
          writeArtifact(path, manifest);
          return std::move(*Artifact::load(path));
        }()),
        device(cpu::createCpuDevice({})),
        executor(std::move(
            *Executor::prepare(*device, artifact, {"init", "step"}))) {
    EXPECT_TRUE(executor->initialise().ok());
  }
  float weight(int index) {
    float value = 0;
    EXPECT_TRUE(executor
                    ->readState(artifact.manifest().roles(0).states(0),
                                4 * index, &value, 4)
                    .ok());
    return value;
  }
  Artifact artifact;
  std::unique_ptr<Device> device;
  std::unique_ptr<Executor> executor;
};

class CheckpointTest : public ::testing::Test {
protected:
  TemporaryFolder folder;
  std::string dir = folder.path("ck");
  TinyRun run{folder.path("a.zca"), tinyManifest()};

  std::string save(int64_t step) {
    EXPECT_TRUE(prepareCheckpointFolder(dir).ok());
    auto path = saveCheckpoint(*run.executor, dir, {step, 7, false, 4, 10});
    EXPECT_TRUE(path.ok()) << path.status().message();
    return *path;
  }
};

TEST_F(CheckpointTest, ReadsWhatItWrote) {
  const float changed = 42;
  const plan::State &w = run.artifact.manifest().roles(0).states(0);
  ASSERT_TRUE(run.executor->writeState(w, 4, &changed, 4).ok());
  std::string path = save(5);
  EXPECT_EQ(path, dir + "/step-5");
  TinyRun other(folder.path("b.zca"), tinyManifest());
  EXPECT_EQ(other.weight(1), 2.0f);
  auto state =
      loadCheckpoint(*other.executor, path, CheckpointPart::Everything);
  ASSERT_TRUE(state.ok()) << state.status().message();
  EXPECT_EQ(other.weight(1), 42.0f);
  EXPECT_EQ(state->step, 5);
  EXPECT_EQ(state->seed, 7u);
  EXPECT_FALSE(state->shuffle);
}

TEST_F(CheckpointTest, WhatChangesMeanwhileIsOfTheNextOne) {
  ASSERT_TRUE(prepareCheckpointFolder(dir).ok());
  CheckpointBeside beside(*run.executor);
  EXPECT_GT(beside.copyBytes(), 0u);
  EXPECT_TRUE(*beside.hasRoom());
  const plan::State &w = run.artifact.manifest().roles(0).states(0);
  float value = 10;
  for (int64_t step : {5, 6}) {
    ASSERT_TRUE(run.executor->writeState(w, 4, &value, 4).ok());
    Status begun = beside.begin(dir, {step, 7, false, 4, 10});
    ASSERT_TRUE(begun.ok()) << begun.message();
    EXPECT_TRUE(beside.isUnderWay());
    const float later = ++value + 100;
    ASSERT_TRUE(run.executor->writeState(w, 4, &later, 4).ok());
    auto path = beside.finish();
    ASSERT_TRUE(path.ok()) << path.status().message();
    EXPECT_FALSE(beside.isUnderWay());
  }
  TinyRun other(folder.path("b.zca"), tinyManifest());
  for (int64_t step : {5, 6}) {
    auto state =
        loadCheckpoint(*other.executor, dir + "/step-" + std::to_string(step),
                       CheckpointPart::Everything);
    ASSERT_TRUE(state.ok()) << state.status().message();
    EXPECT_EQ(other.weight(1), float(5 + step));
  }
}

TEST_F(CheckpointTest, BesideWritesWhatWaitingWrites) {
  const std::string waited = save(5);
  CheckpointBeside beside(*run.executor);
  ASSERT_TRUE(beside.begin(folder.path("."), {5, 7, false, 4, 10}).ok());
  auto path = beside.finish();
  ASSERT_TRUE(path.ok()) << path.status().message();
  for (const auto &entry : fs::directory_iterator(waited))
    EXPECT_EQ(readWhole(entry.path().string()),
              readWhole(*path + "/" + entry.path().filename().string()))
        << entry.path();
}

TEST_F(CheckpointTest, BesideTellsOfWhatItCannotWrite) {
  CheckpointBeside beside(*run.executor);
  EXPECT_FALSE(beside.begin(folder.path("none/dir"), {5, 7, false}).ok());
  EXPECT_FALSE(beside.isUnderWay());
  ASSERT_TRUE(prepareCheckpointFolder(dir).ok());
  const float bad = std::numeric_limits<float>::infinity();
  const plan::State &w = run.artifact.manifest().roles(0).states(0);
  ASSERT_TRUE(run.executor->writeState(w, 8, &bad, 4).ok());
  Status begun = beside.begin(dir, {6, 7, false, 4, 10});
  ASSERT_FALSE(begun.ok());
  EXPECT_NE(begun.message().find("'" + w.name() + "'"), std::string::npos)
      << begun.message();
  EXPECT_FALSE(beside.isUnderWay());
}

TEST_F(CheckpointTest, NoticesAnyFlippedBitOfTheState) {
  const std::string path = save(5), name = path + "/train_state.json";
  const std::string whole = readWhole(name);
  TinyRun other(folder.path("b.zca"), tinyManifest());
  auto load = [&] {
    return loadCheckpoint(*other.executor, path, CheckpointPart::Everything);
  };
  // A letter changed in the seal's name makes it another name.
  const size_t end = whole.find("\"xxh64\"");
  for (size_t at = 0; at < end; ++at) {
    std::string damaged = whole;
    damaged[at] = char(damaged[at] ^ 1);
    std::ofstream(name) << damaged;
    auto json = nlohmann::json::parse(damaged, nullptr, false);
    if (json == nlohmann::json::parse(whole)) // between the words
      continue;
    EXPECT_FALSE(load().ok()) << damaged;
  }
  std::ofstream(name) << whole;
  EXPECT_TRUE(load().ok());
}

TEST_F(CheckpointTest, ReplacesOneOfTheSameStep) {
  save(5);
  std::string path = save(5);
  EXPECT_TRUE(fs::exists(path + "/train_state.json"));
  EXPECT_EQ(listCheckpoints(dir), std::vector<int64_t>{5});
  EXPECT_EQ(
      std::distance(fs::directory_iterator(dir), fs::directory_iterator()), 1);
}

TEST_F(CheckpointTest, FindsTheLatest) {
  EXPECT_EQ(findCheckpoint(dir).status().code(), StatusCode::NotFound);
  save(9);
  save(10);
  fs::create_directory(dir + "/step-x");
  fs::create_directory(dir + "/step-11"); // incomplete
  fs::copy_file(dir + "/step-10/train_state.json",
                dir + "/step-11/train_state.json");
  EXPECT_EQ(*findCheckpoint(dir), dir + "/step-10");
  EXPECT_EQ(*findCheckpoint(dir + "/step-9"), dir + "/step-9");
}

TEST_F(CheckpointTest, FindsTheFolderOfAnySpelling) {
  save(9);
  for (std::string name :
       {"", "/", "/step-9", "/step-9/", "/step-9//", "/./", "/step-9/."}) {
    EXPECT_EQ(checkpointFolder(dir + name), dir) << name;
    EXPECT_EQ(*findCheckpoint(dir + name), dir + "/step-9") << name;
  }
  EXPECT_EQ(checkpointFolder("/"), "/");
  fs::path before = fs::current_path();
  fs::current_path(dir + "/step-9");
  EXPECT_EQ(checkpointFolder("."), fs::canonical(dir));
  EXPECT_EQ(checkpointFolder("./"), fs::canonical(dir));
  fs::current_path(before);
}

TEST_F(CheckpointTest, WritesNoStateThatIsNotFinite) {
  save(5);
  for (float bad : {std::numeric_limits<float>::quiet_NaN(),
                    -std::numeric_limits<float>::infinity()}) {
    for (int index : {0, 1}) { // a parameter, and a moment
      const plan::State &state = run.artifact.manifest().roles(0).states(index);
      float good;
      ASSERT_TRUE(run.executor->readState(state, 8, &good, 4).ok());
      ASSERT_TRUE(run.executor->writeState(state, 8, &bad, 4).ok());
      auto saved = saveCheckpoint(*run.executor, dir, {6, 7, false, 4, 10});
      ASSERT_FALSE(saved.ok());
      EXPECT_NE(saved.status().message().find("'" + state.name() + "'"),
                std::string::npos)
          << saved.status().message();
      ASSERT_TRUE(run.executor->writeState(state, 8, &good, 4).ok());
    }
  }
  EXPECT_EQ(listCheckpoints(dir), std::vector<int64_t>{5});
  EXPECT_EQ(
      std::distance(fs::directory_iterator(dir), fs::directory_iterator()), 1);
}

TEST_F(CheckpointTest, RemovesThoseOfLaterSteps) {
  for (int64_t step : {2, 3, 20})
    save(step);
  EXPECT_EQ(removeLaterCheckpoints(dir, 2), 2u);
  EXPECT_EQ(removeLaterCheckpoints(dir, 2), 0u);
  EXPECT_EQ(
      std::distance(fs::directory_iterator(dir), fs::directory_iterator()), 1);
  EXPECT_EQ(*findCheckpoint(dir), dir + "/step-2");
}

TEST_F(CheckpointTest, PrunesTheOldest) {
  for (int64_t step : {1, 2, 3, 20})
    save(step);
  pruneCheckpoints(dir, 3, 2);
  EXPECT_EQ(listCheckpoints(dir), (std::vector<int64_t>{2, 3, 20}));
}

TEST_F(CheckpointTest, ClearsWhatAKilledRunLeft) {
  fs::create_directories(dir + "/.step-3.tmp-abcdef");
  save(4);
  EXPECT_FALSE(fs::exists(dir + "/.step-3.tmp-abcdef"));
}

TEST_F(CheckpointTest, RefusesAnotherModels) {
  std::string path = save(5);
  plan::Manifest manifest = tinyManifest();
  manifest.mutable_roles(0)->mutable_states(1)->set_name("state.w.exp_avg");
  TinyRun other(folder.path("b.zca"), manifest);
  Status status =
      loadCheckpoint(*other.executor, path, CheckpointPart::Everything)
          .status();
  EXPECT_NE(status.message().find("lacks 'state.w.exp_avg'"), std::string::npos)
      << status.message();
  EXPECT_TRUE(
      loadCheckpoint(*other.executor, path, CheckpointPart::Model).ok());
}

TEST_F(CheckpointTest, DamageEndsInAMessage) {
  std::string path = save(5);
  for (const auto &entry : fs::directory_iterator(path)) {
    std::string file = entry.path().string(), bytes = readWhole(file);
    for (size_t size = 0; size < bytes.size(); size += 3) {
      writeWhole(file, bytes.substr(0, size));
      (void)loadCheckpoint(*run.executor, path, CheckpointPart::Everything)
          .ok();
    }
    for (size_t at = 0; at < bytes.size(); ++at) {
      std::string damaged = bytes;
      damaged[at] ^= 0x15;
      writeWhole(file, damaged);
      (void)loadCheckpoint(*run.executor, path, CheckpointPart::Everything)
          .ok();
    }
    writeWhole(file, bytes);
  }
  EXPECT_TRUE(
      loadCheckpoint(*run.executor, path, CheckpointPart::Everything).ok());
}

} // namespace
} // namespace zc
