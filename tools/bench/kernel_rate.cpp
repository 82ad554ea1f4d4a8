// zc-kernel-rate: how fast one library kernel alone is, the limit that a
// training step is measured against.
//
//   zc-kernel-rate THREADS matmul M K N
//   zc-kernel-rate THREADS conv BATCH CHANNELS SIZE FILTERS TAPS
//   zc-kernel-rate THREADS ways BATCH CHANNELS SIZE FILTERS TAPS
//
// Prints GFLOP/s of the fastest of several runs, in float32; with `ways`, the
// milliseconds of each way to compute a convolution, its image's and its
// filter's gradient, the rule's first. Ways run in turn, so that a busy machine
// holds up all of them.
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

ConvolutionSpec describeConvolution(ConvolutionKind kind, const int64_t *n) {
  int64_t batch = n[0], channels = n[1], size = n[2], filters = n[3];
  int64_t taps = n[4], pad = taps / 2;
  ConvolutionSpec spec;
  spec.kind = kind;
  spec.source = image(batch, channels, size);
  spec.destination = image(batch, filters, size);
  spec.filter = rowMajor({filters, channels, taps, taps});
  spec.strides = spec.dilations = {1, 1};
  spec.padsLow = spec.padsHigh = {pad, pad};
  return spec;
}

Bench makeConvolution(int threads, const ConvolutionSpec &spec,
                      std::string *error, Way way = Way::Rule) {
  uint64_t bytes = ConvolutionCall::cpuWorkspace(spec, threads);
  const std::vector<int64_t> &source = spec.source.dims,
                             &filter = spec.filter.dims;
  int64_t pixels = source[0] * source[2] * source[3];
  int64_t weights = filter[0] * filter[1] * filter[2] * filter[3];
  return {createPrimitive(spec, bytes, error, way),
          bytes,
          {pixels * source[1], weights, pixels * filter[0]},
          2.0 * pixels * weights};
}

float *allocate(uint64_t bytes) {
  void *memory = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
  std::memset(memory, 0, bytes);
  return static_cast<float *>(memory);
}

/// Memory for a kernel's operands.
struct Memory {
  void *operands[3], *workspace;

  explicit Memory(const Bench &bench) {
    for (int i = 0; i < 3; ++i)
      operands[i] = allocate(4 * bench.elements[i]);
    workspace = allocate(bench.workspaceBytes);
  }
  ~Memory() {
    for (void *operand : operands)
      std::free(operand);
    std::free(workspace);
  }
  Memory(const Memory &) = delete;
};

/// Seconds of one run; 0 where it fails.
double runOnce(Bench &bench, const Memory &memory, std::string *error) {
  auto begin = std::chrono::steady_clock::now();
  if (!bench.kernel->execute(memory.operands, memory.workspace, error))
    return 0;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

double measure(Bench &bench, std::string *error) {
  Memory memory(bench);
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    double seconds = runOnce(bench, memory, error);
    if (seconds <= 0)
      return 0;
    best = std::max(best, bench.flops / seconds / 1e9);
  }
  return best;
}

/// False where no way could be measured.
bool compareWays(int threads, ConvolutionKind kind, const int64_t *numbers,
                 std::string *error) {
  ConvolutionSpec spec = describeConvolution(kind, numbers);
  spec.winograd = true;
  std::vector<Bench> ways;
  std::vector<double> least;
  std::vector<const char *> names;
  for (Way way : waysOf(spec))
    if (Bench bench = makeConvolution(threads, spec, error, way);
        bench.kernel) {
      ways.push_back(std::move(bench));
      least.push_back(1e9);
      names.push_back(nameOf(way));
    }
  if (ways.empty())
    return false;
  Memory memory(ways[0]);
  for (int run = 0; run < 2 * kRuns; ++run)
    for (size_t i = 0; i < ways.size(); ++i)
      least[i] = std::min(least[i], runOnce(ways[i], memory, error));
  constexpr const char *kKinds[] = {"convolution", "input gradient",
                                    "filter gradient"};
  std::printf("%s:", kKinds[int(kind)]);
  for (size_t i = 0; i < ways.size(); ++i)
    std::printf(" %s %.2f ms", names[i], 1e3 * least[i]);
  std::printf("\n");
  return true;
}

bool compareWays(int threads, const int64_t *numbers, std::string *error) {
  for (ConvolutionKind kind :
       {ConvolutionKind::Forward, ConvolutionKind::BackwardInput,
        ConvolutionKind::BackwardFilter})
    if (!compareWays(threads, kind, numbers, error))
      return false;
  return true;
}

} // namespace

static int usage() {
  std::fprintf(
      stderr,
      "usage: zc-kernel-rate THREADS matmul M K N\n"
      "       zc-kernel-rate THREADS conv|ways BATCH CHANNELS SIZE FILTERS "
      "TAPS\n");
  return 2;
}

static int fail(const std::string &error) {
  std::fprintf(stderr, "zc-kernel-rate: error: %s\n", error.c_str());
  return 1;
}

int main(int argc, char **argv) {
  bool matmul = argc == 6 && std::strcmp(argv[2], "matmul") == 0;
  bool ways = argc == 8 && std::strcmp(argv[2], "ways") == 0;
  bool convolution = argc == 8 && std::strcmp(argv[2], "conv") == 0;
  int64_t numbers[5] = {};
  bool positive = matmul || convolution || ways;
  for (int i = 3; i < argc && positive; ++i)
    positive = (numbers[i - 3] = std::atoll(argv[i])) > 0;
  int threads = argc > 1 ? std::atoi(argv[1]) : 0;
  if (!positive || threads < 1)
    return usage();
  setTeamSize(threads);
  std::string error;
  if (ways)
    return compareWays(threads, numbers, &error) ? 0 : fail(error);
  Bench bench =
      matmul
          ? makeMatmul(threads, numbers, &error)
          : makeConvolution(
                threads, describeConvolution(ConvolutionKind::Forward, numbers),
                &error);
  double rate = bench.kernel ? measure(bench, &error) : 0;
  if (rate == 0)
    return fail(error);
  std::printf("%.1f\n", rate);
  return 0;
}
