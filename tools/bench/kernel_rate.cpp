// zc-kernel-rate: how fast one library kernel alone is, the limit that a
// training step is measured against.
//
//   zc-kernel-rate THREADS matmul M K N
//   zc-kernel-rate THREADS conv BATCH CHANNELS SIZE FILTERS TAPS
//   zc-kernel-rate THREADS ways BATCH CHANNELS SIZE FILTERS TAPS
//   zc-kernel-rate THREADS products M K N [bf16]
//
// Prints GFLOP/s of the fastest of several runs, in float32; with `ways`, the
// milliseconds of each way to compute a convolution, its image's and its
// filter's gradient, the rule's first; with `products`, the GFLOP/s of each way
// to multiply, the rule's first, where a and b are as they lie (n) or
// transposed (T). Ways run in turn, so that a busy machine holds up all of
// them.
#include "kernels/Calls/Division/MatmulBlocks.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Primitive.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

using namespace zc::kernels;

namespace {

constexpr int kRuns = 8;

struct Bench {
  std::unique_ptr<Primitive> kernel;
  uint64_t workspaceBytes;
  int64_t elements[3]; // of the operands
  double flops;
  int64_t elementBytes = sizeof(float);
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

/// On huge pages, as a run's regions are.
float *allocate(uint64_t bytes) {
  constexpr uint64_t kHugePage = 2 << 20;
  uint64_t whole = (bytes + 64 + kHugePage - 1) / kHugePage * kHugePage;
  void *memory = std::aligned_alloc(kHugePage, whole);
  ::madvise(memory, whole, MADV_HUGEPAGE);
  std::memset(memory, 0, bytes);
  return static_cast<float *>(memory);
}

/// Memory for a kernel's operands.
struct Memory {
  void *operands[3], *workspace;

  explicit Memory(const Bench &bench) {
    for (int i = 0; i < 3; ++i)
      operands[i] = allocate(bench.elementBytes * bench.elements[i]);
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

/// The ways to compute one call.
struct Ways {
  std::vector<Bench> benches;
  std::vector<const char *> names;

  void add(Bench bench, Way way) {
    if (!bench.kernel)
      return;
    benches.push_back(std::move(bench));
    names.push_back(nameOf(way));
  }

  /// The least seconds of each, in so many rounds and so many seconds at least.
  std::vector<double> measure(int rounds, double seconds, std::string *error) {
    Memory memory(benches.front());
    std::vector<double> least(benches.size(), 1e9);
    double spent = 0;
    for (int round = 0; round < rounds || spent < seconds; ++round)
      for (size_t i = 0; i < benches.size(); ++i) {
        double took = runOnce(benches[i], memory, error);
        least[i] = std::min(least[i], took);
        spent += took;
      }
    return least;
  }
};

/// False where no way could be measured.
bool compareWays(int threads, ConvolutionKind kind, const int64_t *numbers,
                 std::string *error) {
  ConvolutionSpec spec = describeConvolution(kind, numbers);
  spec.winograd = true;
  Ways ways;
  for (Way way : waysOf(spec))
    ways.add(makeConvolution(threads, spec, error, way), way);
  if (ways.benches.empty())
    return false;
  std::vector<double> least = ways.measure(2 * kRuns, 1, error);
  constexpr const char *kKinds[] = {"convolution", "input gradient",
                                    "filter gradient"};
  std::printf("%s:", kKinds[int(kind)]);
  for (size_t i = 0; i < least.size(); ++i)
    std::printf(" %s %.2f ms", ways.names[i], 1e3 * least[i]);
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

StridedTensor matrix(ElementType type, int64_t rows, int64_t columns,
                     bool transposed) {
  return {type,
          {rows, columns},
          transposed ? std::vector<int64_t>{1, rows}
                     : std::vector<int64_t>{columns, 1}};
}

/// False where no way could be measured.
bool compareProducts(int threads, const int64_t *n, ElementType type,
                     std::string *error) {
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true}) {
      MatmulSpec spec{matrix(type, n[0], n[1], transposeA),
                      matrix(type, n[1], n[2], transposeB),
                      matrix(type, n[0], n[2], false), false};
      // Tiles are measured where no memory is planned for them, too.
      uint64_t bytes = std::max(MatmulCall::cpuWorkspace(spec, threads),
                                tiledMatmulWorkspace(spec, threads));
      Ways ways;
      for (Way way : waysOf(spec))
        ways.add({createPrimitive(spec, bytes, error, way),
                  bytes,
                  {n[0] * n[1], n[1] * n[2], n[0] * n[2]},
                  2.0 * n[0] * n[1] * n[2],
                  elementBytes(type)},
                 way);
      if (ways.benches.empty())
        return false;
      std::vector<double> least = ways.measure(2 * kRuns, 2, error);
      std::printf("%c%c:", transposeA ? 'T' : 'n', transposeB ? 'T' : 'n');
      for (size_t i = 0; i < least.size(); ++i)
        std::printf(" %s %.1f", ways.names[i],
                    ways.benches[i].flops / least[i] / 1e9);
      std::printf("\n");
    }
  return true;
}

} // namespace

static int usage() {
  std::fprintf(
      stderr,
      "usage: zc-kernel-rate THREADS matmul M K N\n"
      "       zc-kernel-rate THREADS products M K N [bf16]\n"
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
  bool narrow = argc == 7 && std::strcmp(argv[6], "bf16") == 0;
  bool products =
      (argc == 6 || narrow) && std::strcmp(argv[2], "products") == 0;
  bool ways = argc == 8 && std::strcmp(argv[2], "ways") == 0;
  bool convolution = argc == 8 && std::strcmp(argv[2], "conv") == 0;
  int64_t numbers[5] = {};
  bool positive = matmul || convolution || ways || products;
  for (int i = 3; i < argc - (narrow ? 1 : 0) && positive; ++i)
    positive = (numbers[i - 3] = std::atoll(argv[i])) > 0;
  int threads = argc > 1 ? std::atoi(argv[1]) : 0;
  if (!positive || threads < 1)
    return usage();
  setTeamSize(threads);
  std::string error;
  if (ways)
    return compareWays(threads, numbers, &error) ? 0 : fail(error);
  if (products)
    return compareProducts(threads, numbers,
                           narrow ? ElementType::BF16 : ElementType::F32,
                           &error)
               ? 0
               : fail(error);
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
