#include "passes/Codegen/CpuArch.h"

#include <gtest/gtest.h>

namespace zc {
namespace {

using Names = std::vector<std::string>;

CpuArch resolve(const std::string &name) {
  CpuArch arch;
  std::string error;
  EXPECT_TRUE(resolveCpuArch(name, arch, error)) << error;
  return arch;
}

TEST(CpuArch, VersionsOfX86) {
  CpuArch arch = resolve("x86-64-v3");
  EXPECT_EQ(arch.name, "x86-64-v3");
  EXPECT_TRUE(arch.triple.isX86_64());
  EXPECT_EQ(arch.getPlainCpu(), "x86-64");
  EXPECT_EQ(arch.getFeatures().front(), "x86-64");
  EXPECT_EQ(resolve("x86-64").getFeatures(), Names{"x86-64"});
}

TEST(CpuArch, VersionsOfArm) {
  EXPECT_EQ(resolve("armv8-a").getFeatures(),
            (Names{"aarch64", "fp-armv8", "neon"}));
  CpuArch arch = resolve("armv8.2-a");
  EXPECT_EQ(arch.name, "armv8.2-a");
  EXPECT_TRUE(arch.triple.isAArch64() && arch.triple.isOSLinux());
  EXPECT_EQ(arch.getPlainCpu(), "generic");
  EXPECT_EQ(arch.getFeatures(),
            (Names{"aarch64", "fp-armv8", "neon", "lse", "rdm"}));
}

// The board, the server, the laptop.
TEST(CpuArch, ProcessorsOfArm) {
  Names a76 = {"aarch64", "fp-armv8", "neon",   "lse",
               "rdm",     "fullfp16", "dotprod"};
  EXPECT_EQ(resolve("cortex-a76").getFeatures(), a76);
  EXPECT_EQ(resolve("neoverse-v1").getFeatures(),
            (Names{"aarch64", "fp-armv8", "neon", "lse", "rdm", "fullfp16",
                   "fp16fml", "dotprod", "bf16", "i8mm"}));
  EXPECT_EQ(resolve("apple-m1").getFeatures(),
            (Names{"aarch64", "fp-armv8", "neon", "lse", "rdm", "fullfp16",
                   "fp16fml", "dotprod"}));
}

TEST(CpuArch, ThisMachine) {
  CpuArch arch = resolve("native");
  EXPECT_NE(arch.name, "native");
  EXPECT_EQ(arch.triple.getArch(), llvm::Triple(LLVM_HOST_TRIPLE).getArch());
}

TEST(CpuArch, UnknownNames) {
  for (const char *name : {"pentium-vii", "generic", "armv7-a", "armv99-a", "",
                           "cortex-a15", "pentium4"}) {
    CpuArch arch;
    std::string error;
    EXPECT_FALSE(resolveCpuArch(name, arch, error)) << name;
    for (const char *part : {name, "native", "x86-64-v3", "armv8.2-a"})
      EXPECT_NE(error.find(part), std::string::npos) << error;
  }
}

} // namespace
} // namespace zc
