#include "runtime/Base/File.h"
#include "runtime/Base/LeftOvers.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace zc {
namespace {

namespace fs = std::filesystem;
using test::readWhole;
using test::TemporaryFolder;

size_t countFiles(const std::string &folder) {
  return std::distance(fs::directory_iterator(folder),
                       fs::directory_iterator());
}

TEST(File, AtomicFilesAppearWhole) {
  TemporaryFolder folder;
  auto file = AtomicFile::create(folder.path("a"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("hello", 5).ok());
  ASSERT_TRUE(file->writeAt(1, "E", 1).ok());
  EXPECT_FALSE(fs::exists(folder.path("a")));
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(readWhole(folder.path("a")), "hEllo");
  EXPECT_EQ(countFiles(folder.path()), 1u);
}

TEST(File, AbandonedAtomicFilesLeaveNothing) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeFile(folder.path("a"), "old").ok());
  {
    auto file = AtomicFile::create(folder.path("a"));
    ASSERT_TRUE(file->write("new", 3).ok());
  }
  EXPECT_EQ(readWhole(folder.path("a")), "old");
  EXPECT_EQ(countFiles(folder.path()), 1u);
}

TEST(File, WhatAKilledWriterLeftIsRemovedByTheNext) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeFile(folder.path("a.tmp-Ab3dE6"), "stale").ok());
  ASSERT_TRUE(writeFile(folder.path("b.tmp-Ab3dE6"), "of another").ok());
  ASSERT_TRUE(writeFile(folder.path("a.tmp-"), "a user's").ok());
  auto atWork = AtomicFile::create(folder.path("a"));
  ASSERT_TRUE(atWork.ok());
  EXPECT_FALSE(fs::exists(folder.path("a.tmp-Ab3dE6")));
  // One that is being written is not stale.
  ASSERT_TRUE(writeFile(folder.path("a"), "second").ok());
  ASSERT_TRUE(atWork->write("first", 5).ok());
  ASSERT_TRUE(atWork->commit().ok());
  EXPECT_EQ(readWhole(folder.path("a")), "first");
  EXPECT_EQ(countFiles(folder.path()), 3u);
}

mode_t rightsOf(const std::string &path) {
  struct stat info = {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

TEST(File, RightsStay) {
  TemporaryFolder folder;
  const mode_t mask = ::umask(022);
  ASSERT_TRUE(writeFile(folder.path("a"), "new").ok());
  EXPECT_EQ(rightsOf(folder.path("a")), 0644u);
  for (mode_t mode : {0600u, 0666u, 0640u}) {
    ASSERT_EQ(::chmod(folder.path("a").c_str(), mode), 0);
    ASSERT_TRUE(writeFile(folder.path("a"), "again").ok());
    EXPECT_EQ(rightsOf(folder.path("a")), mode);
  }
  auto secret = AtomicFile::create(folder.path("b"), 0600);
  ASSERT_TRUE(secret.ok() && secret->commit().ok());
  EXPECT_EQ(rightsOf(folder.path("b")), 0600u);
  ::umask(mask);
}

/// The number of a process that has ended.
pid_t endedProcess() {
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(File, WhatAKilledProcessLeftIsRemovedByTheNext) {
  TemporaryFolder folder;
  const std::string own = ownPrefix("zc-x");
  const std::string self = std::to_string(::getpid());
  const size_t begin = own.find(self), dot = own.find('.', begin);
  const std::string start = own.substr(dot, own.rfind('.') - dot),
                    space = own.substr(own.rfind('.'));
  const std::string ended = std::to_string(endedProcess());
  // Ended; of this number before; its folder.
  const std::vector<std::string> stale = {"zc-x-" + ended + start + space + "A",
                                          "zc-x-" + self + ".1" + space + "A"};
  // At work; in another container; of another use; no temporary.
  const std::vector<std::string> kept = {
      own + "A", "zc-x-" + ended + start + ".7-A",
      "zc-y-" + ended + start + space + "A", "zc-x-notes", "zc-x"};
  for (const auto &names : {stale, kept})
    for (const std::string &name : names)
      ASSERT_TRUE(writeFile(folder.path(name), "").ok());
  const std::string inside = "zc-x-" + ended + start + space + "folder";
  ASSERT_TRUE(makeDirectories(folder.path(inside + "/more")).ok());
  clearLeftOver(folder.path(), "zc-x");
  for (const std::string &name : stale)
    EXPECT_FALSE(fs::exists(folder.path(name))) << name;
  for (const std::string &name : kept)
    EXPECT_TRUE(fs::exists(folder.path(name))) << name;
  EXPECT_FALSE(fs::exists(folder.path(inside)));
}

TEST(File, ReplacedBytesThatDoNotFitAreToldAsSuch) {
  TemporaryFolder folder;
  auto file = AtomicFile::create(folder.path("a"));
  const std::string bytes(8192, 'x');
  ASSERT_TRUE(file->write(bytes.data(), bytes.size()).ok());
  std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit before, small;
  ::getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 4096;
  ::setrlimit(RLIMIT_FSIZE, &small);
  errno = 0;
  Status status = file->writeAt(0, bytes.data(), bytes.size());
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(status.message().find("File too large"), std::string::npos)
      << status.message();
}

TEST(File, ASignalLeavesNothingHalfWritten) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeFile(folder.path("done"), "whole").ok());
  auto file = AtomicFile::create(folder.path("a"));
  auto moved = std::move(*file);
  ASSERT_TRUE(moved.write("half", 4).ok());
  EXPECT_EQ(countFiles(folder.path()), 2u);
  removeTemporaries();
  EXPECT_EQ(countFiles(folder.path()), 1u);
  EXPECT_EQ(readWhole(folder.path("done")), "whole");
}

TEST(File, LinksStayLinks) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeFile(folder.path("a"), "old").ok());
  fs::create_symlink("a", folder.path("link"));
  ASSERT_TRUE(writeFile(folder.path("link"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(folder.path("link")));
  EXPECT_EQ(readWhole(folder.path("a")), "new");
  EXPECT_EQ(countFiles(folder.path()), 2u);
}

TEST(File, DevicesAreWrittenToAsTheyStand) {
  TemporaryFolder folder;
  fs::create_symlink("/dev/full", folder.path("full"));
  Status full = writeFile(folder.path("full"), "new");
  EXPECT_NE(full.message().find("No space"), std::string::npos);
  EXPECT_TRUE(fs::is_character_file(folder.path("full")));
  fs::create_symlink("/dev/null", folder.path("null"));
  EXPECT_TRUE(writeFile(folder.path("null"), "new").ok());
  EXPECT_EQ(countFiles(folder.path()), 2u);
}

TEST(File, MissingFilesAndFoldersAreNamed) {
  TemporaryFolder folder;
  auto file = MappedFile::open(folder.path("nothing"));
  EXPECT_EQ(file.status().code(), StatusCode::NotFound);
  EXPECT_NE(file.status().message().find("nothing"), std::string::npos);
  EXPECT_FALSE(MappedFile::open(folder.path()).ok());
  EXPECT_FALSE(writeFile(folder.path("no/file"), "x").ok());
  EXPECT_FALSE(checkParentExists(folder.path("no/file")).ok());
  EXPECT_TRUE(checkParentExists("file").ok());
}

TEST(File, EmptyFilesCanBeMapped) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeFile(folder.path("empty"), "").ok());
  auto file = MappedFile::open(folder.path("empty"));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE((*file)->bytes().empty());
}

TEST(File, SmallFilesHaveALimit) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeFile(folder.path("a"), "12345").ok());
  EXPECT_EQ(*readFile(folder.path("a"), 5), "12345");
  EXPECT_EQ(readFile(folder.path("a"), 4).status().code(), StatusCode::Corrupt);
}

} // namespace
} // namespace zc
