// A rank of a middle role that is killed, or stands still, while it computes a
// forward, a backward or the update: the others end in time and name it.
#include "test/unit/runtime/Exec/Chain.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <chrono>
#include <cstdio>
#include <gtest/gtest.h>

namespace zc {
namespace {

using namespace test;

class Strike
    : public ::testing::TestWithParam<std::tuple<const char *, const char *>> {
};
INSTANTIATE_TEST_SUITE_P(
    All, Strike,
    ::testing::Combine(::testing::Values("forward", "backward", "apply"),
                       ::testing::Values("kill", "stop")),
    [](const auto &info) {
      return std::string(std::get<0>(info.param)) + "_" +
             std::get<1>(info.param);
    });

TEST_P(Strike, EndsTheOthersInTime) {
  auto [program, how] = GetParam();
  TemporaryFolder folder;
  ASSERT_TRUE(writeChain(folder.path("a.zca"), 3, 4, "1f1b").ok());
  // The last line ends what stands still.
  const std::string command = strCat(
      "cd '", folder.path(""),
      "'; for r in 0 1 2; do RANK=$r WORLD_SIZE=3 "
      "ZC_RENDEZVOUS_FILE=meet timeout -k 1 60 '" ZC_TEST_STRIKE "' a.zca ",
      program, " ", how,
      " > said$r 2>&1 & eval p$r=$!; done; wait $p0; wait "
      "$p2; pkill -9 -P $p1; wait $p1");
  const auto begin = std::chrono::steady_clock::now();
  const int code = std::system(strCat("( ", command, " ) 2>/dev/null").c_str());
  const std::chrono::duration<double> time =
      std::chrono::steady_clock::now() - begin;
  EXPECT_NE(code, -1);
  const std::string said =
      readWhole(folder.path("said0")) + readWhole(folder.path("said2"));
  EXPECT_LT(time.count(), 20) << said;
  EXPECT_NE(said.find("rank 1"), std::string::npos) << said;
  EXPECT_EQ(said.find("well"), std::string::npos) << said;
}

} // namespace
} // namespace zc
