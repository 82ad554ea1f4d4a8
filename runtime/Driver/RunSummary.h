// How the losses of a run went, for its last line: means over its first and its
// last steps, or evaluations where there were such.
#ifndef ZC_RUNTIME_DRIVER_RUNSUMMARY_H
#define ZC_RUNTIME_DRIVER_RUNSUMMARY_H

#include "runtime/Io/RunLog.h"

#include <deque>
#include <string>

namespace zc {

class RunSummary {
public:
  /// The summary of a run of `steps` steps.
  explicit RunSummary(int64_t steps = 1);

  void add(double loss);
  void add(const EvaluationRecord &record);

  /// "loss 2.31 -> 0.12 (means of 10 steps), eval loss 2.3 -> 0.2, ...".
  std::string print() const;

private:
  size_t span; // steps that are averaged
  size_t count = 0;
  double first = 0; // sum over the first `span` steps
  std::deque<double> last;
  std::optional<EvaluationRecord> before, after;
};

/// "eval loss 0.25, eval accuracy 0.9", and what else there is.
std::string printEvaluation(const EvaluationRecord &record,
                            const std::string &prefix);

/// The value of "loss", "accuracy" or another metric; nothing where the record
/// has none.
std::optional<double> valueOf(const EvaluationRecord &record,
                              const std::string &metric);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_RUNSUMMARY_H
