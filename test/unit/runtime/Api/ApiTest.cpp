// libzc.so by its C functions, on an artifact of a linear model: what it
// refuses, and what it computes.
#include "runtime/Api/zc.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace zc {
namespace {

using namespace test;

// Programs that were built with version 1.0 rely on these; later fields come
// behind them.
static_assert(offsetof(zc_open_options, seed) == 8 &&
              offsetof(zc_open_options, threads) == 16 &&
              offsetof(zc_open_options, offload_dir) == 24 &&
              offsetof(zc_open_options, log) == 32 &&
              offsetof(zc_open_options, log_context) == 40 &&
              offsetof(zc_open_options, transport) == 64 &&
              offsetof(zc_open_options, later) == 72);
static_assert(offsetof(zc_tensor_info, name) == 8 &&
              offsetof(zc_tensor_info, dims) == 16 &&
              offsetof(zc_tensor_info, rank) == 24 &&
              offsetof(zc_tensor_info, type) == 28 &&
              offsetof(zc_tensor_info, kind) == 32 &&
              offsetof(zc_tensor_info, batch_dim) == 36);

struct Given {
  std::vector<float> x = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
  std::vector<float> labels = {0.5f, -1, 2, 1.5f};
  std::vector<int64_t> ids = {0, 1, 2, -100};
};

class Api : public ::testing::Test {
protected:
  void SetUp() override {
    path = folder.path("tiny.zca");
    writeArtifact(path, tinyManifest());
    ASSERT_EQ(zc_open(path.c_str(), nullptr, &session), ZC_OK)
        << zc_last_error(session);
  }
  void TearDown() override { zc_close(&session); }

  void setAll(zc_session *to, const Given &from) {
    const int64_t x[] = {4, 3}, labels[] = {4, 1}, ids[] = {4};
    EXPECT_EQ(zc_set_input(to, "x", ZC_FLOAT32, 2, x, from.x.data()), ZC_OK);
    EXPECT_EQ(
        zc_set_input(to, "labels", ZC_FLOAT32, 2, labels, from.labels.data()),
        ZC_OK);
    EXPECT_EQ(zc_set_input(to, "ids", ZC_INT64, 1, ids, from.ids.data()),
              ZC_OK);
  }
  std::vector<float> weights(zc_session *of) {
    std::vector<float> w(3);
    EXPECT_EQ(zc_get_state(of, "w", w.data(), 12), ZC_OK) << zc_last_error(of);
    return w;
  }
  double metric(zc_session *of, const char *name) {
    double value = NAN;
    EXPECT_EQ(zc_metric(of, name, &value), ZC_OK) << zc_last_error(of);
    return value;
  }
  /// The text of the session's last failure.
  std::string error() const { return zc_last_error(session); }

  TemporaryFolder folder;
  std::string path;
  zc_session *session = nullptr;
  const Given given;
};

TEST_F(Api, TellsItsVersion) {
  EXPECT_EQ(zc_api_version(), uint32_t(ZC_API_MAJOR << 16 | ZC_API_MINOR));
  EXPECT_STREQ(zc_version(), ZC_TEST_VERSION);
  EXPECT_STREQ(zc_status_name(ZC_NOT_FINITE), "ZC_NOT_FINITE");
  EXPECT_STREQ(zc_status_name(zc_status(77)), "unknown");
}

TEST_F(Api, TellsWhatItWants) {
  ASSERT_EQ(zc_input_count(session), 3u);
  EXPECT_EQ(zc_batch(session), 4);
  zc_tensor_info info = ZC_TENSOR_INFO_INIT;
  ASSERT_EQ(zc_input_info(session, 1, &info), ZC_OK);
  EXPECT_STREQ(info.name, "labels");
  EXPECT_EQ(info.type, ZC_FLOAT32);
  EXPECT_EQ(info.kind, ZC_LABEL);
  EXPECT_EQ(info.batch_dim, 0);
  ASSERT_EQ(info.rank, 2);
  EXPECT_EQ(info.dims[0], 4);
  EXPECT_EQ(info.dims[1], 1);
  EXPECT_EQ(zc_input_info(session, 3, &info), ZC_NOT_FOUND);
  EXPECT_EQ(zc_input_info(session, 0, nullptr), ZC_INVALID_ARGUMENT);
  info.size = 8;
  EXPECT_EQ(zc_input_info(session, 0, &info), ZC_INVALID_ARGUMENT);
  EXPECT_NE(error().find("ZC_TENSOR_INFO_INIT"), std::string::npos);
}

/// A caller that was built with a later version has more fields.
TEST_F(Api, LeavesLaterFieldsAlone) {
  struct {
    zc_tensor_info info = ZC_TENSOR_INFO_INIT;
    uint64_t later = 77;
  } mine;
  mine.info.size = sizeof(mine);
  ASSERT_EQ(zc_input_info(session, 0, &mine.info), ZC_OK);
  EXPECT_STREQ(mine.info.name, "x");
  EXPECT_EQ(mine.info.size, sizeof(mine));
  EXPECT_EQ(mine.later, 77u);
}

TEST_F(Api, DoesAStep) {
  setAll(session, given);
  EXPECT_EQ(zc_metric_count(session), 0u);
  ASSERT_EQ(zc_set_learning_rate(session, 0.5), ZC_OK);
  EXPECT_EQ(zc_learning_rate(session), 0.5);
  const std::vector<float> before = weights(session);
  ASSERT_EQ(zc_step(session), ZC_OK) << error();
  EXPECT_EQ(zc_steps_done(session), 1);
  const double first = metric(session, "loss");
  EXPECT_NE(weights(session), before);
  ASSERT_EQ(zc_metric_count(session), 1u);
  EXPECT_STREQ(zc_metric_name(session, 0), "loss");
  EXPECT_EQ(zc_metric_name(session, 1), nullptr);
  ASSERT_EQ(zc_step(session), ZC_OK);
  EXPECT_LT(metric(session, "loss"), first);
}

TEST_F(Api, BorrowedMemoryMayChangeBetweenSteps) {
  Given mine;
  setAll(session, mine);
  ASSERT_EQ(zc_set_learning_rate(session, 0), ZC_OK);
  ASSERT_EQ(zc_step(session), ZC_OK);
  const double before = metric(session, "loss");
  for (float &label : mine.labels)
    label += 10;
  ASSERT_EQ(zc_step(session), ZC_OK);
  EXPECT_GT(metric(session, "loss"), 2 * before);
}

TEST_F(Api, CopiedMemoryIsFreeAtOnce) {
  setAll(session, given);
  ASSERT_EQ(zc_set_learning_rate(session, 0), ZC_OK);
  ASSERT_EQ(zc_step(session), ZC_OK);
  const double loss = metric(session, "loss");
  std::vector<float> labels = given.labels;
  const int64_t dims[] = {4, 1};
  ASSERT_EQ(
      zc_copy_input(session, "labels", ZC_FLOAT32, 2, dims, labels.data()),
      ZC_OK);
  labels.assign(4, 100);
  ASSERT_EQ(zc_step(session), ZC_OK);
  EXPECT_EQ(metric(session, "loss"), loss);
}

/// As --data: integers of any width for integers, double for float.
TEST_F(Api, ConvertsAsDataFilesAre) {
  setAll(session, given);
  ASSERT_EQ(zc_set_learning_rate(session, 0), ZC_OK);
  ASSERT_EQ(zc_step(session), ZC_OK);
  const double loss = metric(session, "loss");
  const std::vector<double> x(given.x.begin(), given.x.end());
  const std::vector<int16_t> ids(given.ids.begin(), given.ids.end());
  const int64_t xDims[] = {4, 3}, idsDims[] = {4};
  ASSERT_EQ(zc_set_input(session, "x", ZC_FLOAT64, 2, xDims, x.data()), ZC_OK)
      << error();
  ASSERT_EQ(zc_set_input(session, "ids", ZC_INT16, 1, idsDims, ids.data()),
            ZC_OK)
      << error();
  ASSERT_EQ(zc_step(session), ZC_OK) << error();
  EXPECT_EQ(metric(session, "loss"), loss);
}

TEST_F(Api, RefusesWrongInputs) {
  const int64_t good[] = {4, 3}, bad[] = {4, 2}, huge[] = {1ll << 62, 3};
  const float *x = given.x.data();
  EXPECT_EQ(zc_set_input(session, "y", ZC_FLOAT32, 2, good, x), ZC_NOT_FOUND);
  EXPECT_NE(error().find("'x', 'labels', 'ids'"), std::string::npos) << error();
  EXPECT_EQ(zc_set_input(session, "x", ZC_FLOAT32, 2, bad, x),
            ZC_INVALID_ARGUMENT);
  EXPECT_NE(error().find("[4, 2]; expected float32 [N, 3]"), std::string::npos)
      << error();
  EXPECT_EQ(zc_set_input(session, "x", ZC_INT32, 2, good, x),
            ZC_INVALID_ARGUMENT);
  EXPECT_EQ(zc_set_input(session, "x", ZC_BFLOAT16, 2, good, x),
            ZC_INVALID_ARGUMENT);
  EXPECT_EQ(zc_set_input(session, "x", zc_type(99), 2, good, x),
            ZC_INVALID_ARGUMENT);
  EXPECT_EQ(zc_set_input(session, "x", ZC_FLOAT32, -1, good, x),
            ZC_INVALID_ARGUMENT);
  EXPECT_EQ(zc_set_input(session, "x", ZC_FLOAT32, 2, nullptr, x),
            ZC_INVALID_ARGUMENT);
  EXPECT_EQ(zc_set_input(session, "x", ZC_FLOAT32, 2, good, nullptr),
            ZC_INVALID_ARGUMENT);
  EXPECT_EQ(zc_copy_input(session, "x", ZC_FLOAT32, 2, huge, x),
            ZC_INVALID_ARGUMENT);
  EXPECT_EQ(zc_set_input(session, nullptr, ZC_FLOAT32, 2, good, x),
            ZC_INVALID_ARGUMENT);
  EXPECT_EQ(zc_step(session), ZC_INVALID_ARGUMENT);
  EXPECT_NE(error().find("the input 'x' was not set"), std::string::npos)
      << error();
}

TEST_F(Api, AStepTakesAWholeBatch) {
  setAll(session, given);
  const int64_t dims[] = {3, 3};
  ASSERT_EQ(zc_set_input(session, "x", ZC_FLOAT32, 2, dims, given.x.data()),
            ZC_OK);
  EXPECT_EQ(zc_step(session), ZC_INVALID_ARGUMENT);
  EXPECT_NE(error().find("has 4 samples, 'x' has 3"), std::string::npos)
      << error();
  EXPECT_EQ(zc_steps_done(session), 0);
}

TEST_F(Api, AStepThatIsRefusedChangesNothing) {
  Given mine;
  mine.ids[2] = 10;
  setAll(session, mine);
  const std::vector<float> before = weights(session);
  EXPECT_EQ(zc_step(session), ZC_INVALID_ARGUMENT);
  EXPECT_NE(error().find("the value 10 is out of range"), std::string::npos)
      << error();
  EXPECT_EQ(weights(session), before);
  EXPECT_EQ(zc_steps_done(session), 0);
  mine.ids[2] = 9;
  EXPECT_EQ(zc_step(session), ZC_OK) << error();
}

TEST_F(Api, TellsOfALossThatIsNoNumber) {
  Given mine;
  mine.x[0] = std::numeric_limits<float>::infinity();
  setAll(session, mine);
  EXPECT_EQ(zc_step(session), ZC_NOT_FINITE);
  EXPECT_NE(error().find("step 1: the loss is"), std::string::npos) << error();
  EXPECT_EQ(zc_steps_done(session), 1);
  EXPECT_FALSE(std::isfinite(metric(session, "loss")));
}

TEST_F(Api, RefusesWrongNumbers) {
  for (double rate : {-1.0, double(NAN), double(INFINITY), 1e300})
    EXPECT_EQ(zc_set_learning_rate(session, rate), ZC_INVALID_ARGUMENT) << rate;
  EXPECT_EQ(zc_set_setting(session, "weight-decay", 0.5), ZC_INVALID_ARGUMENT);
  EXPECT_NE(error().find("weight-decay"), std::string::npos);
  EXPECT_EQ(zc_set_setting(session, "none", 1), ZC_INVALID_ARGUMENT);
  EXPECT_NE(error().find("no setting 'none'; there are 'beta1'"),
            std::string::npos)
      << error();
  for (double decay : {1.0, 2.0, -0.5, double(NAN)}) {
    EXPECT_EQ(zc_set_setting(session, "beta1", decay), ZC_INVALID_ARGUMENT);
    EXPECT_NE(error().find("at least 0 and below 1"), std::string::npos)
        << error();
  }
  double value = 5;
  EXPECT_EQ(zc_metric(session, "loss", &value), ZC_NOT_FOUND);
  EXPECT_EQ(value, 5);
}

TEST_F(Api, EvaluatesAnyNumberOfSamples) {
  EXPECT_EQ(zc_output_data(session, "pred/out"), nullptr);
  ASSERT_EQ(zc_output_count(session), 1u);
  zc_tensor_info info = ZC_TENSOR_INFO_INIT;
  ASSERT_EQ(zc_output_info(session, 0, &info), ZC_OK);
  EXPECT_EQ(info.dims[0], 0);
  // w = 1, 2, 3: the sums of each sample's x times that.
  const std::vector<float> x = {1, 0, 0, 0, 1, 0, 0, 0, 1,
                                1, 1, 1, 2, 0, 0, 0, 2, 0};
  const std::vector<float> expected = {1, 2, 3, 6, 2, 4};
  const int64_t dims[] = {6, 3}, labelDims[] = {6, 1};
  ASSERT_EQ(zc_set_input(session, "x", ZC_FLOAT32, 2, dims, x.data()), ZC_OK);
  ASSERT_EQ(zc_eval(session), ZC_OK) << error();
  double loss = 0;
  EXPECT_EQ(zc_metric(session, "eval_loss", &loss), ZC_NOT_FOUND)
      << "there are no labels";
  auto *output =
      static_cast<const float *>(zc_output_data(session, "pred/out"));
  ASSERT_NE(output, nullptr);
  EXPECT_EQ(std::vector<float>(output, output + 6), expected);
  ASSERT_EQ(zc_output_info(session, 0, &info), ZC_OK);
  EXPECT_EQ(info.dims[0], 6);
  // Labels that are right, but for the last, which is wrong by 3.
  std::vector<float> labels = expected;
  labels.back() += 3;
  ASSERT_EQ(
      zc_set_input(session, "labels", ZC_FLOAT32, 2, labelDims, labels.data()),
      ZC_OK);
  ASSERT_EQ(zc_eval(session), ZC_OK) << error();
  EXPECT_NEAR(metric(session, "eval_loss"), 9.0 / 6, 1e-6);
  EXPECT_EQ(zc_clear_input(session, "none"), ZC_NOT_FOUND);
  ASSERT_EQ(zc_clear_input(session, "labels"), ZC_OK);
  ASSERT_EQ(zc_clear_input(session, "labels"), ZC_OK) << "there is none";
  ASSERT_EQ(zc_eval(session), ZC_OK) << error();
  EXPECT_EQ(zc_metric(session, "eval_loss", &loss), ZC_NOT_FOUND);
  EXPECT_EQ(zc_output_data(session, "pred"), nullptr);
}

TEST_F(Api, StatesByName) {
  zc_tensor_info info = ZC_TENSOR_INFO_INIT;
  ASSERT_EQ(zc_find_state(session, "w", &info), ZC_OK) << error();
  EXPECT_EQ(info.kind, ZC_PARAMETER);
  EXPECT_EQ(info.rank, 2);
  EXPECT_EQ(weights(session), std::vector<float>({1, 2, 3}));
  const float values[] = {4, 5, 6};
  EXPECT_EQ(zc_set_state(session, "w", values, 12), ZC_OK);
  EXPECT_EQ(weights(session), std::vector<float>({4, 5, 6}));
  EXPECT_EQ(zc_set_state(session, "w", values, 8), ZC_INVALID_ARGUMENT);
  EXPECT_NE(error().find("12 bytes; 8 were given"), std::string::npos)
      << error();
  EXPECT_EQ(zc_get_state(session, "v", nullptr, 0), ZC_INVALID_ARGUMENT);
  float out[3];
  EXPECT_EQ(zc_get_state(session, "v", out, 12), ZC_NOT_FOUND);
  const float wrong[] = {1, NAN, 3};
  EXPECT_EQ(zc_set_state(session, "w", wrong, 12), ZC_INVALID_ARGUMENT);
  EXPECT_EQ(weights(session), std::vector<float>({4, 5, 6}));
  ASSERT_EQ(zc_state_count(session), 2u);
  ASSERT_EQ(zc_state_info(session, 1, &info), ZC_OK);
  EXPECT_EQ(info.kind, ZC_OPTIMIZER_STATE);
  EXPECT_EQ(zc_state_info(session, 2, &info), ZC_NOT_FOUND);
}

TEST_F(Api, GoesOnFromACheckpoint) {
  const std::string place = folder.path("ckpt");
  setAll(session, given);
  zc_set_learning_rate(session, 0.125);
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(zc_step(session), ZC_OK);
  ASSERT_EQ(zc_save(session, place.c_str(), 0), ZC_OK) << error();
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(zc_step(session), ZC_OK);
  const std::vector<float> straight = weights(session);
  ASSERT_EQ(zc_resume(session, (place + "/step-2").c_str()), ZC_OK) << error();
  EXPECT_EQ(zc_steps_done(session), 2);
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(zc_step(session), ZC_OK);
  EXPECT_EQ(weights(session), straight);
  ASSERT_EQ(zc_save(session, place.c_str(), 1), ZC_OK) << error();
  EXPECT_EQ(zc_resume(session, (place + "/step-2").c_str()), ZC_NOT_FOUND)
      << "one is kept";
}

TEST_F(Api, SavesInTwoFoldersByTurns) {
  const std::string best = folder.path("best"), last = folder.path("last");
  setAll(session, given);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(zc_step(session), ZC_OK);
    EXPECT_EQ(zc_save(session, last.c_str(), 1), ZC_OK) << error();
    EXPECT_EQ(zc_save(session, best.c_str(), 1), ZC_OK) << error();
  }
  EXPECT_EQ(zc_resume(session, (last + "/step-3").c_str()), ZC_OK) << error();
}

TEST_F(Api, RefusesFoldersOfOthers) {
  const std::string place = folder.path("ckpt");
  setAll(session, given);
  ASSERT_EQ(zc_step(session), ZC_OK);
  ASSERT_EQ(zc_save(session, place.c_str(), 0), ZC_OK) << error();
  EXPECT_EQ(zc_save(session, place.c_str(), -1), ZC_INVALID_ARGUMENT);
  zc_session *other = nullptr;
  ASSERT_EQ(zc_open(path.c_str(), nullptr, &other), ZC_OK);
  EXPECT_EQ(zc_save(other, place.c_str(), 0), ZC_INVALID_ARGUMENT);
  EXPECT_NE(std::string(zc_last_error(other)).find("of another run"),
            std::string::npos);
  EXPECT_EQ(zc_resume(other, folder.path("none").c_str()), ZC_NOT_FOUND);
  zc_close(&other);
}

TEST_F(Api, WeightsGoToAFileAndComeBack) {
  const std::string file = folder.path("w.safetensors");
  const float values[] = {4, 5, 6};
  ASSERT_EQ(zc_set_state(session, "w", values, 12), ZC_OK);
  ASSERT_EQ(zc_export_weights(session, file.c_str()), ZC_OK) << error();
  zc_session *other = nullptr;
  ASSERT_EQ(zc_open(path.c_str(), nullptr, &other), ZC_OK);
  EXPECT_EQ(zc_load_weights(other, file.c_str()), ZC_OK)
      << zc_last_error(other);
  EXPECT_EQ(weights(other), std::vector<float>({4, 5, 6}));
  zc_close(&other);
  EXPECT_EQ(zc_export_weights(session, path.c_str()), ZC_INVALID_ARGUMENT)
      << "it would destroy the artifact";
  EXPECT_EQ(zc_export_weights(session, folder.path("no/w").c_str()),
            ZC_NOT_FOUND);
}

} // namespace
} // namespace zc
