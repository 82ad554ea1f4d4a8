// Metrics of an evaluation besides the loss (--metrics): computed on the host
// from the model's output and the labels, batch by batch.
#ifndef ZC_RUNTIME_DRIVER_EVALUATIONMETRICS_H
#define ZC_RUNTIME_DRIVER_EVALUATIONMETRICS_H

#include "runtime/Driver/MatchedLabels.h"
#include "runtime/Exec/Executor.h"
#include "runtime/Io/BatchFeed.h"
#include "runtime/Plan/Artifact.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace zc {

/// The names that --metrics takes.
const std::vector<std::string> &metricNames();

/// Whether less is better: of "loss", "perplexity" and "mae".
bool isLowerBetter(const std::string &metric);

/// One metric over all samples of an evaluation.
class SampleMetric {
public:
  virtual ~SampleMetric() = default;

  /// A batch's output and labels, as this rank has them.
  struct Batch {
    const plan::TensorType &outputType;
    const char *output;
    const plan::TensorType &labelType;
    const char *labels;
    int64_t batchDim; // of the labels; -1: there is none
    int64_t samples;  // along it; what lies behind them is padding
    int64_t classAxis;
    const plan::ValueRange &range; // of the labels
    // The places of a sample's elements in the whole sample; empty: it is
    // whole.
    const std::vector<int64_t> &columns;
  };
  virtual void add(const Batch &batch) = 0;

  /// A rank's sums; all ranks have equally many numbers.
  virtual std::vector<double> found() const = 0;
  /// The metric, from all ranks' sums.
  virtual double value(const std::vector<std::vector<double>> &ranks) const = 0;
};

class EvaluationMetrics {
public:
  /// Fails where a metric is none of the artifact's loss. "accuracy" is
  /// computed by the program itself, and "perplexity" from the loss.
  static Result<EvaluationMetrics> create(const Artifact &artifact,
                                          const std::vector<std::string> &names,
                                          const Mesh &mesh, int64_t rank);

  bool wants(const std::string &name) const;

  /// Begins anew.
  void clear();
  /// Whether it is this program whose output they take.
  bool isOf(const plan::Program &other) const { return program == &other; }
  /// The model's outputs that they take: one, or none.
  std::set<std::string> outputs() const {
    return output ? std::set<std::string>{output->name()}
                  : std::set<std::string>();
  }
  /// Takes the samples that this call of the program has just run on.
  Status add(Executor &executor, const plan::Call &call,
             const std::optional<BatchFeed::Labels> &fed);
  /// Names and values, the same on all ranks. Called by all of them. `loss` is
  /// the mean over all samples.
  Result<std::vector<std::pair<std::string, double>>> finish(World &world,
                                                             double loss);

private:
  /// Finds the role and the program that the loss's output is of.
  Status takeOutput(const Artifact &artifact, const Mesh &mesh, int64_t rank);

  std::string loss;
  std::vector<std::string> names;
  const plan::Program *program = nullptr;
  const plan::Output *output = nullptr; // what the loss is of
  int64_t classAxis = -1;
  int64_t numColumns = 1;   // elements of a sample
  std::vector<int> sharers; // ranks whose parts are the output
  MatchedLabels labels;
  std::vector<std::pair<std::string, std::unique_ptr<SampleMetric>>> metrics;
  std::string part; // the output as the program leaves it
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_EVALUATIONMETRICS_H
