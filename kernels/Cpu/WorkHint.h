// How much work a kernel is, for the team: known from what it is asked to do.
#ifndef ZC_KERNELS_CPU_WORKHINT_H
#define ZC_KERNELS_CPU_WORKHINT_H

#include "kernels/Cpu/Primitive.h"

namespace zc::kernels {

/// What the calling thread is about to do.
struct WorkHint {
  /// Of one thread, about: whether others are worth it. Unknown work is much.
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

/// Of a generated kernel, whose parts never meet.
WorkHint hintOfKernel(double flops, double bytes);
/// Of library kernels and our own beside them.
WorkHint hintOf(const MatmulSpec &spec, const Primitive &chosen);
WorkHint hintOf(const ConvolutionSpec &spec, const Primitive &chosen);
WorkHint hintOf(const AttentionSpec &spec, const Primitive &chosen);
WorkHint hintOf(const GroupedMatmulSpec &spec, const Primitive &chosen);
WorkHint hintOf(const SparseSpec &spec, const Primitive &chosen);

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_WORKHINT_H
