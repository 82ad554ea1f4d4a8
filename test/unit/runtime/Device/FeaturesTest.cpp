#include "runtime/Device/Cpu/Features.h"

#include <gtest/gtest.h>

namespace zc::cpu {
namespace {

TEST(Features, AgreeWithTheCompilersOwn) {
#define SAME(name)                                                             \
  EXPECT_EQ(hasFeature(name), bool(__builtin_cpu_supports(name)))
  SAME("sse2");
  SAME("avx");
  SAME("avx2");
  SAME("fma");
  SAME("bmi2");
  SAME("avx512f");
  SAME("avx512bw");
  SAME("avx512vl");
  SAME("avx512vnni");
  SAME("avx512bf16");
#undef SAME
}

TEST(Features, UnknownNamesAreNotSupported) {
  EXPECT_FALSE(isKnownFeature("avx1024"));
  EXPECT_FALSE(hasFeature("avx1024"));
  EXPECT_TRUE(isKnownFeature("sse4.1"));
}

} // namespace
} // namespace zc::cpu
