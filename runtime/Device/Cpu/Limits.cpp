#include "runtime/Device/Cpu/Limits.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Primitive.h"

#include <algorithm>
#include <chrono>

namespace zc::cpu {
namespace {

constexpr int kRuns = 8, kLeastRuns = 2;
constexpr double kEnough = 0.1;      // seconds, after which no more runs begin
constexpr int64_t kSize = 1024;      // rows and columns of the matrices
constexpr int64_t kBlock = 1 << 16;  // elements added at a time
constexpr int64_t kAdded = 25 << 20; // elements, more than caches hold
constexpr int64_t kLanes = 16;       // of the widest vectors

/// Seconds of the fastest of several runs.
template <typename Function> double fastest(Function run) {
  double best = 1e30, total = 0;
  for (int i = 0; i < kRuns && (i < kLeastRuns || total < kEnough); ++i) {
    auto begin = std::chrono::steady_clock::now();
    run();
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, time.count());
    total += time.count();
  }
  return std::max(best, 1e-9);
}

Result<double> measureFlops(int threads) {
  kernels::StridedTensor square{
      kernels::ElementType::F32, {kSize, kSize}, {kSize, 1}};
  kernels::MatmulSpec spec{square, square, square, false};
  uint64_t bytes = kernels::MatmulCall::cpuWorkspace(spec, threads);
  std::string error;
  auto product = kernels::createPrimitive(spec, bytes, &error);
  if (!product)
    return makeError(StatusCode::Internal, error);
  std::vector<float> matrices[3];
  for (auto &matrix : matrices)
    matrix.assign(kSize * kSize, 1);
  std::vector<char> workspace(bytes + 64);
  auto aligned = (reinterpret_cast<uintptr_t>(workspace.data()) + 63) / 64 * 64;
  void *operands[] = {matrices[0].data(), matrices[1].data(),
                      matrices[2].data()};
  bool works = true;
  double seconds = fastest([&] {
    works = works && product->execute(
                         operands, reinterpret_cast<void *>(aligned), &error);
  });
  if (!works)
    return makeError(StatusCode::Internal, error);
  return 2.0 * kSize * kSize * kSize / seconds;
}

void addBlocks(void *const *buffers, int64_t begin, int64_t end) {
  auto *to = static_cast<float *>(buffers[0]) + begin * kBlock;
  auto *from = static_cast<const float *>(buffers[1]) + begin * kBlock;
  for (int64_t i = 0; i < (end - begin) * kBlock; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      to[i + lane] += from[i + lane];
}

/// Times y += x: a copy would also read the lines that it overwrites.
double measureAdd(int threads) {
  std::vector<float> to(kAdded, 1), from(kAdded, 1);
  void *buffers[] = {to.data(), from.data()};
  double seconds = fastest([&] {
    kernels::parallelFor(kAdded / kBlock, threads, addBlocks, buffers);
  });
  return 3.0 * sizeof(float) * kAdded / seconds;
}

} // namespace

Result<DeviceLimits> measureLimits(int threads) {
  ZC_ASSIGN_OR_RETURN(double flops, measureFlops(threads));
  return DeviceLimits{flops, measureAdd(threads)};
}

} // namespace zc::cpu
