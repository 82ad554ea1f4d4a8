#include "runtime/Device/Cpu/Extensions.h"

#include <gtest/gtest.h>

namespace zc::cpu {
namespace {

TEST(Extensions, AgreeWithTheCompilersOwn) {
#define SAME(name)                                                             \
  EXPECT_EQ(hasExtension(name), bool(__builtin_cpu_supports(name)))
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

TEST(Extensions, AreKnownByLlvmsNames) {
  EXPECT_TRUE(isKnownExtension("sse4.1"));
  EXPECT_FALSE(isKnownExtension("neon"));
}

} // namespace
} // namespace zc::cpu
