#include "runtime/Base/InputFiles.h"
#include "runtime/Base/File.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <filesystem>
#include <gtest/gtest.h>

namespace zc {
namespace {

namespace fs = std::filesystem;

class Inputs : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(writeFile(folder.path("in"), "kept").ok());
    inputs.add(folder.path("in"));
  }

  test::TemporaryFolder folder;
  InputFiles inputs;
};

TEST_F(Inputs, AreRefusedAsOutputs) {
  Status status = inputs.check("--log", folder.path("in"));
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_NE(status.message().find("--log '"), std::string::npos);
  EXPECT_TRUE(inputs.check("--log", folder.path("out")).ok());
  EXPECT_TRUE(inputs.check("--log", "").ok());
}

TEST_F(Inputs, AreTheSameFileUnderEveryName) {
  fs::create_symlink("in", folder.path("soft"));
  fs::create_hard_link(folder.path("in"), folder.path("hard"));
  fs::create_directory(folder.path("sub"));
  for (const char *name : {"soft", "hard", "./in", "sub/../in"}) {
    Status status = inputs.check("-o", folder.path(name));
    EXPECT_NE(status.message().find("'" + folder.path("in") + "'"),
              std::string::npos)
        << name << status.message();
  }
}

TEST_F(Inputs, AreThoseOfAFolder) {
  fs::create_directory(folder.path("sub"));
  ASSERT_TRUE(writeFile(folder.path("sub/x.npy"), "x").ok());
  EXPECT_TRUE(inputs.check("-o", folder.path("sub/x.npy")).ok());
  inputs.addFolder(folder.path("sub"));
  EXPECT_FALSE(inputs.check("-o", folder.path("sub/x.npy")).ok());
  inputs.addFolder(folder.path("absent"));
}

TEST_F(Inputs, AreNoDevices) {
  inputs.add("/dev/null");
  EXPECT_TRUE(inputs.check("--log", "/dev/null").ok());
}

} // namespace
} // namespace zc
