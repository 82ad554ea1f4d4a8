#include "compiler/Driver/Children.h"

#include <csignal>
#include <cstdio>
#include <gtest/gtest.h>
#include <unistd.h>

namespace zc {
namespace {

/// The outcome of one piece of work in a child.
ChildResult runOne(const std::function<std::string()> &work) {
  ChildResult found;
  runInChildren(
      1, 1, 0, 1, [&](size_t) { return work(); },
      [&](size_t, ChildResult result) { found = std::move(result); });
  return found;
}

/// The outcome of work that says this and fails.
ChildResult fail(const char *said) {
  return runOne([&]() -> std::string {
    std::fputs(said, stderr);
    _exit(1);
  });
}

TEST(Children, TextComesBack) {
  const ChildResult result = runOne([] {
    std::fputs("zc: warning: not told\n", stderr);
    return std::string("done");
  });
  EXPECT_TRUE(result.ended);
  EXPECT_EQ(result.text, "done");
}

TEST(Children, TheErrorIsTheReason) {
  EXPECT_EQ(fail("zc: error: one\nzc: error: two\n").reason(), "one");
  EXPECT_EQ(fail("zc: warning: a table is long\nzc: error: no room\n").reason(),
            "no room");
  EXPECT_EQ(fail("of no kind\nand more\n").reason(), "of no kind");
  EXPECT_FALSE(fail("zc: error: one\n").ended);
}

/// An empty reason would stand for success.
TEST(Children, SilentEndsHaveAReason) {
  EXPECT_EQ(fail("").reason(), "its process ended early");
}

TEST(Children, SignalsAreTold) {
  auto endBy = [](const char *said) {
    return runOne([&]() -> std::string {
      std::fputs(said, stderr);
      std::raise(SIGKILL);
      return "";
    });
  };
  EXPECT_EQ(endBy("").reason(), "ended by signal 9");
  EXPECT_EQ(endBy("zc: warning: slow\nzc: error: no room\n").reason(),
            "ended by signal 9: no room");
}

} // namespace
} // namespace zc
