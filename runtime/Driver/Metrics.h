// The scalars that a program reports.
#ifndef ZC_RUNTIME_DRIVER_METRICS_H
#define ZC_RUNTIME_DRIVER_METRICS_H

#include "runtime/Exec/Executor.h"

#include <optional>

namespace zc {

struct Metric {
  double value;
  std::string text; // the shortest decimal that reads back exactly
};

/// The metric of that name, or nothing when the program has none.
Result<std::optional<Metric>> readMetric(Executor &executor,
                                         const plan::Program &program,
                                         std::string_view name);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_METRICS_H
