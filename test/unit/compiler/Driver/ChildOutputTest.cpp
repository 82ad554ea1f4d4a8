#include "compiler/Driver/ChildOutput.h"
#include "runtime/Base/File.h"
#include "runtime/Base/Temporaries.h"

#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

namespace zc {
namespace {

class ChildOutput : public testing::Test {
protected:
  void SetUp() override {
    Result<std::string> made = makeTemporaryFolder("zc-output");
    ASSERT_TRUE(made.ok());
    folder = *made;
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  Status run(const std::string &script, const std::string &output) {
    return runToFiles("/bin/sh", {"-c", script}, output, folder + "/messages");
  }
  static std::string textOf(const std::string &file) {
    Result<std::string> text = readFile(file, 1 << 20);
    return text.ok() ? *text : text.status().message();
  }

  std::string folder;
};

/// zc plan --calibrate reads what a program of each round writes to one file.
TEST_F(ChildOutput, AShorterOutputTakesThePlaceOfALongerOne) {
  const std::string output = folder + "/output";
  for (const char *text : {"a long one", "short", "of the middle"}) {
    ASSERT_TRUE(run(std::string("printf '%s' '") + text + "'", output).ok());
    EXPECT_EQ(textOf(output), text);
  }
}

TEST_F(ChildOutput, AFailureSaysWhatTheLastProgramSaid) {
  EXPECT_FALSE(run("echo a long complaint >&2; exit 1", "").ok());
  const Status status = run("echo no >&2; exit 3", "");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("failed: no\n"), std::string::npos)
      << status.message();
  EXPECT_FALSE(runToFiles(folder + "/none", {"x"}, "", folder + "/m").ok());
}

} // namespace
} // namespace zc
