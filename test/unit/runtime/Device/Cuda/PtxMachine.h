// Runs PTX on the CPU, thread after thread: what the fake driver launches. It
// knows the instructions that LLVM makes of zc's kernels, and says which one it
// does not know.
#ifndef ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXMACHINE_H
#define ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXMACHINE_H

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace zc::test {

struct PtxThread;

/// One entry of a PTX text.
struct PtxKernel {
  std::vector<std::string> parameters;
  std::vector<std::function<void(PtxThread &)>> code;
  size_t registers = 0;
  uint64_t sharedBytes = 0, localBytes = 0;
};

/// The entries by name; on what it cannot read it ends the program.
std::map<std::string, std::shared_ptr<PtxKernel>>
parsePtxKernels(const std::string &text);

/// Runs all teams, each until every thread has returned. Threads of a team run
/// one after another from barrier to barrier.
void runPtx(const PtxKernel &kernel, unsigned teams, unsigned threads,
            const std::vector<uint64_t> &arguments);

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXMACHINE_H
