//===- LibrariesTest.cpp --------------------------------------------------===//
#include "compiler/Driver/TargetServices.h"
#include "gtest/gtest.h"

namespace zc {
namespace {

/// The library calls of a device that `list` allows, or what is wrong with it.
std::string allowed(llvm::StringRef list, llvm::StringRef device) {
  const auto names = listLibraries(device, makeTargetServices());
  auto parsed = Libraries::parse(list, device, names);
  if (!parsed)
    return llvm::toString(parsed.takeError());
  std::string text;
  for (const LibraryName &each : names)
    if (parsed->has(each.name))
      text += (text.empty() ? "" : " ") + each.name.str();
  return text;
}

bool hasWord(const std::string &words, const std::string &word) {
  return (" " + words + " ").find(" " + word + " ") != std::string::npos;
}

/// Calls of one op, which the device's patterns name, and of several, which
/// their rooms do.
TEST(Libraries, AllIsWhatIsUsedByDefault) {
  EXPECT_TRUE(hasWord(allowed("all", "cpu"), "onednn.matmul"));
  EXPECT_FALSE(hasWord(allowed("all", "cpu"), "cudnn.norm"));
  const std::string all = allowed("all", "cuda");
  for (const char *each : {"cublaslt.matmul", "cudnn.attention", "cudnn.norm"})
    EXPECT_TRUE(hasWord(all, each)) << all;
  EXPECT_FALSE(hasWord(all, "cublaslt.relu-bits"));
  EXPECT_FALSE(hasWord(allowed("all,-cudnn.norm", "cuda"), "cudnn.norm"));
}

TEST(Libraries, NamesCountInTheirOrder) {
  EXPECT_EQ(allowed("none", "cpu"), "");
  EXPECT_EQ(allowed("onednn.matmul", "cpu"), "onednn.matmul");
  const std::string rest = allowed("all,-onednn.matmul", "cpu");
  EXPECT_FALSE(hasWord(rest, "onednn.matmul"));
  EXPECT_TRUE(hasWord(rest, "zc.attention"));
  EXPECT_EQ(allowed("-onednn.matmul", "cpu"), rest);
  EXPECT_EQ(allowed("-onednn.matmul,-zc.attention,zc.attention", "cpu"), rest);
  EXPECT_EQ(allowed("all,none,zc.attention", "cpu"), "zc.attention");
  EXPECT_EQ(allowed("none, cublaslt.relu-bits", "cuda"), "cublaslt.relu-bits");
}

TEST(Libraries, WhatTheDeviceLacksIsNamed) {
  for (const char *list : {"mkl", "all,-mkl", "", "all,,none", "-none"}) {
    std::string message = allowed(list, "cpu");
    EXPECT_NE(message.find("is no library call of device cpu"),
              std::string::npos)
        << list << ": " << message;
  }
}

} // namespace
} // namespace zc
