// Whether a step's numbers let a run go on.
#ifndef ZC_RUNTIME_DRIVER_STEPCHECKS_H
#define ZC_RUNTIME_DRIVER_STEPCHECKS_H

#include "runtime/Driver/Metrics.h"

#include <functional>
#include <optional>

namespace zc {

/// The metrics of a step.
struct StepMetrics {
  Metric loss = {0, "0"};
  std::optional<Metric> skipped, scale; // of a scaled loss
  std::optional<Metric> norm;
  std::optional<ExpertTokens> experts;
  std::vector<double> gradientCounts; // empty: nothing counts them
};

/// The metrics that the program reports which has ended the step.
Result<StepMetrics> readStepMetrics(Executor &executor,
                                    const plan::Program &last);

class StepChecks {
public:
  /// Explains from a step's samples why its loss is NaN; empty: cannot.
  using Explain = std::function<Result<std::string>()>;

  /// Says what a user still has.
  using Kept = std::function<std::string()>;

  /// `isScaled`: the loss may be scaled.
  Status checkNumbers(int64_t step, const StepMetrics &metrics,
                      const Kept &kept, bool isScaled, const Explain &explain);

  /// Checks a scaled loss: warns if the step was skipped, fails if a run would
  /// skip for ever.
  Status checkScale(int64_t step, const StepMetrics &metrics, const Kept &kept,
                    std::string &warning);

private:
  // One after another, so far.
  int normlessSteps = 0; // gradients are no numbers
  int skippedSteps = 0;  // of a scale that stays
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_STEPCHECKS_H
