#include "runtime/Device/Cpu/Features.h"
#include "runtime/Device/Cpu/Extensions.h"

#include <gtest/gtest.h>

namespace zc::cpu {
namespace {

TEST(Features, ThereIsOneArchitecture) {
  EXPECT_NE(hasFeature("x86-64"), hasFeature("aarch64"));
  EXPECT_TRUE(hasFeature(architecture()));
}

TEST(Features, UnknownNamesAreNotSupported) {
  EXPECT_FALSE(isKnownExtension("avx1024"));
  EXPECT_FALSE(hasFeature("avx1024"));
  EXPECT_EQ(explainLack("avx1024"),
            "it needs the instruction set 'avx1024', which this program does "
            "not know");
}

TEST(Features, AnotherArchitectureIsNamedWithThisOne) {
  const std::string here = architecture();
  const std::string there = here == "aarch64" ? "x86-64" : "aarch64";
  EXPECT_EQ(explainLack(there), "it is made for processors of the architecture "
                                "'" +
                                    there + "', and this one is of '" + here +
                                    "'");
}

} // namespace
} // namespace zc::cpu
