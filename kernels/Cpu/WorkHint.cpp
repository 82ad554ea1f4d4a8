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

double secondsOfProducts(double flops) { return flops / kProductsPerSecond; }

double secondsOfMemory(double bytes) { return bytes / kBytesPerSecond; }

} // namespace zc::kernels
