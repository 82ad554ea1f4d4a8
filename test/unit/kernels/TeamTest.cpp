#include "kernels/Cpu/Team.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Pin.h"
#include "kernels/Cpu/Primitive.h"
#include "kernels/Cpu/WorkHint.h"
#include "test/unit/kernels/TestTensors.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>
#include <mutex>
#include <sched.h>
#include <set>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace zc::kernels::test {
namespace {

using namespace std::chrono_literals;

int threadsOfThisProcess() {
  namespace fs = std::filesystem;
  return int(std::distance(fs::directory_iterator("/proc/self/task"),
                           fs::directory_iterator()));
}

/// A job of functions in place of pointers.
template <typename Work>
void run(Team &team, int64_t grid, uint32_t shares, uint32_t pieces,
         double seconds, bool meets, Work work) {
  auto call = [](void *context, int64_t begin, int64_t end) {
    (*static_cast<Work *>(context))(begin, end);
  };
  team.run({call, &work, grid, shares, pieces, seconds, meets});
}

TEST(Team, DoesEachItemOnceInJobsOfAllSizes) {
  for (int size : {1, 2, 5}) {
    Team team(size);
    for (int round = 0; round < 300; ++round)
      for (int64_t grid : {1, 2, 7, 100})
        for (uint32_t pieces : {1u, 4u}) {
          std::vector<std::atomic<int>> counts(grid);
          auto shares = uint32_t(std::min<int64_t>(grid, 1 + round % size));
          run(team, grid, shares, pieces, round % 3 * 50e-6, false,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i)
                  ++counts[i];
              });
          for (auto &count : counts)
            ASSERT_EQ(count, 1);
        }
  }
}

/// Helpers that have slept through many jobs, some of which did not wake them.
TEST(Team, SleepersComeToTheRightJob) {
  Team team(3);
  for (int round = 0; round < 200; ++round) {
    if (round % 20 == 0)
      std::this_thread::sleep_for(2ms); // longer than they spin
    std::atomic<int64_t> sum{0};
    run(team, 60, 3, 4, 40e-6, false, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        sum += i + round;
    });
    ASSERT_EQ(sum, 59 * 30 + 60 * round);
  }
}

/// A thread that is late must not take the next job's numbers for its own.
TEST(Team, JobsOfAnyShape) {
  Team team(6);
  uint32_t random = 1;
  for (int round = 0; round < 20000; ++round) {
    random = random * 1664525u + 1013904223u;
    uint32_t shares = 2 + (random >> 16) % 5, pieces = 1 + (random >> 24) % 4;
    int64_t grid = shares + (random >> 8) % 60;
    std::atomic<int64_t> sum{0};
    run(team, grid, shares, pieces, 200e-6, false,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            sum += i;
        });
    ASSERT_EQ(sum, grid * (grid - 1) / 2) << round;
  }
}

/// Where helpers are kept from running amid their work, they are asked seldom.
TEST(Team, WhoCostsMoreThanHeSavesIsAskedSeldom) {
  Team team(2);
  std::thread::id caller = std::this_thread::get_id();
  int helped = 0;
  for (int round = 0; round < 400; ++round) {
    std::atomic<bool> other{false};
    run(team, 8, 2, 4, 1e-3, false, [&](int64_t, int64_t) {
      if (std::this_thread::get_id() != caller) {
        other = true;
        std::this_thread::sleep_for(2ms);
      } else {
        std::this_thread::sleep_for(50us);
      }
    });
    helped += other;
  }
  EXPECT_LT(helped, 100);
}

/// Nobody waits for a thread that has not begun: what is left is taken.
TEST(Team, OthersTakeTheWorkOfAThreadThatIsKept) {
  Team team(2);
  std::atomic<int> done{0};
  std::mutex kept; // holds the helper in its first piece
  kept.lock();
  std::thread::id caller = std::this_thread::get_id();
  std::thread release([&] {
    while (done < 7)
      std::this_thread::yield();
    kept.unlock();
  });
  std::atomic<bool> helped{false};
  run(team, 8, 2, 4, 1, false, [&](int64_t, int64_t) {
    if (std::this_thread::get_id() != caller) {
      helped = true;
      std::lock_guard<std::mutex> wait(kept);
    } else {
      while (!helped) // let the helper begin
        std::this_thread::yield();
    }
    ++done;
  });
  EXPECT_EQ(done, 8);
  release.join();
}

TEST(Team, SharesThatMeetHaveThreadsOfTheirOwn) {
  Team team(4);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> arrived{0};
    std::mutex mutex;
    std::set<std::thread::id> threads;
    run(team, 4, 4, 1, 1e-9, true, [&](int64_t, int64_t) {
      {
        std::lock_guard<std::mutex> lock(mutex);
        threads.insert(std::this_thread::get_id());
      }
      ++arrived;
      while (arrived < 4)
        std::this_thread::yield();
    });
    ASSERT_EQ(threads.size(), 4u);
  }
}

TEST(Team, EachThreadHasItsOwn) {
  setTeamSize(2);
  std::thread([] {
    setTeamSize(3);
    EXPECT_EQ(teamSize(), 3);
  }).join();
  EXPECT_EQ(teamSize(), 2);
}

// Processors ----------------------------------------------------------------

std::vector<int> processorsOfThread() {
  cpu_set_t set;
  std::vector<int> found;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0)
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set))
        found.push_back(i);
  return found;
}

ThreadTimes times; // of the thread, so to say
ThreadTimes sayTimes() { return times; }
/// Others kept it from running for a while.
void keepOff() { times.preemptions += 1; }

/// A pin on a thread of its own, whose mask ends with it.
template <typename Test> void onTwoProcessors(const Test &test) {
  const std::vector<int> all = processorsOfThread();
  if (all.size() < 2)
    GTEST_SKIP() << "there is one processor";
  times = {};
  std::thread([&] { test({all[0], all[1]}); }).join();
}

TEST(Pin, KeepsAHelperOnItsProcessor) {
  onTwoProcessors([](const std::vector<int> &two) {
    Company company(sayTimes);
    Pin pin(two, 1, company);
    pin.review(two[0], Pin::Clock::now());
    EXPECT_TRUE(pin.holds());
    EXPECT_EQ(processorsOfThread(), std::vector<int>{two[1]});
  });
}

TEST(Pin, GivesWayToTheCaller) {
  onTwoProcessors([](const std::vector<int> &two) {
    Company company(sayTimes);
    Pin pin(two, 1, company);
    pin.review(two[1], Pin::Clock::now());
    EXPECT_EQ(processorsOfThread(), std::vector<int>{two[0]});
  });
}

/// The helper whose place it takes goes on where the caller was meant to be.
TEST(Pin, GivesWayToACallerThatMoves) {
  onTwoProcessors([](const std::vector<int> &two) {
    Company company(sayTimes);
    Pin pin(two, 1, company);
    auto now = Pin::Clock::now();
    pin.review(two[0], now);
    keepOff(); // the caller came
    pin.review(two[1], now += Pin::kStay);
    EXPECT_TRUE(pin.holds());
    EXPECT_EQ(processorsOfThread(), std::vector<int>{two[0]});
    pin.review(two[0], now += 1ms);
    EXPECT_EQ(processorsOfThread(), std::vector<int>{two[0]}) << "at once";
    pin.review(two[0], now += Pin::kStay);
    EXPECT_EQ(processorsOfThread(), std::vector<int>{two[1]});
  });
}

/// Where others want the processor the thread may go elsewhere, for longer each
/// time that they are back soon.
TEST(Pin, LetsGoWhereOthersCome) {
  onTwoProcessors([](const std::vector<int> &two) {
    const std::vector<int> all = processorsOfThread();
    Company company(sayTimes);
    Pin pin(two, 1, company);
    auto now = Pin::Clock::now();
    pin.review(two[0], now);
    std::chrono::milliseconds away = Pin::kAway;
    for (int round = 0; round < 12; ++round) {
      keepOff();
      pin.review(two[0], now += 2ms);
      ASSERT_FALSE(pin.holds());
      ASSERT_EQ(processorsOfThread(), all);
      away = std::min(2 * away, Pin::kMostAway);
      pin.review(two[0], now + away - 1ms);
      ASSERT_FALSE(pin.holds()) << away.count();
      pin.review(two[0], now += away + Company::kMostBusy);
      ASSERT_TRUE(pin.holds()) << away.count();
      ASSERT_EQ(processorsOfThread(), std::vector<int>{two[1]});
    }
    keepOff(); // after long
    pin.review(two[0], now += 2 * Pin::kMostAway);
    EXPECT_FALSE(pin.holds());
    pin.review(two[0], now += Pin::kAway + Company::kMostBusy);
    EXPECT_TRUE(pin.holds());
  });
}

/// A rank whose processors others want may use those of other ranks.
TEST(Pin, LetsGoToWhereItMightRunBefore) {
  onTwoProcessors([](const std::vector<int> &two) {
    const std::vector<int> all = processorsOfThread();
    const std::vector<int> part = {two[1], two[1]};
    Company company(sayTimes);
    Pin pin(part, 1, company);
    auto now = Pin::Clock::now();
    pin.review(two[0], now);
    ASSERT_EQ(processorsOfThread(), std::vector<int>{two[1]});
    keepOff();
    pin.review(two[0], now + 2ms);
    EXPECT_EQ(processorsOfThread(), all);
  });
}

TEST(Pin, WithoutProcessorsAThreadIsFree) {
  onTwoProcessors([](const std::vector<int> &) {
    const std::vector<int> none, all = processorsOfThread();
    Company company(sayTimes);
    Pin pin(none, 1, company);
    pin.review(all[0], Pin::Clock::now());
    EXPECT_FALSE(pin.holds());
    EXPECT_EQ(processorsOfThread(), all);
  });
}

/// The caller's thread is not the team's to keep.
TEST(Pin, ATeamPinsItsHelpers) {
  onTwoProcessors([](const std::vector<int> &two) {
    const std::vector<int> before = processorsOfThread();
    Team team(2, two);
    const auto caller = std::this_thread::get_id();
    std::set<size_t> counts;
    // Other processes may want its processor for a while.
    const auto end = Pin::Clock::now() + 20s;
    while (counts.count(1) == 0 && Pin::Clock::now() < end) {
      std::atomic<int> arrived{0};
      run(team, 2, 2, 1, 1, true, [&](int64_t, int64_t) {
        ++arrived;
        while (arrived < 2) {
        }
        if (std::this_thread::get_id() != caller)
          counts.insert(processorsOfThread().size());
      });
    }
    EXPECT_EQ(processorsOfThread(), before);
    EXPECT_EQ(counts.count(1), 1u);
  });
}

/// Each page is first touched by the thread that has it in its share.
TEST(Pin, ThreadsTouchTheirPartsOfMemory) {
  constexpr uint64_t kBytes = 16 << 20;
  setTeamSize(2);
  auto *memory =
      static_cast<char *>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ::madvise(memory, kBytes, MADV_NOHUGEPAGE);
  const auto faults = [] {
    struct rusage usage;
    ::getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
  };
  const auto pages = long(kBytes) / ::sysconf(_SC_PAGESIZE);
  long own = 0;
  // On a full machine the helper may come too late to a first one.
  for (int round = 0; round < 20 && (round == 0 || own >= pages); ++round) {
    ::madvise(memory, kBytes, MADV_DONTNEED);
    memory[kBytes - 1] = 7;
    const long before = faults();
    touchPages(memory, kBytes, 2);
    own = faults() - before;
  }
  EXPECT_GE(own, pages / 2);
  // A sanitizer's shadow of the memory has faults, too.
  EXPECT_LT(own, pages / 2 + pages / 8);
  std::vector<unsigned char> resident(size_t(pages), 0);
  ASSERT_EQ(::mincore(memory, kBytes, resident.data()), 0);
  EXPECT_EQ(std::count(resident.begin(), resident.end(), 0), 0);
  EXPECT_EQ(memory[kBytes - 1], 7) << "what it held stays";
  ::munmap(memory, kBytes);
}

// OpenMP's functions ---------------------------------------------------------

extern "C" {
void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);
void GOMP_barrier();
int omp_get_thread_num();
int omp_get_num_threads();
int omp_get_max_threads();
int omp_in_parallel();
}

struct Seen {
  std::atomic<int> numbers{0}, nested{0}, wrong{0};
  std::atomic<int> before{0};
};

void lookAround(void *data) {
  auto *seen = static_cast<Seen *>(data);
  seen->numbers += 1 << omp_get_thread_num();
  seen->wrong += omp_get_num_threads() != 3 || !omp_in_parallel() ||
                 omp_get_max_threads() != 3;
  for (int round = 1; round <= 20; ++round) {
    ++seen->before;
    GOMP_barrier();
    seen->wrong += seen->before != 3 * round;
    GOMP_barrier();
  }
  GOMP_parallel(
      [](void *data) {
        auto *seen = static_cast<Seen *>(data);
        seen->nested += 1;
        seen->wrong += omp_get_thread_num() != 0 ||
                       omp_get_num_threads() != 1 || !omp_in_parallel();
        GOMP_barrier(); // of one thread
      },
      data, 0, 0);
}

TEST(OpenMp, RegionsRunOnTheTeam) {
  setTeamSize(3);
  EXPECT_EQ(omp_get_max_threads(), 3);
  for (int round = 0; round < 50; ++round) {
    Seen seen;
    GOMP_parallel(lookAround, &seen, 0, 0);
    EXPECT_EQ(seen.numbers, 7); // each number once
    EXPECT_EQ(seen.nested, 3);
    EXPECT_EQ(seen.wrong, 0);
  }
  EXPECT_EQ(omp_get_thread_num(), 0);
  EXPECT_EQ(omp_get_num_threads(), 1);
  EXPECT_FALSE(omp_in_parallel());
}

/// The library finds ours, and not those of libgomp, which it is linked to.
TEST(OpenMp, TheLibrarysRegionsDoToo) {
  setTeamSize(3);
  MatmulSpec spec{rowMajor({512, 512}), rowMajor({512, 512}),
                  rowMajor({512, 512}), false};
  GuardedWorkspace workspace(uint64_t(64) << 20);
  std::vector<float> a(512 * 512, 1), b(512 * 512, 2), c(512 * 512);
  void *operands[] = {a.data(), b.data(), c.data()};
  std::string error;
  auto product = createPrimitive(spec, uint64_t(64) << 20, &error);
  ASSERT_TRUE(product) << error;
  startTeam();
  int before = threadsOfThisProcess();
  for (int round = 0; round < 10; ++round)
    ASSERT_TRUE(product->execute(operands, workspace.get(), &error)) << error;
  EXPECT_EQ(threadsOfThisProcess(), before); // no other pool has begun
  EXPECT_EQ(c[77], 1024);
}

} // namespace
} // namespace zc::kernels::test
