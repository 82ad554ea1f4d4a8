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

TEST(Libraries, AllIsWhatIsUsedByDefault) {
  EXPECT_EQ(allowed("all", "cpu"),
            "onednn.matmul onednn.convolution zc.attention zc.grouped-matmul "
            "zc.winograd");
  EXPECT_EQ(allowed("all", "cuda"),
            "cublaslt.matmul cublaslt.fp8 cublaslt.epilogue cudnn.convolution "
            "cudnn.pooling cudnn.attention cudnn.norm");
}

TEST(Libraries, NamesCountInTheirOrder) {
  EXPECT_EQ(allowed("none", "cpu"), "");
  EXPECT_EQ(allowed("onednn.matmul", "cpu"), "onednn.matmul");
  EXPECT_EQ(allowed("all,-onednn.matmul", "cpu"),
            "onednn.convolution zc.attention zc.grouped-matmul zc.winograd");
  EXPECT_EQ(allowed("-onednn.matmul,-zc.attention", "cpu"),
            "onednn.convolution zc.grouped-matmul zc.winograd");
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
