#include "runtime/Base/Memory.h"
#include "test/unit/runtime/FakeRoot.h"

#include <fstream>
#include <gtest/gtest.h>

namespace zc {
namespace {

class FakeRoot : public test::FakeRoot {
public:
  uint64_t left() const { return freeMemory(path()); }
};

TEST(Memory, WhatCannotBeReadLimitsNothing) {
  EXPECT_EQ(FakeRoot().left(), UINT64_MAX);
}

TEST(Memory, TheLeastOfMachineAndGroups) {
  FakeRoot root;
  root.write("proc/meminfo", "MemTotal:       24000 kB\n"
                             "MemFree:         1000 kB\n"
                             "MemAvailable:    9000 kB\n");
  EXPECT_EQ(root.left(), 9000u * 1024);
  root.write("sys/fs/cgroup/memory.max", "max\n");
  root.write("sys/fs/cgroup/memory.current", "5000\n");
  EXPECT_EQ(root.left(), 9000u * 1024);
  root.write("sys/fs/cgroup/memory.max", "70000\n");
  EXPECT_EQ(root.left(), 65000u);
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "60000\n");
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "61000\n");
  EXPECT_EQ(root.left(), 0u);
}

TEST(Memory, ThisMachineHasSome) { EXPECT_GT(freeMemory(), 0u); }

} // namespace
} // namespace zc
