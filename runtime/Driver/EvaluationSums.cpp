#include "runtime/Driver/EvaluationSums.h"
#include "runtime/Driver/Metrics.h"

#include <algorithm>

namespace zc {

static bool hasMetric(const plan::Program &program, const std::string &name) {
  return std::any_of(program.outputs().begin(), program.outputs().end(),
                     [&](const plan::Output &output) {
                       return output.kind() == plan::METRIC &&
                              output.name() == name;
                     });
}

int findLossHolder(const Artifact &artifact) {
  for (const auto &[role, program] : evaluationOf(artifact))
    if (hasMetric(*program, "loss_sum") && hasMetric(*program, "weight_sum"))
      return role;
  return -1;
}

bool takesSampleWeights(const Artifact &artifact) {
  for (const auto &[role, program] : evaluationOf(artifact))
    for (const plan::Input &input : program->inputs())
      if (input.is_sample_weight())
        return true;
  return false;
}

Status EvaluationSums::add(Executor &executor, const plan::Program &program) {
  for (auto [name, sum] : {std::pair("loss_sum", &loss),
                           {"weight_sum", &weight},
                           {"count_sum", &count},
                           {"correct_sum", &correct}}) {
    ZC_ASSIGN_OR_RETURN(std::optional<Metric> metric,
                        readMetric(executor, program, name));
    *sum += metric ? metric->value : 0;
    hasCorrect |= metric && sum == &correct;
    hasCount |= metric && sum == &count;
  }
  return Status();
}

std::optional<double> EvaluationSums::accuracy() const {
  return hasCorrect ? std::optional(correct / (hasCount ? count : weight))
                    : std::nullopt;
}

} // namespace zc
