#include "runtime/Base/Memory.h"
#include "test/unit/runtime/FakeRoot.h"

#include <fstream>
#include <gtest/gtest.h>

namespace zc {
namespace {

class FakeRoot : public test::FakeRoot {
public:
  uint64_t left() const { return freeMemory(path()); }
  MemoryLimit limit() const { return readMemoryLimit(path()); }
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

TEST(Memory, TheFirstVersionsGroupOfAJob) {
  FakeRoot root;
  root.joinGroups("31 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup "
                  "rw,memory\n",
                  "4:memory:/slurm/job7\n0::/\n");
  const std::string all = "sys/fs/cgroup/memory", job = all + "/slurm/job7";
  root.write(all + "/memory.limit_in_bytes", "9223372036854771712\n");
  root.write(all + "/memory.usage_in_bytes", "800000\n");
  EXPECT_EQ(root.limit().bytes, kNoMemoryLimit);
  EXPECT_EQ(root.left(), kNoMemoryLimit);
  root.write(job + "/memory.limit_in_bytes", "60000\n");
  root.write(job + "/memory.usage_in_bytes", "50000\n");
  EXPECT_EQ(root.limit().bytes, 60000u);
  EXPECT_EQ(root.limit().group, "/sys/fs/cgroup/memory/slurm/job7");
  EXPECT_EQ(root.left(), 10000u);
  root.write(job + "/memory.stat", "cache 9\ntotal_inactive_file 20000\n");
  EXPECT_EQ(root.left(), 30000u);
}

TEST(Memory, TheGroupAtTheRootIsItsFolder) {
  FakeRoot root;
  root.joinGroup("/");
  root.write("sys/fs/cgroup/memory.max", "70000\n");
  EXPECT_EQ(root.limit().group, "/sys/fs/cgroup");
}

TEST(Memory, SwapComesOnTop) {
  FakeRoot root;
  root.joinGroup("/pod");
  root.write("sys/fs/cgroup/pod/memory.max", "70000\n");
  root.write("sys/fs/cgroup/pod/memory.current", "10000\n");
  EXPECT_EQ(root.limit().bytes, 70000u);
  root.write("proc/meminfo", "MemAvailable: 9000 kB\nSwapTotal: 4 kB\n");
  EXPECT_EQ(root.limit().bytes, 70000u + 4096);
  root.write("sys/fs/cgroup/pod/memory.swap.max", "100\n");
  EXPECT_EQ(root.limit().bytes, 70100u);
  EXPECT_EQ(root.left(), 60000u);
}

TEST(Memory, KillsOfTheKernelAreCounted) {
  FakeRoot root;
  EXPECT_EQ(countMemoryKills(root.path()), 0u);
  root.write("proc/vmstat", "nr_free_pages 7\noom_kill 12\n");
  EXPECT_EQ(countMemoryKills(root.path()), 12u);
}

TEST(Memory, ThisMachineHasSome) { EXPECT_GT(freeMemory(), 0u); }

} // namespace
} // namespace zc
