#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Team.h"
#include "kernels/Cpu/WorkHint.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <unistd.h>

namespace zc::kernels {
namespace {

// A thread's share has so many pieces. Others take over the rest of them if the
// thread is kept from running, and who is done first waits for one of them at
// most. Much work is divided further, but not into pieces shorter than this.
constexpr uint32_t kPieces = 4, kMostPieces = 16;
constexpr double kPieceSeconds = 20e-6;

uint32_t piecesOf(double seconds, int64_t shares) {
  const double pieces = seconds / (kPieceSeconds * double(shares));
  return uint32_t(std::clamp<double>(pieces, kPieces, kMostPieces));
}

struct Call {
  RangeFunction function;
  void *const *buffers;
};

void runRange(void *context, int64_t begin, int64_t end) {
  auto *call = static_cast<Call *>(context);
  call->function(call->buffers, begin, end);
}

/// Memory in pages, of which each thread of the team takes one share. Who comes
/// first waits a while for the others, so that no thread takes two: not for
/// long, for a fork has no helpers and a full machine keeps them from running.
struct Touching {
  static constexpr std::chrono::milliseconds kWait{50};

  char *begin;
  uint64_t bytes;
  uint32_t threads;
  std::atomic<uint32_t> missing;

  void share(int64_t number) {
    missing.fetch_sub(1);
    meet();
    const uint64_t each = bytes / threads;
    const uint64_t from = number * each;
    touch(begin + from, number + 1 == threads ? bytes - from : each);
  }

  void meet() {
    static std::atomic<bool> inVain{false}; // once is enough
    const auto end = std::chrono::steady_clock::now() + kWait;
    while (missing.load() > 0 && !inVain.load(std::memory_order_relaxed)) {
      if (std::chrono::steady_clock::now() >= end)
        inVain = true;
      std::this_thread::yield();
    }
  }

  /// The page that a share begins in may be another one's as well.
  static void touch(char *data, uint64_t size) {
    const auto page = uint64_t(::sysconf(_SC_PAGESIZE));
    for (uint64_t at = 0; at < size; at += page)
      __atomic_fetch_or(data + at, 0, __ATOMIC_RELAXED);
  }
};

} // namespace

void touchPages(void *data, uint64_t bytes, int threads) {
  constexpr uint64_t kWorthIt = 1 << 20; // of a thread
  threads = std::min(threads, teamSize());
  if (threads <= 1 || bytes / threads < kWorthIt)
    return;
  Touching touching{
      static_cast<char *>(data), bytes, uint32_t(threads), {uint32_t(threads)}};
  auto work = [](void *context, int64_t begin, int64_t end) {
    for (int64_t share = begin; share < end; ++share)
      static_cast<Touching *>(context)->share(share);
  };
  ownTeam().run({work, &touching, threads, uint32_t(threads), /*pieces=*/1,
                 /*seconds=*/1, /*meets=*/false});
}

void setTeamSize(int threads, const std::vector<int> &processors) {
  setOwnTeam(threads, processors);
}

int teamSize() { return workHint().alone ? 1 : ownTeam().size(); }

bool startTeam() { return ownTeam().start(); }

void parallelFor(int64_t grid, int threads, RangeFunction function,
                 void *const *buffers) {
  if (grid <= 0)
    return;
  int64_t shares = std::min<int64_t>({threads, teamSize(), grid});
  if (shares <= 1)
    return function(buffers, 0, grid);
  Call call{function, buffers};
  const double seconds = workHint().seconds;
  ownTeam().run({runRange, &call, grid, uint32_t(shares),
                 piecesOf(seconds, shares), seconds, /*meets=*/false});
}

} // namespace zc::kernels
