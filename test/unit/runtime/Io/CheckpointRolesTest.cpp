#include "runtime/Comm/InProcess/InProcess.h"
#include "runtime/Device/Cpu/CpuDevice.h"
#include "runtime/Io/CheckpointBeside.h"
#include "runtime/Plan/RoleTensors.h"
#include "runtime/Plan/Safetensors.h"
#include "runtime/Plan/Types.h"
#include "test/unit/runtime/TinyArtifact.h"
#include "test/unit/runtime/TinyRoles.h"

#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <thread>

namespace zc {
namespace {

using namespace test;

/// Ranks of an artifact as threads, each with an executor over its role.
class Ranks {
public:
  Ranks(const std::string &path, const plan::Manifest &manifest)
      : artifact([&] {
          writeArtifact(path, manifest);
          auto loaded = Artifact::load(path);
          EXPECT_TRUE(loaded.ok()) << loaded.status().message();
          return std::move(*loaded);
        }()),
        mesh(*Mesh::of(manifest)),
        worlds(createInProcessRanks(int(mesh.ranks()))) {
    for (size_t rank = 0; rank < worlds.size(); ++rank) {
      views.push_back(artifact.forRole(mesh.role(int64_t(rank))));
      devices.push_back(cpu::createCpuDevice({}));
    }
    Status ready = run([&](int rank) {
      auto executor =
          Executor::prepare(*devices[size_t(rank)], views[size_t(rank)],
                            {"init"}, worlds[size_t(rank)].get());
      EXPECT_TRUE(executor.ok()) << executor.status().message();
      executors[size_t(rank)] = std::move(*executor);
      return executors[size_t(rank)]->initialise();
    });
    EXPECT_TRUE(ready.ok()) << ready.message();
  }

  using Body = std::function<Status(int rank)>;

  /// The failure that is told, if any.
  Status run(const Body &body) {
    executors.resize(worlds.size());
    std::vector<Status> ends(worlds.size());
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < worlds.size(); ++rank)
      threads.emplace_back([&, rank] { ends[rank] = body(int(rank)); });
    for (std::thread &thread : threads)
      thread.join();
    for (const Status &end : ends)
      if (!end.ok() && end.code() != StatusCode::Cancelled)
        return end;
    return Status();
  }

  Status save(const std::string &dir) {
    return run([&](int rank) {
      TrainState state;
      state.step = 5;
      return saveCheckpoint(executor(rank), dir, state).status();
    });
  }

  /// Does as save(), by threads beside the ranks'.
  Status saveBeside(const std::string &dir) {
    return run([&](int rank) {
      TrainState state;
      state.step = 5;
      CheckpointBeside beside(executor(rank));
      Status begun = beside.begin(dir, state);
      return begun.ok() ? beside.finish().status() : begun;
    });
  }

  Status load(const std::string &path) {
    return run([&](int rank) {
      return loadCheckpoint(executor(rank), path, CheckpointPart::Everything)
          .status();
    });
  }

  Executor &executor(int rank) { return *executors[size_t(rank)]; }

  /// A rank's part of a tensor, in its whole shape; -1 elsewhere.
  std::vector<float> read(int rank, const std::string &name) {
    std::vector<float> values(3, -1);
    each(rank, name, [&](const plan::State &state, const TensorRun &run) {
      return executor(rank).readState(state, 4 * run.state, &values[run.whole],
                                      4 * run.count);
    });
    return values;
  }

  void write(int rank, const std::string &name, std::vector<float> values) {
    each(rank, name, [&](const plan::State &state, const TensorRun &run) {
      return executor(rank).writeState(state, 4 * run.state, &values[run.whole],
                                       4 * run.count);
    });
  }

  const Artifact artifact;

private:
  template <typename Access>
  void each(int rank, const std::string &name, Access access) {
    for (const plan::State &state : views[size_t(rank)].role().states()) {
      if (state.name() != name)
        continue;
      for (const TensorRun &run : fileTensorsOf(state).front().runs(mesh, rank))
        EXPECT_TRUE(access(state, run).ok());
    }
  }

  Mesh mesh;
  std::vector<std::unique_ptr<World>> worlds;
  std::vector<Artifact> views;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Executor>> executors;
};

using Values = std::vector<float>;

class CheckpointRolesTest : public ::testing::Test {
protected:
  CheckpointRolesTest() { EXPECT_TRUE(prepareCheckpointFolder(dir).ok()); }

  /// Every rank's own numbers, those of "w" alike.
  void fill(Ranks &ranks, int perRole) {
    for (int rank = 0; rank < 2 * perRole; ++rank) {
      ranks.write(rank, "w", {7, 8, 9});
      ranks.write(rank, "a", {1, 2, 3});
      ranks.write(rank, "b", {4, 5, 6});
      ranks.write(rank, "state.b.momentum_buffer", {10, 11, 12});
    }
  }

  TemporaryFolder folder;
  std::string dir = folder.path("ck");
};

TEST(RoleTensors, AreThereOnceWithTheirHolders) {
  const plan::Manifest manifest = tinyManifestOfRoles();
  auto tensors = tensorsOfRoles(manifest, isModelState);
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[0].tensor.name(), "w");
  EXPECT_EQ(tensors[0].roles, (std::vector<int>{0, 1}));
  EXPECT_EQ(tensors[0].tensor.state, &manifest.roles(0).states(0));
  EXPECT_EQ(tensors[1].tensor.name(), "a");
  EXPECT_EQ(tensors[1].roles, std::vector<int>{0});
  EXPECT_EQ(tensors[2].tensor.name(), "b");
  EXPECT_EQ(tensors[2].roles, std::vector<int>{1});
}

TEST_F(CheckpointRolesTest, HoldsTheTensorsOfAllRolesOnce) {
  Ranks ranks(folder.path("a.zca"), tinyManifestOfRoles());
  fill(ranks, 1);
  ASSERT_EQ(ranks.save(dir).message(), "");
  auto index = nlohmann::json::parse(
      readWhole(dir + "/step-5/model.safetensors.index.json"));
  EXPECT_EQ(index["metadata"]["total_size"], 36);
  size_t count = 0;
  for (const auto &[name, file] : index["weight_map"].items()) {
    std::string bytes =
        readWhole(dir + "/step-5/" + file.template get<std::string>());
    auto tensors = parseSafetensors(bytes);
    ASSERT_TRUE(tensors.ok());
    for (const SafetensorsTensor &tensor : *tensors) {
      count += tensor.name == name;
      if (tensor.name == name) {
        EXPECT_TRUE(checkSum(tensor).ok()) << name;
      }
    }
  }
  EXPECT_EQ(count, 3u);
}

TEST_F(CheckpointRolesTest, ResumesOnAnyMesh) {
  const std::string first = dir + "/step-5", other = folder.path("other");
  ASSERT_TRUE(prepareCheckpointFolder(other).ok());
  {
    Ranks ranks(folder.path("a.zca"), tinyManifestOfRoles());
    fill(ranks, 1);
    ASSERT_EQ(ranks.saveBeside(dir).message(), "");
  }
  Ranks one(folder.path("b.zca"), tinyManifestOfOneRole());
  EXPECT_EQ(one.read(0, "b"), (Values{0, 0, 0}));
  ASSERT_EQ(one.load(first).message(), "");
  EXPECT_EQ(one.read(0, "w"), (Values{7, 8, 9}));
  EXPECT_EQ(one.read(0, "a"), (Values{1, 2, 3}));
  EXPECT_EQ(one.read(0, "b"), (Values{4, 5, 6}));
  EXPECT_EQ(one.read(0, "state.b.momentum_buffer"), (Values{10, 11, 12}));
  ASSERT_EQ(one.save(other).message(), "");
  // And from one rank to two roles of two, where one divides what both hold.
  Ranks four(folder.path("c.zca"), tinyManifestOfRoles(2));
  ASSERT_EQ(four.load(other + "/step-5").message(), "");
  EXPECT_EQ(four.read(0, "w"), (Values{7, 8, -1}));
  EXPECT_EQ(four.read(1, "w"), (Values{-1, -1, 9}));
  for (int rank : {2, 3}) {
    EXPECT_EQ(four.read(rank, "w"), (Values{7, 8, 9}));
    EXPECT_EQ(four.read(rank, "b"), (Values{4, 5, 6}));
  }
  ASSERT_EQ(four.save(dir).message(), "");
  ASSERT_EQ(one.load(first).message(), "");
  EXPECT_EQ(one.read(0, "w"), (Values{7, 8, 9}));
}

TEST_F(CheckpointRolesTest, RefusesCopiesThatDiffer) {
  // Another value, and the same ones in other places.
  for (const Values &values : {Values{7, 8, 9.5}, Values{8, 7, 9}})
    for (int dp : {1, 2}) {
      Ranks ranks(folder.path("a.zca"), tinyManifestOfRoles(dp));
      fill(ranks, dp);
      ranks.write(dp, "w", values); // of the second role's first rank
      Status saved = ranks.save(dir);
      EXPECT_NE(
          saved.message().find("the copies of 'w' of pipeline stages 0 and "
                               "1 have come to differ"),
          std::string::npos)
          << saved.message();
      EXPECT_TRUE(listCheckpoints(dir).empty());
    }
}

/// A scalar like the seed of dropout, which only the last role has.
TEST_F(CheckpointRolesTest, KeepsScalarsOfLaterRoles) {
  plan::Manifest manifest = tinyManifestOfRoles();
  manifest.mutable_roles(1)->mutable_states(4)->set_name("count");
  Ranks ranks(folder.path("a.zca"), manifest);
  const int64_t value = 42;
  const plan::State &scalar = ranks.artifact.manifest().roles(1).states(4);
  ASSERT_TRUE(ranks.executor(1).writeState(scalar, 0, &value, 8).ok());
  ASSERT_EQ(ranks.save(dir).message(), "");
  auto state =
      nlohmann::json::parse(readWhole(dir + "/step-5/train_state.json"));
  EXPECT_EQ(state["scalars"]["count"]["value"], 42);
  EXPECT_EQ(state["scalars"]["step"]["value"], 0);
  EXPECT_EQ(ranks.load(dir + "/step-5").message(), "");
}

TEST_F(CheckpointRolesTest, TakesWeightsByAllRoles) {
  Ranks ranks(folder.path("a.zca"), tinyManifestOfRoles());
  fill(ranks, 1);
  ASSERT_EQ(ranks.save(dir).message(), "");
  Ranks others(folder.path("b.zca"), tinyManifestOfRoles());
  Status loaded = others.run([&](int rank) -> Status {
    ZC_ASSIGN_OR_RETURN(WeightsReport report,
                        loadWeights(others.executor(rank), dir));
    EXPECT_EQ(report.loaded, 3u);
    EXPECT_TRUE(report.missing.empty() && report.misshapen.empty() &&
                report.unused.empty());
    return Status();
  });
  ASSERT_EQ(loaded.message(), "");
  EXPECT_EQ(others.read(0, "a"), (Values{1, 2, 3}));
  EXPECT_EQ(others.read(1, "b"), (Values{4, 5, 6}));
  EXPECT_EQ(others.read(1, "w"), (Values{7, 8, 9}));
}

} // namespace
} // namespace zc
