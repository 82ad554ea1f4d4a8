// Sums over the batches of an evaluation.
#ifndef ZC_RUNTIME_DRIVER_EVALUATIONSUMS_H
#define ZC_RUNTIME_DRIVER_EVALUATIONSUMS_H

#include "runtime/Exec/Executor.h"

#include <optional>

namespace zc {

/// Plain numbers, so that ranks can send them.
struct EvaluationSums {
  double loss = 0, weight = 0, count = 0, correct = 0;
  bool hasCorrect = false;
  bool hasCount = false; // else the weights are how many count

  /// Adds the results of a program that has just run.
  Status add(Executor &executor, const plan::Program &program);

  /// PyTorch's mean: over no label at all it is not a number.
  double meanLoss() const { return loss / weight; }
  /// The share of labels that were predicted; none where nothing counts them.
  std::optional<double> accuracy() const;
};

/// The first role that reports a loss, or -1.
int findLossHolder(const Artifact &artifact);

/// Whether samples have weights, by which those that fill a batch count for
/// nothing.
bool takesSampleWeights(const Artifact &artifact);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_EVALUATIONSUMS_H
