// A thread that runs a PTX kernel.
#ifndef ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXTHREAD_H
#define ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXTHREAD_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace zc::test {

struct PtxThread;

/// Done at once for the threads of a warp, from the first one on.
using PtxWarpWork = std::function<void(PtxThread *)>;

enum class Stop { No, Barrier, Shuffle, Matrices, Done };

struct PtxThread {
  std::vector<uint64_t> registers;
  std::vector<char> local;
  char *shared = nullptr;
  const std::vector<uint64_t> *arguments = nullptr;
  unsigned thread = 0, team = 0, threads = 0, teams = 0;
  size_t pc = 0;
  Stop stop = Stop::No;
  uint32_t sent = 0, mask = 0;       // of a shuffle
  unsigned expected = 0;             // threads at a barrier; 0: all that run
  size_t received = 0;               // register that gets what another sent
  const PtxWarpWork *work = nullptr; // on matrices
};

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXTHREAD_H
