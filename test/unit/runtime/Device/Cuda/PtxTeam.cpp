// Teams of threads that meet at barriers and exchange registers.
#include "test/unit/runtime/Device/Cuda/PtxMachine.h"
#include "test/unit/runtime/Device/Cuda/PtxThread.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace zc::test {
namespace {

[[noreturn]] void fail(const char *why) {
  std::fprintf(stderr, "PTX machine: %s\n", why);
  std::abort();
}

void runUntilStop(const PtxKernel &kernel, PtxThread &thread) {
  while (thread.stop == Stop::No)
    kernel.code[thread.pc++](thread);
}

/// Gives each thread of a warp what its partner sent, once all have sent.
bool exchange(PtxThread *warp, size_t size) {
  for (size_t i = 0; i < size; ++i)
    if (warp[i].stop != Stop::Shuffle)
      return false;
  for (size_t i = 0; i < size; ++i)
    warp[i].registers[warp[i].received] = warp[i ^ warp[i].mask].sent;
  for (size_t i = 0; i < size; ++i)
    warp[i].stop = Stop::No;
  return true;
}

/// Does the work of all threads of a warp, once all have come there.
bool workTogether(PtxThread *warp, size_t size) {
  for (size_t i = 0; i < size; ++i)
    if (warp[i].stop != Stop::Matrices)
      return false;
  if (size != 32)
    fail("matrices need a whole warp");
  (*warp->work)(warp);
  for (size_t i = 0; i < size; ++i)
    warp[i].stop = Stop::No;
  return true;
}

void runTeam(const PtxKernel &kernel, std::vector<PtxThread> &team) {
  while (true) {
    for (PtxThread &thread : team)
      runUntilStop(kernel, thread);
    bool exchanged = false;
    for (size_t first = 0; first < team.size(); first += 32) {
      size_t size = std::min<size_t>(32, team.size() - first);
      exchanged |=
          exchange(&team[first], size) || workTogether(&team[first], size);
    }
    if (exchanged)
      continue;
    size_t ended = 0, waiting = 0;
    for (PtxThread &thread : team) {
      ended += thread.stop == Stop::Done;
      waiting += thread.stop == Stop::Barrier;
    }
    if (ended == team.size())
      return;
    // All that have not ended, or as many as the barrier counts.
    bool met = ended + waiting == team.size();
    for (PtxThread &thread : team)
      if (thread.stop == Stop::Barrier) {
        met &= thread.expected == 0 || thread.expected == waiting;
        thread.stop = Stop::No;
      }
    if (!met)
      fail("not all threads of a team reach a barrier");
  }
}

} // namespace

void runPtx(const PtxKernel &kernel, unsigned teams, unsigned threads,
            const std::vector<uint64_t> &arguments) {
  std::vector<char> shared(kernel.sharedBytes + 16);
  char *base = reinterpret_cast<char *>(
      (reinterpret_cast<uintptr_t>(shared.data()) + 15) / 16 * 16);
  for (unsigned team = 0; team < teams; ++team) {
    std::vector<PtxThread> all(threads);
    for (unsigned thread = 0; thread < threads; ++thread) {
      PtxThread &one = all[thread];
      one.registers.resize(kernel.registers);
      one.local.resize(kernel.localBytes + 16);
      one.shared = base;
      one.arguments = &arguments;
      one.thread = thread;
      one.team = team;
      one.threads = threads;
      one.teams = teams;
    }
    runTeam(kernel, all);
  }
}

} // namespace zc::test
