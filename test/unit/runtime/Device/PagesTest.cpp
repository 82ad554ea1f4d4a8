#include "runtime/Device/Cpu/Pages.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace zc::cpu {
namespace {

/// The line that begins so among what the system says of the mapping that an
/// address lies in; empty where it says nothing of it.
std::string factOf(const void *address, const std::string &name) {
  std::ifstream maps("/proc/self/smaps");
  bool isInside = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin, end;
    char dash;
    std::istringstream words(line);
    if (words >> std::hex >> begin >> dash >> end && dash == '-') {
      auto at = reinterpret_cast<uintptr_t>(address);
      isInside = begin <= at && at < end;
    } else if (isInside && line.rfind(name, 0) == 0) {
      return line + " ";
    }
  }
  return "";
}

TEST(Pages, LargeRegionsAskForHugePages) {
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"))
    GTEST_SKIP() << "this system has no transparent huge pages";
  constexpr uint64_t kHugePage = 2 << 20;
  for (uint64_t bytes : {kHugePage, 5 * kHugePage + 1}) {
    auto region = allocatePages(bytes);
    ASSERT_TRUE(region.ok()) << region.status().message();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*region) % kHugePage, 0u);
    char *last = static_cast<char *>(*region) + bytes - 1;
    EXPECT_EQ(*last, 0);
    const std::string flags = factOf(last, "VmFlags:");
    releasePages(*region, bytes);
    if (flags.empty())
      GTEST_SKIP() << "this system does not tell flags of mappings";
    EXPECT_NE(flags.find(" hg "), std::string::npos) << flags;
  }
  auto small = allocatePages(4096);
  ASSERT_TRUE(small.ok()) << small.status().message();
  const std::string flags = factOf(*small, "VmFlags:");
  EXPECT_EQ(flags.find(" hg "), std::string::npos) << flags;
  releasePages(*small, 4096);
}

} // namespace
} // namespace zc::cpu
