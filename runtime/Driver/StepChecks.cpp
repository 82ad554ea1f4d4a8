#include "runtime/Driver/StepChecks.h"

#include <cmath>

namespace zc {

Result<StepMetrics> readStepMetrics(Executor &executor,
                                    const plan::Program &last) {
  StepMetrics metrics;
  ZC_ASSIGN_OR_RETURN(std::optional<Metric> loss,
                      readMetric(executor, last, "loss"));
  if (loss)
    metrics.loss = *loss;
  ZC_ASSIGN_OR_RETURN(metrics.skipped, readMetric(executor, last, "skipped"));
  ZC_ASSIGN_OR_RETURN(metrics.scale, readMetric(executor, last, "loss_scale"));
  ZC_ASSIGN_OR_RETURN(metrics.norm, readMetric(executor, last, "grad_norm"));
  ZC_ASSIGN_OR_RETURN(metrics.experts, readExpertTokens(executor, last));
  ZC_ASSIGN_OR_RETURN(metrics.gradientCounts,
                      readGradientCounts(executor, last));
  return metrics;
}

/// The parameters are already updated from such a loss, so that nothing after
/// it is worth saving. With a scaled loss they are not: the step was skipped.
/// Gradients may be no numbers where the loss is one, by a ReLU that makes 0 of
/// what is none. Once may be of a parameter that a checkpoint would name.
Status StepChecks::checkNumbers(int64_t step, const StepMetrics &metrics,
                                const Kept &kept, bool isScaled,
                                const Explain &explain) {
  const Metric &loss = metrics.loss;
  bool isLossless = !std::isfinite(loss.value);
  bool isNormless =
      metrics.norm && std::isnan(metrics.norm->value) && !metrics.skipped;
  normlessSteps = isNormless ? normlessSteps + 1 : 0;
  if (!isLossless && !isNormless)
    return Status();
  ZC_ASSIGN_OR_RETURN(std::string cause, explain());
  if (!isLossless && cause.empty() && normlessSteps == 1)
    return Status();
  std::string found =
      isLossless ? strCat("the loss is ", loss.text)
                 : strCat("the gradients' norm is ", metrics.norm->text);
  if (!cause.empty())
    return makeError(StatusCode::InvalidArgument, "step ", step, ": ", found,
                     ", for ", cause, "; stopped; ", kept());
  std::string advice = "try a smaller --lr";
  if (isScaled)
    advice = "the forward overflows fp16, whose largest number is 65504; "
             "compile with --precision bf16, or scale the data down";
  return makeError(StatusCode::InvalidArgument, "step ", step, ": ", found,
                   "; stopped; ", kept(), "; ", advice);
}

Status StepChecks::checkScale(int64_t step, const StepMetrics &metrics,
                              const Kept &kept, std::string &warning) {
  const std::optional<Metric> &scale = metrics.scale;
  const bool isSkipped = metrics.skipped && metrics.skipped->value != 0;
  skippedSteps = isSkipped ? skippedSteps + 1 : 0;
  if (!isSkipped)
    return Status();
  if (!scale) { // it stays as --loss-scale has it
    // As many as a scale that adapts takes from 65536 to below 1.
    constexpr int kMostSkipped = 17;
    if (skippedSteps == kMostSkipped)
      return makeError(StatusCode::InvalidArgument, "step ", step,
                       ": gradients overflow fp16, as those of the ",
                       kMostSkipped - 1, " steps before, which were skipped; ",
                       "stopped; ", kept(),
                       "; compile with a smaller --loss-scale, or with "
                       "--loss-scale dynamic");
    warning = strCat("step ", step,
                     ": gradients overflow fp16; the step is skipped, and the "
                     "loss scaled as before (--loss-scale)");
    return Status();
  }
  // Below it gradients are lost that fp16 holds unscaled.
  constexpr double kLeastScale = 1;
  if (scale->value < kLeastScale)
    return makeError(StatusCode::InvalidArgument, "step ", step,
                     ": gradients overflow fp16 whatever the loss is scaled "
                     "by, down to ",
                     scale->text, "; stopped; ", kept(),
                     "; compile with --precision bf16");
  warning = strCat("step ", step,
                   ": gradients overflow fp16; the step is skipped and the "
                   "loss scaled by ",
                   scale->text, " from now on");
  return Status();
}

} // namespace zc
