// The C++ class behind a zc_session: one rank's training and evaluation, step
// by step, in calls that the caller makes on all ranks.
#ifndef ZC_RUNTIME_API_APISESSION_H
#define ZC_RUNTIME_API_APISESSION_H

#include "runtime/Api/SessionInputs.h"
#include "runtime/Api/SessionOutputs.h"
#include "runtime/Api/SessionStates.h"
#include "runtime/Api/zc_types.h"
#include "runtime/Driver/HeldOut.h"
#include "runtime/Driver/StepRunner.h"
#include "runtime/Io/Checkpoint.h"

#include <chrono>
#include <functional>
#include <map>
#include <optional>

namespace zc {

/// Gets what a user may want to know: notes, and warnings.
using ApiLog = std::function<void(bool isWarning, const std::string &text)>;

/// Hears how far work has come; returns a wish to stop, or 0.
using ApiProgress =
    std::function<int32_t(zc_phase phase, int64_t done, int64_t total)>;

struct ApiOptions {
  uint64_t seed = 0;
  int threads = 0; // 0: as many as planned and there are processors
  std::string offloadFolder;
  std::optional<std::string> tuningFile; // none: by rule; empty: the usual one
  ApiLog log;                            // may be empty
  ApiProgress progress;                  // may be empty
  bool later = false;                    // memory is not taken before prepare()
  bool byLauncher = false;
  double timeout = 600;                  // seconds, for other ranks
  std::optional<zc_transport> transport; // the caller's ranks
};

/// A session of zc-run, whose ranks are those of launch(): they have compared
/// what they were given, and agree on steps by themselves, so that a failure is
/// this rank's alone. Evaluation is prepared for held-out samples alone.
struct ApiRun {
  const Rank &rank;
  bool evaluatesOnly = false; // nothing is trained
  bool averages = false;      // a checkpoint's moving averages are its weights
  const char *evalOption = "--eval-data";
  /// Says for error messages which files a failed run leaves to its user.
  std::function<std::string()> kept = [] { return std::string(); };
  using Clock = std::chrono::steady_clock;
  /// Hears when samples were read and fed. May be empty.
  std::function<void(const char *what, Clock::time_point began)> did = {};
};

/// How a step went, besides its status.
enum class StepEnd { Done, NotFinite, Stopped };

/// Every function but the constant ones may fail; used by one thread at a time,
/// whichever. Those of steps, evaluations, states and files are called by all
/// ranks alike; where one fails, the session ends on all.
class ApiSession {
public:
  static Result<std::unique_ptr<ApiSession>> open(const std::string &artifact,
                                                  ApiOptions options);
  /// Ranks, their time limit and trust are those of `run`.
  static Result<std::unique_ptr<ApiSession>>
  openRun(const std::string &artifact, ApiOptions options, ApiRun run);

  /// Before prepare(), on all ranks: a run goes on; the first rank's count.
  void keepWays(ChosenWays ways) { kept = std::move(ways); }
  const ChosenWays &ways() const { return session->tuning().ways; }
  const std::string &pinNote() const { return session->pinNote(); }
  /// Takes the memory, with all that must be there before a step.
  Status prepare();
  bool isPrepared() const { return theStates.has_value(); }
  Status checkPrepared() const;
  int rank() const { return world.rank(); }
  int ranks() const { return world.size(); }

  SessionInputs &inputs() {
    ready = nullptr;
    return *theInputs;
  }
  const SessionInputs &inputs() const { return *theInputs; }
  const SessionOutputs &outputs() const { return *theOutputs; }
  /// Once it is prepared.
  const SessionStates &states() const { return *theStates; }

  /// As zc_set_data() and the others of zc.h.
  Status setData(const std::string &path, int tokenBits);
  Status setEvalData(const std::string &path, int tokenBits,
                     const std::vector<std::string> &metrics);
  int64_t samples() const;
  Status select(const int64_t *samples, size_t count);
  Status readSamples();

  /// One optimizer step with the inputs that were set.
  Status step(StepEnd &end);
  int64_t stepsDone() const { return state.step; }

  /// From the next step on; at least 0.
  Status setLearningRate(double value);
  float learningRate() const { return rate; }
  Status setSetting(const std::string &name, double value);
  Status setSeed(uint64_t seed);

  /// The forward over all samples of the inputs, or over those held out; until
  /// a wish to stop.
  Status evaluate();
  Status evaluateData();

  /// The metrics of the last step, then those of the last evaluation.
  using Metrics = std::vector<std::pair<std::string, double>>;
  const Metrics &metrics() const { return theMetrics; }
  /// The wish that has stopped the last step or evaluation; 0: none has.
  int32_t stoppedBy() const { return theWish; }
  uint64_t memoryBytes() const;
  uint64_t sentBytes() const;

  Status readState(const std::string &name, void *data, uint64_t bytes);
  Status writeState(const std::string &name, const void *data, uint64_t bytes);

  /// As zc_save() and the others of zc.h.
  Status save(const std::string &folder, int64_t keep);
  Status resume(const std::string &path);
  Status loadWeights(const std::string &path);
  Status exportWeights(const std::string &path);

  // --- What zc-run asks besides, which is no part of zc.h.

  const Artifact &artifact() const { return session->artifact(); }
  const Orders &orders() const { return session->orders(); }
  Executor &executor() { return session->executor(); }
  StepRunner &runner() { return *stepper; }
  /// The state of the resumed checkpoint, as it was written.
  const TrainState &resumed() const { return theResumed; }
  /// Samples that arrive, in place of a file's: the first ones, and then others
  /// of the same shapes.
  Status setSamples(std::shared_ptr<const DataFile> samples);
  void replaceSamples(const std::shared_ptr<const DataFile> &samples);
  /// Roles differ in what they know of the data. Called by all ranks.
  Status agreeOnData();
  /// Null: there are none.
  const OrderFeed *data() const { return dataFeed ? &*dataFeed : nullptr; }
  const HeldOut *evalData() const { return heldOut ? &*heldOut : nullptr; }
  /// Whether samples of a following step are read while a device works.
  bool readsAhead() const { return dataFeed && dataFeed->isReadAhead(); }
  const StepMetrics &stepMetrics() const { return theStepMetrics; }

private:
  ApiSession(ApiOptions options, std::unique_ptr<Transport> transport)
      : options(std::move(options)), own(new World(std::move(transport))),
        world(*own), place(placeAlone(world)) {}
  ApiSession(ApiOptions options, ApiRun given)
      : options(std::move(options)), world(given.rank.world), place(given.rank),
        run(std::move(given)) {}
  Status together(const std::function<Status()> &body);
  Status enter();
  Status load(const std::string &artifact);
  Status prepareTogether();
  std::vector<std::string> programs() const;
  Status agreeOn(const Status &mine, std::vector<int64_t> numbers,
                 const char *what, int64_t *wish = nullptr);
  std::vector<int64_t> numbersOfStep() const;
  Status checkKind() const;
  Status openData(std::shared_ptr<const DataFile> samples);
  Status setTogether(const std::function<Status()> &open);
  /// The samples of a step.
  int64_t stepBatch() const {
    return std::max<int64_t>(1,
                             dataFeed ? dataFeed->batch() : theInputs->batch());
  }
  std::vector<int64_t> samplesOf(int64_t step) const;
  Result<OrderFeed *> bindData();
  Result<OrderFeed *> bindInputs();
  Status computeStep(StepEnd &end);
  Status feedSamples(const plan::Feed &feed);
  Status takeMetrics(StepEnd &end);
  void told(const char *what, ApiRun::Clock::time_point began) const {
    if (run && run->did)
      run->did(what, began);
  }
  int32_t hear(zc_phase phase, int64_t done, int64_t total) const {
    return options.progress ? options.progress(phase, done, total) : 0;
  }
  struct EvaluationNeeds;
  Status agreeOnSamples(const Result<OrderFeed *> &feed,
                        EvaluationNeeds &needs);
  Status computeEvaluation();
  Status computeEvalData();
  Status runBatches(OrderFeed &feed, int64_t samples, EvaluationSums &sums);
  void listMetrics();
  Status saveTogether(const std::string &folder, int64_t keep);
  Status resumeTogether(const std::string &path);
  Result<TrainState> loadState(const std::string &from);
  Status takeWays(TrainState &saved);
  Status prepareMemory();
  Status loadVersions(const std::string &path, WeightsReport &report);
  bool isOwn(const std::string &folder, int64_t latest) const;
  Status openFolder(const std::string &folder);
  void tell(bool isWarning, const std::string &text) const {
    if (options.log && !text.empty())
      options.log(isWarning, text);
  }
  bool trains() const { return stepper.has_value(); }
  Status checkTrains() const;

  const ApiOptions options;
  const std::unique_ptr<World> own; // null: the ranks are a run's
  World &world;
  const Rank place;
  const std::optional<ApiRun> run;
  std::string whyEnded; // of a session whose ranks have failed
  std::unique_ptr<Session> session;
  std::optional<Mesh> mesh;
  std::optional<SessionInputs> theInputs;
  std::optional<SessionOutputs> theOutputs;
  std::optional<SessionStates> theStates;
  std::optional<StepRunner> stepper; // none: nothing is trained
  std::optional<OrderRunner> evaluator;
  std::optional<OrderFeed> dataFeed; // none: inputs are set one by one
  bool dataArrive = false;           // are no file's
  std::optional<HeldOut> heldOut;
  StepChecks checks;
  float rate = 1e-3f;
  TrainState state, theResumed;
  std::optional<ChosenWays> kept; // none: nothing goes on as far as is known
  std::map<std::string, double> settings; // those that were set
  std::vector<int64_t> selected;          // samples of steps, from that one on
  int64_t selectedAt = 0;
  OrderFeed *ready = nullptr;    // what has read the next step's samples
  std::vector<int64_t> indices;  // of these samples
  std::vector<int64_t> ofInputs; // of all that inputs hold, for a step
  int64_t samplesGiven = -1;     // how many these are; -1: not known
  int32_t wish = 0;              // to stop, of this rank
  int32_t theWish = 0;           // of all, that was followed
  StepMetrics theStepMetrics;
  Metrics theMetrics;
  Metrics ofStep, ofEvaluation;
  std::string resumedFrom, folder; // of checkpoints
  int64_t resumedStep = 0;         // of the checkpoint there
  std::vector<int64_t> theLater;  // checkpoints of `folder` before this session
  std::optional<FolderLock> lock; // of `folder`
  std::map<std::string, int64_t> savedSteps; // the last of each folder
};

} // namespace zc

#endif // ZC_RUNTIME_API_APISESSION_H
