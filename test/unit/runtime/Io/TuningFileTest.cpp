#include "runtime/Io/TuningFile.h"
#include "runtime/Base/File.h"

#include <gtest/gtest.h>

namespace zc {
namespace {

class TuningFileTest : public ::testing::Test {
protected:
  void SetUp() override {
    auto made = makeTemporaryFolder("zc-tuning-test-");
    ASSERT_TRUE(made.ok()) << made.status().message();
    folder = *made;
    path = folder + "/below/tune.json";
  }
  void TearDown() override { removeAll(folder); }

  void write(const std::string &text) {
    ASSERT_TRUE(makeDirectories(folder + "/below").ok());
    ASSERT_TRUE(writeFile(path, text).ok());
  }
  std::string refusal() {
    size_t unknown = 0;
    auto table = readTuningFile(path, unknown);
    return table.ok() ? "" : table.status().message();
  }

  std::string folder, path;
};

TEST_F(TuningFileTest, AddsToWhatIsThere) {
  size_t unknown = 0;
  ASSERT_TRUE(readTuningFile(path, unknown)->empty());
  ASSERT_TRUE(
      addToTuningFile(path, {{"a", {"tiles", {{"tiles", 1e-3}}}}}).ok());
  ASSERT_TRUE(addToTuningFile(path, {{"b", {"rule", {}}}}).ok());
  auto table = readTuningFile(path, unknown);
  ASSERT_TRUE(table.ok()) << table.status().message();
  ASSERT_EQ(table->size(), 2u);
  EXPECT_EQ(table->at("a").quickest, "tiles");
  ASSERT_EQ(table->at("a").seconds.size(), 1u);
  EXPECT_EQ(table->at("a").seconds[0].first, "tiles");
  EXPECT_DOUBLE_EQ(table->at("a").seconds[0].second, 1e-3);
  EXPECT_TRUE(table->at("b").seconds.empty());
  EXPECT_EQ(unknown, 0u);
}

TEST_F(TuningFileTest, RefusesOtherFiles) {
  for (const char *text :
       {"no JSON", "[]", "{\"step\": 1}", "{\"zc_tuning\":"}) {
    write(text);
    EXPECT_NE(refusal().find("is no tuning file, or damaged"),
              std::string::npos)
        << text << ": " << refusal();
    EXPECT_FALSE(addToTuningFile(path, {{"a", {"tiles", {}}}}).ok());
    EXPECT_EQ(*readFile(path, 100), text);
  }
  write("{\"zc_tuning\": 2, \"ways\": {}}");
  EXPECT_NE(refusal().find("another version"), std::string::npos) << refusal();
  write("{\"zc_tuning\": 1, \"ways\": []}");
  EXPECT_NE(refusal().find("it has no ways"), std::string::npos) << refusal();
}

TEST_F(TuningFileTest, LeavesOutEntriesThatAreNotKnown) {
  write("{\"zc_tuning\": 1, \"ways\": {\"a\": {\"way\": \"tiles\"}, \"b\": 3, "
        "\"c\": {\"way\": 1}, \"d\": {\"way\": \"x\", \"ms\": {\"x\": \"\"}}, "
        "\"e\": {\"way\": \"x\", \"ms\": 7}}}");
  size_t unknown = 0;
  auto table = readTuningFile(path, unknown);
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->size(), 1u);
  EXPECT_EQ(table->count("a"), 1u);
  EXPECT_EQ(unknown, 4u);
}

TEST_F(TuningFileTest, AnEmptyFileIsAnEmptyTable) {
  write("");
  EXPECT_EQ(refusal(), "");
  EXPECT_TRUE(addToTuningFile(path, {{"a", {"tiles", {}}}}).ok());
}

} // namespace
} // namespace zc
