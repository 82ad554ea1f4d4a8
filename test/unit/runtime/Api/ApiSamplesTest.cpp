// libzc.so's samples from files, which of them steps take, held-out samples,
// and what callers hear of it.
#include "runtime/Api/zc.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>

namespace zc {
namespace {

using namespace test;

/// The artifact takes 4 samples a step; the folder has 10.
class ApiSamples : public ::testing::Test {
protected:
  static constexpr int64_t kSamples = 10;

  void SetUp() override {
    path = folder.path("tiny.zca");
    writeArtifact(path, tinyManifest());
    data = folder.path("data");
    std::filesystem::create_directory(data);
    std::vector<float> labels;
    for (int64_t i = 0; i < kSamples; ++i) {
      for (int64_t j = 0; j < 3; ++j)
        x.push_back(float(i == j) + float(i) / 8);
      labels.push_back(float(i) / 4);
    }
    writeNpy(data + "/x.npy", {kSamples, 3}, x);
    writeNpy(data + "/labels.npy", {kSamples, 1}, labels);
    writeNpy(data + "/ids.npy", {kSamples},
             std::vector<int64_t>(size_t(kSamples), 1));
  }
  void TearDown() override { zc_close(&session); }

  void open(const zc_open_options *options = nullptr) {
    zc_close(&session);
    ASSERT_EQ(zc_open(path.c_str(), options, &session), ZC_OK) << error();
  }
  std::string error() const { return zc_last_error(session); }
  double metric(const char *name) {
    double value = NAN;
    EXPECT_EQ(zc_metric(session, name, &value), ZC_OK) << error();
    return value;
  }
  /// The loss of a step of these samples, by inputs that are set one by one.
  double lossOf(const std::vector<int64_t> &samples) {
    zc_session *other = nullptr;
    EXPECT_EQ(zc_open(path.c_str(), nullptr, &other), ZC_OK);
    std::vector<float> rows, labels;
    for (int64_t each : samples) {
      rows.insert(rows.end(), x.begin() + 3 * each, x.begin() + 3 * each + 3);
      labels.push_back(float(each) / 4);
    }
    const std::vector<int64_t> ids(samples.size(), 1);
    const auto count = int64_t(samples.size());
    const int64_t xDims[] = {count, 3}, labelDims[] = {count, 1},
                  idDims[] = {count};
    zc_set_input(other, "x", ZC_FLOAT32, 2, xDims, rows.data());
    zc_set_input(other, "labels", ZC_FLOAT32, 2, labelDims, labels.data());
    zc_set_input(other, "ids", ZC_INT64, 1, idDims, ids.data());
    double loss = NAN;
    EXPECT_EQ(zc_step(other), ZC_OK) << zc_last_error(other);
    zc_metric(other, "loss", &loss);
    zc_close(&other);
    return loss;
  }

  TemporaryFolder folder;
  std::string path, data;
  std::vector<float> x;
  zc_session *session = nullptr;
};

TEST_F(ApiSamples, StepsTakeThemInOrderOrAsSelected) {
  open();
  ASSERT_EQ(zc_set_data(session, data.c_str(), 0), ZC_OK) << error();
  EXPECT_EQ(zc_sample_count(session), kSamples);
  ASSERT_EQ(zc_set_learning_rate(session, 0), ZC_OK);
  const std::vector<std::vector<int64_t>> order = {
      {0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 0, 1}};
  for (const auto &samples : order) {
    ASSERT_EQ(zc_step(session), ZC_OK) << error();
    EXPECT_EQ(metric("loss"), lossOf(samples));
  }
  const int64_t selected[] = {9, 7, 5, 3, 1, 1, 2, 2};
  ASSERT_EQ(zc_select(session, selected, 8), ZC_OK) << error();
  ASSERT_EQ(zc_read_samples(session), ZC_OK) << error();
  for (int step = 0; step < 2; ++step) {
    ASSERT_EQ(zc_step(session), ZC_OK) << error();
    EXPECT_EQ(metric("loss"),
              lossOf({selected + 4 * step, selected + 4 * step + 4}));
  }
  // Behind the selection they follow as the number of the step says.
  ASSERT_EQ(zc_step(session), ZC_OK) << error();
  EXPECT_EQ(metric("loss"), lossOf({0, 1, 2, 3}));
}

TEST_F(ApiSamples, AreSelectedFromInputs) {
  open();
  const int64_t xDims[] = {kSamples, 3}, labelDims[] = {kSamples, 1},
                idDims[] = {kSamples};
  std::vector<float> labels(static_cast<size_t>(kSamples));
  for (size_t i = 0; i < labels.size(); ++i)
    labels[i] = float(i) / 4;
  const std::vector<int64_t> ids(size_t(kSamples), 1);
  zc_set_input(session, "x", ZC_FLOAT32, 2, xDims, x.data());
  zc_set_input(session, "labels", ZC_FLOAT32, 2, labelDims, labels.data());
  zc_set_input(session, "ids", ZC_INT64, 1, idDims, ids.data());
  EXPECT_EQ(zc_step(session), ZC_INVALID_ARGUMENT) << "10 are no batch";
  const int64_t selected[] = {8, 6, 4, 2};
  ASSERT_EQ(zc_select(session, selected, 4), ZC_OK) << error();
  ASSERT_EQ(zc_step(session), ZC_OK) << error();
  EXPECT_EQ(metric("loss"), lossOf({8, 6, 4, 2}));
  EXPECT_EQ(zc_step(session), ZC_INVALID_ARGUMENT) << "it is used up";
}

TEST_F(ApiSamples, RefuseWhatIsWrong) {
  open();
  EXPECT_EQ(zc_set_data(session, folder.path("none.npz").c_str(), 0),
            ZC_NOT_FOUND);
  EXPECT_NE(error().find("none.npz"), std::string::npos) << error();
  EXPECT_EQ(zc_set_data(session, data.c_str(), 8), ZC_INVALID_ARGUMENT);
  writeNpy(data + "/x.npy", {kSamples, 2}, std::vector<float>(20));
  EXPECT_EQ(zc_set_data(session, data.c_str(), 0), ZC_INVALID_ARGUMENT);
  EXPECT_NE(error().find("'x'"), std::string::npos) << error();
  EXPECT_EQ(zc_step(session), ZC_INVALID_ARGUMENT) << "there is no data";
  writeNpy(data + "/x.npy", {kSamples, 3}, x);
  ASSERT_EQ(zc_set_data(session, data.c_str(), 0), ZC_OK) << error();
  const int64_t wrong[] = {0, 1, 2, kSamples};
  EXPECT_EQ(zc_select(session, wrong, 4), ZC_INVALID_ARGUMENT);
  EXPECT_NE(error().find("there is no sample 10"), std::string::npos)
      << error();
  EXPECT_EQ(zc_select(session, wrong, 3), ZC_INVALID_ARGUMENT);
  EXPECT_EQ(zc_select(session, nullptr, 4), ZC_INVALID_ARGUMENT);
  EXPECT_EQ(zc_eval_data(session), ZC_INVALID_ARGUMENT) << "none were set";
  EXPECT_EQ(zc_set_eval_data(session, data.c_str(), 0, "top5,best"),
            ZC_INVALID_ARGUMENT);
  EXPECT_NE(error().find("'best'"), std::string::npos) << error();
  ASSERT_EQ(zc_set_data(session, nullptr, 0), ZC_OK);
  EXPECT_EQ(zc_sample_count(session), 0);
}

/// What is gone from a mapped file ends a process that reads it.
TEST_F(ApiSamples, OfAFileThatIsCutShortAreAnError) {
  const int64_t many = 10000;
  writeNpy(data + "/x.npy", {many, 3}, std::vector<float>(size_t(3 * many), 1));
  writeNpy(data + "/labels.npy", {many, 1}, std::vector<float>(size_t(many)));
  writeNpy(data + "/ids.npy", {many}, std::vector<int64_t>(size_t(many), 1));
  open();
  ASSERT_EQ(zc_set_data(session, data.c_str(), 0), ZC_OK) << error();
  ASSERT_EQ(zc_set_eval_data(session, data.c_str(), 0, nullptr), ZC_OK);
  ASSERT_EQ(zc_step(session), ZC_OK) << error();
  std::filesystem::resize_file(data + "/x.npy", 4096);
  // Files are looked at a hundred times a second.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const int64_t last[] = {many - 4, many - 3, many - 2, many - 1};
  ASSERT_EQ(zc_select(session, last, 4), ZC_OK) << error();
  EXPECT_EQ(zc_step(session), ZC_IO_ERROR);
  EXPECT_NE(error().find("x.npy' was cut short"), std::string::npos) << error();
  EXPECT_EQ(zc_eval_data(session), ZC_IO_ERROR);
  EXPECT_NE(error().find("x.npy' was cut short"), std::string::npos) << error();
  EXPECT_EQ(zc_steps_done(session), 1);
  writeNpy(data + "/x.npy", {many, 3}, std::vector<float>(size_t(3 * many), 1));
  ASSERT_EQ(zc_set_data(session, data.c_str(), 0), ZC_OK) << error();
  EXPECT_EQ(zc_step(session), ZC_OK) << error();
}

TEST_F(ApiSamples, AreHeldOut) {
  open();
  EXPECT_EQ(zc_set_eval_data(session, data.c_str(), 0, "mae"),
            ZC_INVALID_ARGUMENT)
      << "the artifact says of no loss that it has such";
  ASSERT_EQ(zc_set_eval_data(session, data.c_str(), 0, nullptr), ZC_OK)
      << error();
  ASSERT_EQ(zc_eval_data(session), ZC_OK) << error();
  // w = 1, 2, 3.
  double squares = 0;
  for (size_t i = 0; i < size_t(kSamples); ++i) {
    const double found = x[3 * i] + 2.0 * x[3 * i + 1] + 3.0 * x[3 * i + 2];
    squares += std::pow(found - double(i) / 4, 2);
  }
  EXPECT_NEAR(metric("eval_loss"), squares / double(kSamples), 1e-5);
  // Outputs are still there for who asks for them.
  const int64_t dims[] = {1, 3};
  ASSERT_EQ(zc_set_input(session, "x", ZC_FLOAT32, 2, dims, x.data()), ZC_OK);
  ASSERT_EQ(zc_eval(session), ZC_OK) << error();
  auto *output =
      static_cast<const float *>(zc_output_data(session, "pred/out"));
  ASSERT_NE(output, nullptr);
  EXPECT_EQ(output[0], 1.0f);
}

TEST_F(ApiSamples, MemoryComesLater) {
  zc_open_options options = ZC_OPEN_OPTIONS_INIT;
  options.later = 1;
  open(&options);
  EXPECT_EQ(zc_memory_bytes(session), 0u);
  EXPECT_EQ(zc_state_count(session), 0u);
  EXPECT_EQ(zc_input_count(session), 3u);
  ASSERT_EQ(zc_set_data(session, data.c_str(), 0), ZC_OK) << error();
  float w[3];
  EXPECT_EQ(zc_step(session), ZC_INVALID_ARGUMENT);
  EXPECT_NE(error().find("zc_prepare()"), std::string::npos) << error();
  EXPECT_EQ(zc_get_state(session, "w", w, 12), ZC_INVALID_ARGUMENT);
  EXPECT_EQ(zc_eval(session), ZC_INVALID_ARGUMENT);
  EXPECT_EQ(zc_resume(session, data.c_str()), ZC_INVALID_ARGUMENT);
  EXPECT_EQ(zc_set_seed(session, 1), ZC_INVALID_ARGUMENT);
  ASSERT_EQ(zc_prepare(session), ZC_OK) << error();
  EXPECT_GT(zc_memory_bytes(session), 0u);
  EXPECT_EQ(zc_sent_bytes(session), 0u);
  EXPECT_EQ(zc_step(session), ZC_OK) << error();
  EXPECT_EQ(zc_prepare(session), ZC_INVALID_ARGUMENT) << "twice";
}

struct Heard {
  std::vector<int64_t> steps, samples;
  int64_t stopAtStep = -1, stopAtSample = -1;
};

int32_t hear(void *context, zc_phase phase, int64_t done, int64_t total) {
  auto &heard = *static_cast<Heard *>(context);
  const bool isStep = phase == ZC_PHASE_STEP;
  (isStep ? heard.steps : heard.samples).push_back(done);
  EXPECT_EQ(total, isStep ? 0 : 10);
  return done == (isStep ? heard.stopAtStep : heard.stopAtSample) ? 7 : 0;
}

TEST_F(ApiSamples, AreHeardOfAndStopped) {
  Heard heard;
  zc_open_options options = ZC_OPEN_OPTIONS_INIT;
  options.progress = hear;
  options.progress_context = &heard;
  open(&options);
  ASSERT_EQ(zc_set_data(session, data.c_str(), 0), ZC_OK) << error();
  ASSERT_EQ(zc_set_eval_data(session, data.c_str(), 0, nullptr), ZC_OK);
  heard.stopAtStep = 2;
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(zc_step(session), ZC_OK) << error();
  EXPECT_EQ(zc_step(session), ZC_STOPPED);
  EXPECT_STREQ(zc_status_name(ZC_STOPPED), "ZC_STOPPED");
  EXPECT_EQ(zc_stopped_by(session), 7);
  EXPECT_EQ(zc_steps_done(session), 2);
  EXPECT_EQ(zc_step(session), ZC_OK) << "it goes on";
  EXPECT_EQ(heard.steps, std::vector<int64_t>({1, 2, 3}));
  ASSERT_EQ(zc_eval_data(session), ZC_OK) << error();
  EXPECT_EQ(heard.samples, std::vector<int64_t>({0, 4, 8}));
  heard.samples.clear();
  heard.stopAtSample = 4;
  EXPECT_EQ(zc_eval_data(session), ZC_STOPPED);
  EXPECT_EQ(heard.samples, std::vector<int64_t>({0, 4}));
  double value = 0;
  EXPECT_EQ(zc_metric(session, "eval_loss", &value), ZC_NOT_FOUND);
  EXPECT_EQ(zc_metric(session, "loss", &value), ZC_OK);
}

} // namespace
} // namespace zc
