#include "runtime/Device/Cpu/Extensions.h"

#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

namespace zc::cpu {
namespace {

/// The first processor's, as the kernel spells them.
std::set<std::string> listedByTheKernel() {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> names;
  for (std::string line; std::getline(file, line) && names.empty();)
    if (line.rfind("Features", 0) == 0) {
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::string word; words >> word;)
        names.insert(word);
    }
  return names;
}

TEST(Extensions, AgreeWithTheKernelsList) {
  const std::set<std::string> listed = listedByTheKernel();
  if (listed.empty())
    GTEST_SKIP() << "/proc/cpuinfo lists no features: an emulator";
#define SAME(name, listedAs)                                                   \
  EXPECT_EQ(hasExtension(name), listed.count(listedAs) > 0) << name
  SAME("fp-armv8", "fp");
  SAME("neon", "asimd");
  SAME("lse", "atomics");
  SAME("rdm", "asimdrdm");
  SAME("fullfp16", "asimdhp");
  SAME("fp16fml", "asimdfhm");
  SAME("dotprod", "asimddp");
  SAME("sve", "sve");
  SAME("bf16", "bf16");
  SAME("i8mm", "i8mm");
#undef SAME
}

TEST(Extensions, EveryProcessorOfTheArchitectureHasVectors) {
  EXPECT_TRUE(hasExtension("neon"));
  EXPECT_TRUE(hasExtension("fp-armv8"));
}

TEST(Extensions, AreKnownByLlvmsNames) {
  EXPECT_TRUE(isKnownExtension("i8mm"));
  EXPECT_FALSE(isKnownExtension("avx2"));
}

} // namespace
} // namespace zc::cpu
