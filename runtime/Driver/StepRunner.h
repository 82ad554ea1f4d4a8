// One rank's part of a training step on the device, whoever asks for it: zc
// run's trainer, or a caller of the library.
#ifndef ZC_RUNTIME_DRIVER_STEPRUNNER_H
#define ZC_RUNTIME_DRIVER_STEPRUNNER_H

#include "runtime/Driver/Session.h"
#include "runtime/Driver/StepChecks.h"
#include "runtime/Driver/StepOrders.h"
#include "runtime/Exec/OrderRunner.h"

namespace zc {

class StepRunner {
public:
  /// `session`, which outlives it, is prepared with trainingPrograms().
  explicit StepRunner(Session &session);

  /// How far runs of steps go, where steps overlap.
  StepOrders &orders() { return steps; }
  const StepOrders &orders() const { return steps; }

  /// Does as OrderRunner's.
  void addObserver(OrderObserver &observer) { runner.addObserver(observer); }

  /// The learning rate from the next step on.
  Status writeRate(float rate);

  /// Does step `step`, counted from 0: `callbacks` feed it, and need not tell
  /// of calls.
  Status run(int64_t step, OrderCallbacks callbacks);

  /// The metrics of step `step`, which has been done.
  Result<StepMetrics> readMetrics(int64_t step);

private:
  Status writePlace(int64_t step, uint32_t microBatch);

  Session &session;
  OrderRunner runner;
  StepOrders steps;
  const plan::State *const learningRate; // null: the optimizer has none
  const plan::State *const stepCount, *const microBatchCount;
};

/// The programs that steps of the session's role need, and those of an
/// evaluation.
std::vector<std::string> trainingPrograms(const Session &session);
std::vector<std::string> evaluationPrograms(const Session &session);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_STEPRUNNER_H
