// Evaluation while training: loss and accuracy over held-out samples, exactly,
// partial batches included.
#ifndef ZC_RUNTIME_DRIVER_HELDOUT_H
#define ZC_RUNTIME_DRIVER_HELDOUT_H

#include "runtime/Io/BatchFeed.h"
#include "runtime/Io/RunLog.h"

namespace zc {

class HeldOut {
public:
  /// Opens and checks the data, with `tokenBits` as in DataFile::open;
  /// `artifact` must have an evaluation program that
  /// reports a loss.
  static Result<HeldOut> open(const Artifact &artifact, const std::string &data,
                              const Mesh &mesh, int64_t rank,
                              int tokenBits = 0);

  const DataFile &source() const { return feed.source(); }

  /// Runs over all samples, on all ranks; returns the same on all. A signal to
  /// stop ends it without a record: `stopped` is then what it was.
  Result<std::optional<EvaluationRecord>> evaluate(Executor &executor,
                                                   int64_t step, int &stopped);

private:
  /// What the metrics of all batches add up to.
  struct Sums {
    double loss = 0, weight = 0, correct = 0;
    bool hasCorrect = false;
  };
  Status addBatch(Executor &executor, Sums &sums) const;

  HeldOut(const plan::Program &program, BatchFeed feed)
      : program(&program), feed(std::move(feed)) {}

  const plan::Program *program;
  BatchFeed feed;
  std::vector<int64_t> indices;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_HELDOUT_H
