// Evaluation: loss and metrics over held-out samples, exactly, partial batches
// included.
#ifndef ZC_RUNTIME_DRIVER_HELDOUT_H
#define ZC_RUNTIME_DRIVER_HELDOUT_H

#include "runtime/Driver/EvaluationMetrics.h"
#include "runtime/Driver/EvaluationSums.h"
#include "runtime/Driver/OrderFeed.h"
#include "runtime/Exec/OrderRunner.h"
#include "runtime/Io/RunLog.h"

#include <functional>

namespace zc {

class HeldOut {
public:
  /// Opens and checks the data, which `option` names, with `tokenBits` as in
  /// DataFile::open; `artifact` must have an evaluation program that reports a
  /// loss, and all metrics.
  static Result<HeldOut> open(const Artifact &artifact, const char *option,
                              const std::string &data,
                              const std::vector<std::string> &metrics,
                              const Mesh &mesh, int64_t rank,
                              int tokenBits = 0);

  /// Called by all ranks before the first evaluation: roles differ in what they
  /// know of the data.
  Status agree(World &world);

  const DataFile &source() const { return feed.source(); }
  int64_t samples() const { return feed.samples(); }
  std::vector<std::string> notes() const { return feed.notes(); }

  /// Nobody else evaluates: outputs of the model that no metric takes are not
  /// computed from now on.
  void pruneOutputs() { prunes = true; }

  /// Asked before each batch with how many samples are done: whether this rank
  /// wishes to stop, 0 for no.
  using Wish = std::function<int64_t(int64_t done)>;

  /// Runs over all samples, on all ranks; returns the same on all. A wish to
  /// stop ends it without a record: `stopped` is then the largest of all ranks.
  Result<std::optional<EvaluationRecord>> evaluate(Executor &executor,
                                                   int64_t step,
                                                   const Wish &wish,
                                                   int64_t &stopped);

private:
  Status readBatch(int64_t at);
  Result<bool> goesOn(World &world, const Status &added, int64_t next,
                      const Wish &wish, int64_t &stopped);
  Status runBatch(Executor &executor, OrderRunner &runner, EvaluationSums &sums,
                  Status &added);
  Status checkWhole() const;

  HeldOut(plan::Order order, OrderFeed feed, EvaluationMetrics metrics)
      : order(std::move(order)), feed(std::move(feed)),
        metrics(std::move(metrics)) {}

  plan::Order order;
  OrderFeed feed;
  EvaluationMetrics metrics;
  std::string option;
  bool prunes = false;   // outputs that nobody takes are not computed
  bool isPruned = false; // that has been said
  bool isPadded = false; // what is missing to a batch counts for nothing
  int holder = 0;        // the first role that knows the loss
  int roles = 1;
  std::vector<int64_t> indices;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_HELDOUT_H
