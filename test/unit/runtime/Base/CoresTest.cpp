#include "runtime/Base/Cores.h"
#include "test/unit/runtime/FakeRoot.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <thread>

namespace zc {
namespace {

class FakeRoot : public test::FakeRoot {
public:
  CpuQuota quota() const { return readCpuQuota(path()); }
};

TEST(Cores, NoLimitWhereNothingIsMounted) {
  EXPECT_EQ(FakeRoot().quota().cores, 0);
}

TEST(Cores, TheSecondVersionsLeastLimitOfAllGroupsAbove) {
  FakeRoot root;
  root.joinGroup("/pods/pod7/main");
  root.write("sys/fs/cgroup/pods/cpu.max", "400000 100000\n");
  root.write("sys/fs/cgroup/pods/pod7/cpu.max", "75000 50000\n");
  root.write("sys/fs/cgroup/pods/pod7/main/cpu.max", "max 100000\n");
  EXPECT_DOUBLE_EQ(root.quota().cores, 1.5);
  EXPECT_EQ(root.quota().group, "/sys/fs/cgroup/pods/pod7");
  root.write("sys/fs/cgroup/pods/pod7/main/cpu.max", "50000 100000\n");
  EXPECT_DOUBLE_EQ(root.quota().cores, 0.5);
  root.write("sys/fs/cgroup/cpu.max", "10000 100000\n"); // a container's own
  EXPECT_DOUBLE_EQ(root.quota().cores, 0.1);
}

TEST(Cores, TheFirstVersion) {
  FakeRoot root;
  root.joinGroups("32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup "
                  "rw,cpu,cpuacct\n"
                  "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup "
                  "rw,cpuset\n",
                  "4:cpuset:/other\n3:cpu,cpuacct:/jobs/a\n");
  const std::string group = "sys/fs/cgroup/cpu,cpuacct/jobs/a";
  root.write(group + "/cpu.cfs_quota_us", "-1\n");
  root.write(group + "/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(root.quota().cores, 0);
  root.write(group + "/cpu.cfs_quota_us", "250000\n");
  EXPECT_DOUBLE_EQ(root.quota().cores, 2.5);
}

/// A container without a namespace of its own names its group as the host does,
/// and mounts it alone.
TEST(Cores, AMountOfAPartOfTheHierarchy) {
  FakeRoot root;
  root.joinGroups("32 31 0:29 /docker/7f /sys/fs/my\\040groups/cpu ro - cgroup "
                  "cgroup rw,cpu\n",
                  "3:cpu:/docker/7f/inner\n");
  const std::string mount = "sys/fs/my groups/cpu";
  root.write(mount + "/cpu.cfs_quota_us", "200000\n");
  root.write(mount + "/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(root.quota().cores, 2);
  root.write(mount + "/inner/cpu.cfs_quota_us", "100000\n");
  root.write(mount + "/inner/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(root.quota().cores, 1);
}

TEST(Cores, AGroupOutsideOfTheNamespace) {
  FakeRoot root;
  root.joinGroup("/../../elsewhere");
  root.write("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_DOUBLE_EQ(root.quota().cores, 3);
}

TEST(Cores, BothVersionsAtOnce) {
  FakeRoot root;
  root.joinGroups(
      "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
      "1:cpu:/a\n0::/\n");
  root.write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "150000\n");
  root.write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(root.quota().cores, 1.5);
}

TEST(Cores, WhatIsNoNumberLimitsNothing) {
  FakeRoot root;
  root.joinGroups(std::string(FakeRoot::kSecondMount) + "broken\n - \n",
                  "nonsense\n0::/a\n");
  for (const char *text : {"", "max", "0 100000", "-5 100000", "5 0", "x y"}) {
    root.write("sys/fs/cgroup/a/cpu.max", text);
    EXPECT_EQ(root.quota().cores, 0) << text;
  }
}

TEST(Cores, ThreadsWorthTheirBarriers) {
  EXPECT_EQ(threadsWorth(8, 0), 8);    // no limit
  EXPECT_EQ(threadsWorth(8, 100), 8);  // a limit beyond the mask
  EXPECT_EQ(threadsWorth(8, 0.5), 1);  // half a processor
  EXPECT_EQ(threadsWorth(8, 0.01), 1); // never none
  EXPECT_EQ(threadsWorth(8, 1), 1);
  EXPECT_EQ(threadsWorth(8, 1.1), 1);
  EXPECT_EQ(threadsWorth(8, 1.5), 2);
  EXPECT_EQ(threadsWorth(8, 3.9), 4);
  EXPECT_EQ(threadsWorth(1, 1.5), 1); // the mask counts too
  EXPECT_EQ(threadsWorth(0, 0), 1);
}

TEST(Cores, RanksShare) {
  const AllowedCores eight{8, 1};
  const CpuQuota none, three{3, "/pods/7"}, half{0.5, "/pods/7"};
  EXPECT_EQ(shareCores(eight, none, 1, 1).count, 8);
  EXPECT_EQ(shareCores(eight, none, 3, 3).count, 2);
  EXPECT_EQ(shareCores(eight, none, 20, 20).count, 1);
  EXPECT_EQ(shareCores(eight, three, 1, 1).count, 3);
  EXPECT_EQ(shareCores(eight, three, 2, 2).count, 2); // 1.5 each
  EXPECT_EQ(shareCores(eight, three, 2, 1).count, 3); // groups of their own
  EXPECT_EQ(shareCores(eight, half, 2, 2).count, 1);
  EXPECT_EQ(shareCores(eight, none, 3, 3).reason,
            "there are 8 processors for 3 ranks");
  EXPECT_EQ(shareCores({1, 1}, none, 1, 1).reason, "there is 1 processor");
  EXPECT_EQ(shareCores(eight, half, 1, 1).reason,
            "control group '/pods/7' allows the time of 0.5 processors");
}

using Numbers = std::vector<int>;

TEST(Cores, RanksGetProcessorsOfTheirOwn) {
  const AllowedCores some{5, 1, {0, 1, 4, 5, 6}};
  const CpuQuota none;
  auto deal = [&](int64_t count, int64_t place) {
    return dealCores(some, none, {count, place, false}).processors;
  };
  EXPECT_EQ(deal(1, 0), (Numbers{0, 1, 4, 5, 6}));
  EXPECT_EQ(deal(2, 0), (Numbers{0, 1}));
  EXPECT_EQ(deal(2, 1), (Numbers{4, 5}));
  EXPECT_EQ(deal(5, 4), (Numbers{6}));
}

TEST(Cores, NoProcessorIsAnybodysOwnWhereOthersMayWantIt) {
  const AllowedCores four{4, 1, {0, 1, 2, 3}};
  auto why = [&](const CpuQuota &quota, const CoreNeighbours &neighbours) {
    const OwnCores own = dealCores(four, quota, neighbours);
    EXPECT_TRUE(own.processors.empty());
    return own.reason;
  };
  EXPECT_EQ(why({}, {5, 0, false}),
            "there are fewer processors than ranks, 4 to 5");
  EXPECT_EQ(why({}, {1, 0, true}),
            "another rank may use some of the same processors");
  EXPECT_EQ(why({2.5, "/pods/7"}, {}),
            "control group '/pods/7' limits the time");
  EXPECT_EQ(dealCores(four, {4, "/pods/7"}, {}).processors.size(), 4u);
  ::setenv("OMP_PROC_BIND", "FALSE", 1);
  EXPECT_EQ(why({}, {}), "OMP_PROC_BIND=false");
  ::setenv("OMP_PROC_BIND", "close", 1);
  EXPECT_EQ(dealCores(four, {}, {}).processors.size(), 4u);
  ::unsetenv("OMP_PROC_BIND");
}

TEST(Cores, ProcessorsAsPeopleWriteThem) {
  EXPECT_EQ(printProcessors({}), "");
  EXPECT_EQ(printProcessors({3}), "3");
  EXPECT_EQ(printProcessors({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

/// In a thread of its own, whose mask ends with it.
TEST(Cores, TheAffinityMaskCounts) {
  std::thread([] {
    AllowedCores before = findAllowedCores();
    EXPECT_GE(before.count, 1);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
    AllowedCores after = findAllowedCores();
    EXPECT_EQ(after.count, 1);
    EXPECT_EQ(after.processors, std::vector<int>{::sched_getcpu()});
    EXPECT_EQ(usableCores(), 1);
    EXPECT_EQ(after.mask == before.mask, before.count == 1);
  }).join();
}

} // namespace
} // namespace zc
