// How much work a kernel is, for the team: known from what it is asked to do.
#ifndef ZC_KERNELS_CPU_WORKHINT_H
#define ZC_KERNELS_CPU_WORKHINT_H

#include "kernels/Cpu/Primitive.h"

namespace zc::kernels {

/// An estimate of the work that the calling thread is about to do.
struct WorkHint {
  /// About how long one thread takes; it decides whether others help. Unknown
  /// work counts as long.
  double seconds = 1;
  /// Parts may wait for one another, so that each needs a thread of its own.
  bool mayMeet = true;
  /// Nobody else is asked, and the library plans for one thread.
  bool alone = false;
};
const WorkHint &workHint();

/// Sets it for a scope.
class HintedWork {
public:
  explicit HintedWork(const WorkHint &hint);
  ~HintedWork();
  HintedWork(const HintedWork &) = delete;

private:
  WorkHint before;
};

/// Whether a kernel whose parts meet should rather be made for one thread: on a
/// busy machine each meeting may take milliseconds.
bool isBetterAlone(const WorkHint &hint);

/// The hint of a generated kernel, whose parts never wait for one another.
WorkHint hintOfKernel(double flops, double bytes);

/// About how long one thread takes for the FLOPs of products, and for bytes of
/// memory: for the hints of library kernels, and of our own for the same calls
/// (CpuCalls.h).
double secondsOfProducts(double flops);
double secondsOfMemory(double bytes);

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_WORKHINT_H
