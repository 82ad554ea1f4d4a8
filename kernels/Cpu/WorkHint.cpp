#include "kernels/Cpu/WorkHint.h"

#include <algorithm>

namespace zc::kernels {
namespace {

// A core of today: products, generated code, memory that is read and written.
// Nothing but the choice whether to ask for help depends on them.
constexpr double kProductsPerSecond = 1e11;
constexpr double kFlopsPerSecond = 1e10;
constexpr double kBytesPerSecond = 2e10;

thread_local WorkHint hintOfThread;

double count(const std::vector<int64_t> &dims) {
  double product = 1;
  for (int64_t dim : dims)
    product *= double(dim);
  return product;
}

bool isNamed(const Primitive &chosen, const char *part) {
  return chosen.implementation().find(part) != std::string::npos;
}

} // namespace

const WorkHint &workHint() { return hintOfThread; }

HintedWork::HintedWork(const WorkHint &hint) : before(hintOfThread) {
  hintOfThread = hint;
}

HintedWork::~HintedWork() { hintOfThread = before; }

bool isBetterAlone(const WorkHint &hint) {
  constexpr double kWorthMeeting = 200e-6;
  return hint.mayMeet && hint.seconds < kWorthMeeting;
}

WorkHint hintOfKernel(double flops, double bytes) {
  if (bytes <= 0 && flops <= 0)
    return {1, false, false};
  return {std::max(flops / kFlopsPerSecond, bytes / kBytesPerSecond), false,
          false};
}

WorkHint hintOf(const MatmulSpec &spec, const Primitive &chosen) {
  double flops = 2 * count(spec.c.dims) * double(spec.a.dims.back());
  return {flops / kProductsPerSecond, chosen.mayMeet(), false};
}

/// In oneDNN threads that compute parts of a filter's gradient meet to add them
/// up, and wait awake where we cannot see it; so may those of older kernels.
WorkHint hintOf(const ConvolutionSpec &spec, const Primitive &chosen) {
  double perFilter = count(spec.filter.dims) / double(spec.filter.dims[0]);
  double flops = 2 * count(spec.destination.dims) * perFilter;
  return {flops / kProductsPerSecond,
          (spec.kind == ConvolutionKind::BackwardFilter &&
           !isNamed(chosen, "tiles") && !isNamed(chosen, "winograd") &&
           !isNamed(chosen, "brg:")) ||
              isNamed(chosen, "gemm"),
          false};
}

WorkHint hintOf(const AttentionSpec &spec, const Primitive &) {
  double products = spec.backward ? 5 : 2;
  double flops = 2 * products * double(spec.batch * spec.heads) *
                 double(spec.queries * spec.keys) * double(spec.width);
  return {(spec.causal || spec.bounded ? 0.5 : 1.0) * flops /
              kProductsPerSecond,
          false, false};
}

WorkHint hintOf(const GroupedMatmulSpec &spec, const Primitive &chosen) {
  double flops = 2 * double(spec.rows * spec.inner) * double(spec.columns);
  return {flops / kProductsPerSecond, chosen.mayMeet(), false};
}

WorkHint hintOf(const SparseSpec &spec, const Primitive &) {
  return {2 * double(spec.elements * elementBytes(spec.type)) / kBytesPerSecond,
          false, false};
}

} // namespace zc::kernels
