// zc.hpp, alone: it knows nothing of the runtime's other classes.
#include "runtime/Api/zc.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

namespace {

const char *const kPath = ZC_TEST_TINY;

const std::vector<float> kX = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
const std::vector<float> kLabels = {0.5f, -1, 2, 1.5f};
const std::vector<int64_t> kIds = {0, 1, 2, 3};

void setAll(zc::Session &session) {
  session.setInput("x", {4, 3}, kX.data());
  session.setInput("labels", {4, 1}, kLabels.data());
  session.copyInput("ids", {4}, kIds.data());
}

TEST(ApiWrapper, Trains) {
  zc::Session session(kPath);
  ASSERT_EQ(session.inputs().size(), 3u);
  EXPECT_EQ(session.inputs()[2].name, "ids");
  EXPECT_EQ(session.inputs()[2].type, ZC_INT64);
  EXPECT_EQ(session.batch(), 4);
  setAll(session);
  session.setLearningRate(0.125);
  const double first = session.step();
  EXPECT_LT(session.step(), first);
  EXPECT_EQ(session.stepsDone(), 2);
  zc::Session moved = std::move(session);
  EXPECT_LT(moved.step(), first);
}

TEST(ApiWrapper, KnowsItsRank) {
  for (const char *name : {"RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE",
                           "PMIX_RANK", "PMI_SIZE", "SLURM_PROCID"})
    ::unsetenv(name);
  zc::Options options;
  options.byLauncher = true; // none has started this: it is alone
  zc::Session session(kPath, options);
  EXPECT_EQ(session.rank(), 0);
  EXPECT_EQ(session.ranks(), 1);
  EXPECT_EQ(session.rankBatch(), session.batch());
  options.transport = zc_transport{};
  EXPECT_THROW(zc::Session(kPath, options), zc::Error);
}

TEST(ApiWrapper, EvaluatesAndHoldsStates) {
  zc::Session session(kPath);
  setAll(session);
  session.setState<float>("w", {1, 10, 100});
  EXPECT_EQ(session.getState<float>("w"), std::vector<float>({1, 10, 100}));
  EXPECT_EQ(session.state("w").count(), 3);
  session.evaluate();
  auto *output = static_cast<const float *>(session.output("pred/out"));
  EXPECT_EQ(std::vector<float>(output, output + 4),
            std::vector<float>({1, 10, 100, 111}));
  EXPECT_EQ(session.outputs()[0].dims, std::vector<int64_t>({4, 1}));
}

TEST(ApiWrapper, Throws) {
  try {
    zc::Session session("none.zca");
    FAIL() << "it was opened";
  } catch (const zc::Error &error) {
    EXPECT_EQ(error.status(), ZC_NOT_FOUND);
    EXPECT_NE(std::string(error.what()).find("none.zca"), std::string::npos);
  }
  zc::Session session(kPath);
  EXPECT_THROW(session.step(), zc::Error);
  EXPECT_THROW(session.getState<float>("v"), zc::Error);
  EXPECT_THROW(session.getState<double>("w"), zc::Error);
  EXPECT_THROW(session.output("pred/out"), zc::Error);
}

} // namespace
