#include "compiler/Driver/ZeroOptions.h"

#include "compiler/Driver/MeshOptions.h"

using namespace zc;

ApplyZeroPassOptions zc::getZeroOptions(const CompileOptions &options) {
  ApplyZeroPassOptions zero;
  zero.stage = options.zero;
  for (const std::string &axis : getZeroAxes(options))
    zero.axes.push_back(axis);
  zero.unit = options.unit;
  zero.byDims = !isElementwise(options.optimizer);
  if (options.bucketMib)
    zero.mostBytes = std::max(int64_t(1), getBucketBytes(options));
  else if (options.zero < 3 && options.unit == "auto")
    zero.mostBytes = kMostTogether;
  zero.reshardAfterForward = !options.noReshardAfterForward;
  zero.reshardLast = options.reshardLast;
  zero.gathersWide = options.gatherPrecision == "fp32";
  // A server's units are those of stage 1, which one rank has whole.
  zero.keepsMoments = options.aggregation == "server";
  if (zero.keepsMoments && !zero.byDims)
    zero.stage = 1;
  // Clipping keeps every gradient; in stage 1 they are whole.
  zero.late =
      options.zero == 1 && options.clipNorm > 0 && options.accumulate == 1;
  return zero;
}
