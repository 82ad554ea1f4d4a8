// The scalars that a program reports.
#ifndef ZC_RUNTIME_DRIVER_METRICS_H
#define ZC_RUNTIME_DRIVER_METRICS_H

#include "runtime/Exec/Executor.h"
#include "runtime/Plan/GradientEdges.h"

#include <optional>
#include <vector>

namespace zc {

struct Metric {
  double value;
  std::string text; // the shortest decimal that reads back exactly
};

/// How many rows each expert of each layer chose in a step, layer by layer, and
/// how many rows found no room.
struct ExpertTokens {
  int64_t experts = 0; // of a layer
  std::vector<double> rows;
  std::optional<double> overflow; // where rooms are limited

  /// The most that an expert has as a multiple of an even share, 1 or more:
  /// the mean over the layers.
  double balance() const;
};

/// How many elements of a step's gradients are below each of the edges (those
/// of kGradientEdges), below infinity and, last, infinite or no number
/// (--gradient-histogram); empty where nothing counts them.
Result<std::vector<double>> readGradientCounts(Executor &executor,
                                               const plan::Program &program);

/// The counts of a program whose model has experts.
Result<std::optional<ExpertTokens>>
readExpertTokens(Executor &executor, const plan::Program &program);

/// The metric of that name, or nothing when the program has none.
Result<std::optional<Metric>> readMetric(Executor &executor,
                                         const plan::Program &program,
                                         std::string_view name);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_METRICS_H
