// What a zc_session does, in C++: one rank's training and evaluation, step by
// step, as a caller asks of all ranks.
#ifndef ZC_RUNTIME_API_APISESSION_H
#define ZC_RUNTIME_API_APISESSION_H

#include "runtime/Api/SessionInputs.h"
#include "runtime/Api/SessionOutputs.h"
#include "runtime/Api/SessionStates.h"
#include "runtime/Api/zc_types.h"
#include "runtime/Driver/EvaluationSums.h"
#include "runtime/Driver/StepRunner.h"
#include "runtime/Io/Checkpoint.h"

#include <functional>
#include <map>
#include <optional>

namespace zc {

/// Gets what a user may want to know: notes, and warnings.
using ApiLog = std::function<void(bool isWarning, const std::string &text)>;

struct ApiOptions {
  uint64_t seed = 0;
  int threads = 0; // 0: as many as planned and there are processors
  std::string offloadFolder;
  ApiLog log; // may be empty
  bool byLauncher = false;
  double timeout = 600;                  // seconds, for other ranks
  std::optional<zc_transport> transport; // the caller's ranks
};

/// Every function but the constant ones may fail; used by one thread at a time,
/// whichever. Those of steps, evaluations, states and files are called by all
/// ranks alike; where one fails, the session ends on all.
class ApiSession {
public:
  static Result<std::unique_ptr<ApiSession>> open(const std::string &artifact,
                                                  ApiOptions options);

  int rank() const { return world.rank(); }
  int ranks() const { return world.size(); }

  SessionInputs &inputs() { return *theInputs; }
  const SessionInputs &inputs() const { return *theInputs; }
  const SessionOutputs &outputs() const { return *theOutputs; }
  const SessionStates &states() const { return *theStates; }

  /// One optimizer step with the inputs that were set. `isFinite`: whether its
  /// loss and gradients are numbers; where not, the failure says so.
  Status step(bool &isFinite);
  int64_t stepsDone() const { return state.step; }

  /// From the next step on; at least 0.
  Status setLearningRate(double value);
  float learningRate() const { return rate; }
  Status setSetting(const std::string &name, double value);
  Status setSeed(uint64_t seed);

  /// The forward over all samples of the inputs.
  Status evaluate();

  /// Of the last step, then of the last evaluation.
  using Metrics = std::vector<std::pair<std::string, double>>;
  const Metrics &metrics() const { return theMetrics; }

  Status readState(const std::string &name, void *data, uint64_t bytes);
  Status writeState(const std::string &name, const void *data, uint64_t bytes);

  /// As zc_save() and the others of zc.h.
  Status save(const std::string &folder, int64_t keep);
  Status resume(const std::string &path);
  Status loadWeights(const std::string &path);
  Status exportWeights(const std::string &path);

private:
  ApiSession(ApiOptions options, std::unique_ptr<Transport> transport)
      : options(std::move(options)), world(std::move(transport)),
        place(placeAlone(world)) {}
  Status together(const std::function<Status()> &body);
  Status prepare(const std::string &artifact);
  Status prepareTraining();
  Status agreeOn(const Status &mine, std::vector<int64_t> numbers,
                 const char *what);
  std::vector<int64_t> numbersOfStep() const;
  Status checkKind() const;
  Status readSamples(OrderFeed *&feed);
  Status computeStep();
  Status takeMetrics(bool &isFinite);
  struct EvaluationNeeds;
  Status agreeOnSamples(const Result<OrderFeed *> &feed,
                        EvaluationNeeds &needs);
  Status computeEvaluation();
  Status runBatches(OrderFeed &feed, int64_t samples, EvaluationSums &sums);
  Status saveTogether(const std::string &folder, int64_t keep);
  Status resumeTogether(const std::string &path);
  Result<TrainState> loadState(const std::string &from);
  Status loadVersions(const std::string &path, WeightsReport &report);
  bool isOwn(const std::string &folder, int64_t latest) const;
  Status openFolder(const std::string &folder);
  void tell(bool isWarning, const std::string &text) const {
    if (options.log && !text.empty())
      options.log(isWarning, text);
  }
  bool trains() const { return stepper.has_value(); }
  Executor &executor() { return session->executor(); }

  const ApiOptions options;
  World world;
  const Rank place;
  std::string whyEnded; // of a session whose ranks have failed
  std::unique_ptr<Session> session;
  std::optional<SessionInputs> theInputs;
  std::optional<SessionOutputs> theOutputs;
  std::optional<SessionStates> theStates;
  std::optional<StepRunner> stepper; // none: nothing is trained
  std::optional<OrderRunner> evaluator;
  StepChecks checks;
  float rate = 1e-3f;
  TrainState state;
  std::map<std::string, double> settings; // those that were set
  std::vector<int64_t> indices;           // of samples
  int64_t samplesGiven = -1; // for a step, of which `indices` are; -1: none
  Metrics theMetrics;
  Metrics ofStep, ofEvaluation;
  std::string resumedFrom, folder;           // of checkpoints
  std::optional<FolderLock> lock;            // of `folder`
  std::map<std::string, int64_t> savedSteps; // the last of each folder
};

} // namespace zc

#endif // ZC_RUNTIME_API_APISESSION_H
