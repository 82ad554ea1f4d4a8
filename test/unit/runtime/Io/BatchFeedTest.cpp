#include "runtime/Io/BatchFeed.h"
#include "runtime/Device/Cpu/CpuDevice.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <filesystem>
#include <gtest/gtest.h>

namespace zc {
namespace {

using namespace test;

/// x [4, 3], labels [4, 1] and, in step, ids [4] in [0, 10) or -100.
class BatchFeedTest : public ::testing::Test {
protected:
  void SetUp() override {
    manifest = tinyManifest();
    writeTinyData(folder.path("data"), 6);
  }

  /// The feed of a program from the folder's data.
  Result<BatchFeed> open(const std::string &name, FeedOptions options = {}) {
    if (!executor) {
      writeArtifact(folder.path("a.zca"), manifest);
      artifact.emplace(std::move(*Artifact::load(folder.path("a.zca"))));
      device = cpu::createCpuDevice({});
      executor = std::move(
          *Executor::prepare(*device, *artifact, {"init", "step", "eval"}));
    }
    program = artifact->program(name);
    ZC_ASSIGN_OR_RETURN(DataFile file, DataFile::open(folder.path("data")));
    return BatchFeed::create(
        *program, std::make_shared<DataFile>(std::move(file)), options);
  }

  /// The values in an input's buffer.
  template <typename T> std::vector<T> values(const std::string &name) {
    for (const plan::Input &input : program->inputs())
      if (input.name() == name) {
        const auto &dims = program->buffers(input.buffer()).type().dims();
        int64_t count = 1;
        for (int64_t dim : dims)
          count *= dim;
        std::vector<T> out(static_cast<size_t>(count));
        EXPECT_TRUE(executor->read(*program, input.buffer(), out.data()).ok());
        return out;
      }
    ADD_FAILURE() << "no input " << name;
    return {};
  }

  void expectRefused(const std::string &part, const std::string &name = "step",
                     FeedOptions options = {}) {
    auto feed = open(name, options);
    ASSERT_FALSE(feed.ok());
    EXPECT_NE(feed.status().message().find(part), std::string::npos)
        << feed.status().message();
  }

  TemporaryFolder folder;
  plan::Manifest manifest;
  std::optional<Artifact> artifact;
  std::unique_ptr<Device> device;
  std::unique_ptr<Executor> executor;
  const plan::Program *program = nullptr;
};

TEST_F(BatchFeedTest, FeedsTheSamplesThatAreNamed) {
  writeNpy(
      folder.path("data/x.npy"), {5, 3},
      std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  writeNpy(folder.path("data/labels.npy"), {5, 1},
           std::vector<float>{0, 1, 2, 3, 4});
  writeNpy(folder.path("data/ids.npy"), {5},
           std::vector<int64_t>{9, 8, 7, 6, -100});
  auto feed = open("step");
  ASSERT_TRUE(feed.ok()) << feed.status().message();
  EXPECT_EQ(feed->samples(), 5);
  EXPECT_EQ(feed->batch(), 4);
  ASSERT_TRUE(feed->feed(*executor, {4, 0, 0, 2}).ok());
  EXPECT_EQ(values<float>("x"),
            (std::vector<float>{12, 13, 14, 0, 1, 2, 0, 1, 2, 6, 7, 8}));
  EXPECT_EQ(values<float>("labels"), (std::vector<float>{4, 0, 0, 2}));
  EXPECT_EQ(values<int64_t>("ids"), (std::vector<int64_t>{-100, 9, 9, 7}));
}

TEST_F(BatchFeedTest, PadsAPartialBatchWithoutWeight) {
  auto feed = open("eval");
  ASSERT_TRUE(feed.ok()) << feed.status().message();
  ASSERT_TRUE(feed->feed(*executor, {0, 1, 2, 3}).ok());
  EXPECT_EQ(values<float>("sample_weight"), (std::vector<float>{1, 1, 1, 1}));
  ASSERT_TRUE(feed->feed(*executor, {5, 4}).ok());
  EXPECT_EQ(values<float>("sample_weight"), (std::vector<float>{1, 1, 0, 0}));
  std::vector<float> x = values<float>("x");
  EXPECT_EQ(x[0], 5.0f / 7);
  for (size_t i = 6; i < 12; ++i)
    EXPECT_EQ(x[i], 0) << i;
}

TEST_F(BatchFeedTest, FindsSamplesInAnyDim) {
  // x [3, 4] with the samples second, as the model has it.
  plan::Program &eval = *manifest.mutable_roles(0)->mutable_programs(2);
  auto *dims = eval.mutable_buffers(eval.inputs(0).buffer())
                   ->mutable_type()
                   ->mutable_dims();
  dims->Set(0, 3);
  dims->Set(1, 4);
  eval.mutable_inputs(0)->set_batch_dim(1);
  eval.mutable_instructions(0)->mutable_library()->add_attributes()->set_name(
      "transpose_lhs");
  const std::vector<float> expected = {1, 0, 0, 0, 11, 10, 0, 0, 21, 20, 0, 0};
  writeNpy(folder.path("data/labels.npy"), {2, 1}, std::vector<float>{0, 0});
  writeNpy(folder.path("data/x.npy"), {3, 2},
           std::vector<float>{0, 1, 10, 11, 20, 21});
  auto asInModel = open("eval", {SampleAxis::Program, false});
  ASSERT_TRUE(asInModel.ok()) << asInModel.status().message();
  ASSERT_TRUE(asInModel->feed(*executor, {1, 0}).ok());
  EXPECT_EQ(values<float>("x"), expected);
  writeNpy(folder.path("data/x.npy"), {2, 3},
           std::vector<float>{0, 10, 20, 1, 11, 21});
  auto first = open("eval", {SampleAxis::First, false});
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_TRUE(first->feed(*executor, {1, 0}).ok());
  EXPECT_EQ(values<float>("x"), expected);
}

TEST_F(BatchFeedTest, FeedsWholeWhatCountsNoSamples) {
  plan::Input *ids =
      manifest.mutable_roles(0)->mutable_programs(1)->mutable_inputs(2);
  ASSERT_EQ(ids->name(), "ids");
  ids->set_batch_dim(-1);
  expectRefused("'ids' is int64 [6]; expected any integers, as int64 [4]");
  writeNpy(folder.path("data/ids.npy"), {4}, std::vector<int64_t>{1, 2, 3, 4});
  auto feed = open("step");
  ASSERT_TRUE(feed.ok()) << feed.status().message();
  ASSERT_TRUE(feed->feed(*executor, {5, 5, 5, 5}).ok());
  EXPECT_EQ(values<int64_t>("ids"), (std::vector<int64_t>{1, 2, 3, 4}));
}

TEST_F(BatchFeedTest, FeedsEachRankItsTokens) {
  // Three ranks have a column of labels [N, 3] each.
  plan::Program step = manifest.roles(0).programs(1);
  plan::Input *labels = step.mutable_inputs(1);
  ASSERT_EQ(labels->name(), "labels");
  labels->mutable_sharding()->add_dims();
  labels->mutable_sharding()->add_dims()->add_axes("sp");
  labels->add_whole_dims(4);
  labels->add_whole_dims(3);
  plan::Setting *axis = manifest.add_mesh();
  axis->set_name("sp");
  axis->set_value("3");
  writeNpy(folder.path("data/labels.npy"), {6, 3},
           std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                              15, 16, 17});
  auto file = std::make_shared<DataFile>(
      std::move(*DataFile::open(folder.path("data"))));
  Result<Mesh> mesh = Mesh::of(manifest);
  ASSERT_TRUE(mesh.ok()) << mesh.status().message();
  for (int64_t rank = 0; rank < 3; ++rank) {
    auto feed = BatchFeed::create(step, file, {}, *mesh, rank);
    ASSERT_TRUE(feed.ok()) << feed.status().message();
    ASSERT_TRUE(feed->read(0, {5, 0, 2, 1}).ok());
    auto *own = reinterpret_cast<const float *>(feed->labels()->data);
    EXPECT_EQ(std::vector<float>(own, own + 4),
              (std::vector<float>{15.f + float(rank), 0.f + float(rank),
                                  6.f + float(rank), 3.f + float(rank)}));
  }
}

TEST_F(BatchFeedTest, NamesEverythingThatIsWrong) {
  writeNpy(folder.path("data/x.npy"), {6, 2}, std::vector<float>(12));
  writeNpy(folder.path("data/ids.npy"), {6}, std::vector<float>(6));
  std::filesystem::remove(folder.path("data/labels.npy"));
  expectRefused("'x' is float32 [6, 2]; expected float32 [N, 3]");
  expectRefused("'ids' is float32 [6]; expected any integers, as int64 [N]");
  expectRefused("lacks the input 'labels'; it has 'ids', 'x'");
}

TEST_F(BatchFeedTest, LabelsMayMissWhereNothingIsLearnt) {
  std::filesystem::remove(folder.path("data/labels.npy"));
  auto feed = open("eval", {SampleAxis::Program, /*labelsMayMiss=*/true});
  ASSERT_TRUE(feed.ok()) << feed.status().message();
  ASSERT_TRUE(feed->feed(*executor, {0}).ok());
  EXPECT_EQ(values<float>("labels"), std::vector<float>(4));
}

TEST_F(BatchFeedTest, RefusesUnequalAndNoSamples) {
  writeNpy(folder.path("data/ids.npy"), {5}, std::vector<int64_t>(5));
  expectRefused("'ids' has 5 samples, 'x' has 6");
  writeTinyData(folder.path("data"), 0);
  expectRefused("has no samples");
}

TEST_F(BatchFeedTest, NamesTheSampleWhoseValueIsBad) {
  for (int64_t bad : {int64_t(10), int64_t(-1), INT64_MAX}) {
    writeNpy(folder.path("data/ids.npy"), {6},
             std::vector<int64_t>{0, -100, 9, bad, 0, 0});
    auto feed = open("step");
    ASSERT_TRUE(feed.ok()) << feed.status().message();
    EXPECT_TRUE(feed->feed(*executor, {0, 1, 2, 4}).ok());
    Status status = feed->feed(*executor, {2, 3, 0, 0});
    EXPECT_NE(status.message().find("'ids', sample 3: the value " +
                                    std::to_string(bad) +
                                    " is out of range; expected 0 to 9, or "
                                    "-100 to ignore it"),
              std::string::npos)
        << status.message();
  }
}

} // namespace
} // namespace zc
