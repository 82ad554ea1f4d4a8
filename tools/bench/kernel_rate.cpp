// zc-kernel-rate: how fast one library kernel alone is, the limit that a
// training step is measured against.
//
//   zc-kernel-rate THREADS matmul M K N
//   zc-kernel-rate THREADS conv BATCH CHANNELS SIZE FILTERS TAPS
//
// Prints GFLOP/s of the fastest of several runs, in float32.
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Primitive.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace zc::kernels;

namespace {

constexpr int kRuns = 8;

struct Bench {
  std::unique_ptr<Primitive> kernel;
  uint64_t workspaceBytes;
  int64_t elements[3]; // of the operands
  double flops;
};

StridedTensor rowMajor(std::vector<int64_t> dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i)
    strides[i - 1] = strides[i] * dims[i];
  return {ElementType::F32, std::move(dims), std::move(strides)};
}

StridedTensor image(int64_t n, int64_t c, int64_t size) {
  return {
      ElementType::F32, {n, c, size, size}, {size * size * c, 1, size * c, c}};
}

Bench makeMatmul(int threads, const int64_t *n, std::string *error) {
  MatmulSpec spec{rowMajor({n[0], n[1]}), rowMajor({n[1], n[2]}),
                  rowMajor({n[0], n[2]}), false};
  uint64_t bytes = MatmulCall::cpuWorkspace(spec, threads);
  return {createPrimitive(spec, bytes, error),
          bytes,
          {n[0] * n[1], n[1] * n[2], n[0] * n[2]},
          2.0 * n[0] * n[1] * n[2]};
}

Bench makeConvolution(int threads, const int64_t *n, std::string *error) {
  int64_t batch = n[0], channels = n[1], size = n[2], filters = n[3];
  int64_t taps = n[4], pad = taps / 2;
  ConvolutionSpec spec;
  spec.source = image(batch, channels, size);
  spec.destination = image(batch, filters, size);
  spec.filter = rowMajor({filters, channels, taps, taps});
  spec.strides = spec.dilations = {1, 1};
  spec.padsLow = spec.padsHigh = {pad, pad};
  uint64_t bytes = ConvolutionCall::cpuWorkspace(spec, threads);
  int64_t pixels = batch * size * size;
  return {
      createPrimitive(spec, bytes, error),
      bytes,
      {pixels * channels, filters * channels * taps * taps, pixels * filters},
      2.0 * pixels * filters * channels * taps * taps};
}

float *allocate(uint64_t bytes) {
  void *memory = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
  std::memset(memory, 0, bytes);
  return static_cast<float *>(memory);
}

double measure(Bench &bench, std::string *error) {
  void *operands[3];
  for (int i = 0; i < 3; ++i)
    operands[i] = allocate(4 * bench.elements[i]);
  void *workspace = allocate(bench.workspaceBytes);
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    auto begin = std::chrono::steady_clock::now();
    if (!bench.kernel->execute(operands, workspace, error))
      return 0;
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    best = std::max(best, bench.flops / time.count() / 1e9);
  }
  for (void *operand : operands)
    std::free(operand);
  std::free(workspace);
  return best;
}

} // namespace

int main(int argc, char **argv) {
  bool matmul = argc == 6 && std::strcmp(argv[2], "matmul") == 0;
  bool convolution = argc == 8 && std::strcmp(argv[2], "conv") == 0;
  int64_t numbers[5] = {};
  bool positive = matmul || convolution;
  for (int i = 3; i < argc && positive; ++i)
    positive = (numbers[i - 3] = std::atoll(argv[i])) > 0;
  int threads = argc > 1 ? std::atoi(argv[1]) : 0;
  if (!positive || threads < 1) {
    std::fprintf(stderr, "usage: zc-kernel-rate THREADS matmul M K N\n"
                         "       zc-kernel-rate THREADS conv BATCH CHANNELS "
                         "SIZE FILTERS TAPS\n");
    return 2;
  }
  setTeamSize(threads);
  std::string error;
  Bench bench = matmul ? makeMatmul(threads, numbers, &error)
                       : makeConvolution(threads, numbers, &error);
  double rate = bench.kernel ? measure(bench, &error) : 0;
  if (rate == 0) {
    std::fprintf(stderr, "zc-kernel-rate: error: %s\n", error.c_str());
    return 1;
  }
  std::printf("%.1f\n", rate);
  return 0;
}
