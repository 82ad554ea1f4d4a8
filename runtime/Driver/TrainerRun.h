// A run of training on one rank: its preparation and its steps. Private to
// Trainer*.cpp.
#ifndef ZC_RUNTIME_DRIVER_TRAINERRUN_H
#define ZC_RUNTIME_DRIVER_TRAINERRUN_H

#include "runtime/Base/Log.h"
#include "runtime/Base/Mappings.h"
#include "runtime/Driver/CheckpointKeeper.h"
#include "runtime/Driver/Profile.h"
#include "runtime/Driver/Progress.h"
#include "runtime/Driver/RunOutputs.h"
#include "runtime/Driver/RunSession.h"
#include "runtime/Driver/RunSummary.h"
#include "runtime/Driver/StepAgreement.h"
#include "runtime/Driver/StreamedBatches.h"
#include "runtime/Driver/Trace.h"
#include "runtime/Driver/Trainer.h"

#include "runtime/Io/Sampler.h"

#include <chrono>

namespace zc {

class Trainer {
public:
  using Clock = std::chrono::steady_clock;

  Trainer(const TrainOptions &options, const Rank &rank)
      : options(options), rank(rank), world(rank.world),
        checkpoints(options.checkpoint), replicas(replicaOptions(options)) {}

  /// Readies the first step. If stoppedBy() is a signal afterwards, the run has
  /// ended already.
  Status prepare();
  Status run();
  /// The signal that all ranks have agreed to stop for, or 0.
  int stoppedBy() const { return isEnd(stopped) ? 0 : stopped; }

private:
  Status openSession();
  Status chooseSettings();
  Status checkWritten();
  Status checkRoom();
  Status openFiles();
  Status openStream();
  void endBeforeSamples();
  Status openData();
  Status prepareSession();
  void hear(bool isWarning, const std::string &text);
  Status agreeAtStart(const Status &mine);
  StepNews tellOfStep(const Status &sound) const;
  Status endStep(StepNews mine);
  Status takeNews();
  Status trainSteps();
  Status explainFailure(const Status &trained);
  void beginRun();
  Status finishTrace();
  void warn(const std::string &message) const {
    if (world.isFirst() && !message.empty())
      logWarning(message);
  }
  Status loadInitial();
  Status resume();
  void readBest();
  Status decideTotal();
  void tellBefore();
  void tellOfCopies();
  std::FILE *streamOfLines() const;
  void startProgress();
  const char *whatASignalDoes() const;
  Status openOutputs();
  std::string bestMetric() const {
    return options.keepBest.empty() ? "loss" : options.keepBest;
  }
  Status runStep();
  Status readyStep();
  Status explainEnd(const std::string &when, const Status &ran);
  Status readNext();
  Status awaitSamples();
  Status checkFed();
  Status endUnfed(const Status &why);
  Status selectSamples();
  void logStep(const StepNews &news);
  Status runSteps();
  Status evaluate();
  Status takeEvaluation(const EvaluationRecord &record);
  Status save(bool mayGoOn = false);
  Status landCheckpoints();
  Status replicate();
  static CheckpointOptions replicaOptions(const TrainOptions &options);
  bool isResumed() const {
    return checkpoints.isResumed() || replicas.isResumed();
  }
  Result<std::string> findStart();
  Status keepWays();
  Status saveLast();
  Status measureLimits();
  void summarize();
  /// Whether a stop may end the run here: steps in flight are completed.
  bool mayEnd() const { return steps().isBetween(state.step); }
  StepOrders &steps() const { return inside().runner().orders(); }
  Status check(zc_status status) const { return session->check(status); }
  zc_session *handle() const { return *session; }
  // The session's parts beyond zc.h.
  ApiSession &inside() const { return session->inside(); }
  const Artifact &artifact() const { return inside().artifact(); }
  Executor &executor() const { return inside().executor(); }

  const TrainOptions &options;
  UpdateSettings settings; // of the options, those that the artifact has
  const Rank &rank;
  World &world;
  std::optional<RunSession> session;
  std::vector<std::string> notes; // of the session, until they can be told
  float appliedRate = 0;          // of this step
  std::unique_ptr<StreamedBatches> stream; // null: a file has the samples
  Status fed;              // of the next step's samples, on this rank
  bool cannotFeed = false; // some rank has none of them
  std::optional<StepAgreement> agreement;
  RunOutputs outputs;
  std::unique_ptr<Trace> trace;
  Profile profile;
  std::optional<Sampler> sampler;
  std::optional<Progress> progress;
  RunSummary summary;

  CheckpointKeeper checkpoints, replicas;
  BestSoFar best;
  bool isPatient = true; // evaluations became better, not long ago
  TrainState state;
  int64_t firstStep = 0; // steps that earlier runs did
  int64_t evaluatedStep = -1;
  int64_t total = 0;
  // Ends that are no signals, and beyond all of them.
  static constexpr int kTimeIsUp = 1 << 20, kDataAreOver = kTimeIsUp + 1;
  static bool isEnd(int stop) { return stop >= kTimeIsUp; }
  int stopped = 0;         // a signal, or one of these
  uint64_t peakBytes = 0;  // of the largest rank
  uint64_t sentBytes = 0;  // in this step, by the rank that sends most
  uint64_t sentBefore = 0; // by this rank, up to this step
  Clock::time_point start, began, stepBegan;
  MappingCheck mapped;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_TRAINERRUN_H
