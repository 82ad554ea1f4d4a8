#include "runtime/Api/ApiSession.h"
#include "runtime/Api/CallerTransport.h"
#include "runtime/Base/Hash.h"
#include "runtime/Comm/Launcher.h"
#include "runtime/Driver/CompiledSettings.h"
#include "runtime/Plan/ProgramNames.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace zc {

// --- Ranks
// -------------------------------------------------------------------

/// How this rank reaches the others; null: there are none.
static Result<std::unique_ptr<Transport>> connect(const ApiOptions &options) {
  if (options.byLauncher && options.transport)
    return makeError(StatusCode::InvalidArgument,
                     "ranks are the launcher's or the transport's, not both");
  if (!options.byLauncher && !options.transport)
    return std::unique_ptr<Transport>();
  if (options.byLauncher)
    return connectToLauncher(options.timeout);
  ZC_ASSIGN_OR_RETURN(auto transport, makeCallerTransport(*options.transport));
  return transport->size() > 1 ? std::move(transport)
                               : std::unique_ptr<Transport>();
}

Result<std::unique_ptr<ApiSession>>
ApiSession::open(const std::string &artifact, ApiOptions options) {
  if (!(options.timeout > 0 && options.timeout < 1e9))
    return makeError(StatusCode::InvalidArgument, "timeout ", options.timeout,
                     ": expected seconds, more than 0");
  ZC_ASSIGN_OR_RETURN(auto transport, connect(options));
  std::unique_ptr<ApiSession> session(
      new ApiSession(std::move(options), std::move(transport)));
  session->world.setTimeout(
      std::chrono::milliseconds(int64_t(session->options.timeout * 1000)));
  const bool isLater = session->options.later;
  ZC_RETURN_IF_ERROR(session->together([&]() -> Status {
    ZC_RETURN_IF_ERROR(session->load(artifact));
    return isLater ? Status() : session->prepareTogether();
  }));
  return session;
}

Result<std::unique_ptr<ApiSession>>
ApiSession::openRun(const std::string &artifact, ApiOptions options,
                    ApiRun run) {
  std::unique_ptr<ApiSession> session(
      new ApiSession(std::move(options), std::move(run)));
  ZC_RETURN_IF_ERROR(session->load(artifact));
  return session;
}

/// Runs `body`, which all ranks call at once. If it fails on one rank, the
/// others hear of it, and the session ends: no rank knows any more how far the
/// others are. In a run the caller tells the other ranks.
Status ApiSession::together(const std::function<Status()> &body) {
  if (world.size() == 1 || run)
    return body();
  if (!whyEnded.empty())
    return makeError(StatusCode::Cancelled,
                     "the ranks' session has ended before: ", whyEnded);
  Status status = body();
  if (status.ok())
    return status;
  status = world.fail(status);
  whyEnded = status.message();
  return status;
}

Status ApiSession::checkPrepared() const {
  return isPrepared() ? Status()
                      : makeError(StatusCode::InvalidArgument,
                                  "the session was opened for later; "
                                  "zc_prepare() comes first");
}

/// Every call that needs the session's memory begins with this.
Status ApiSession::enter() {
  ZC_RETURN_IF_ERROR(checkPrepared());
  session->enterThread();
  return Status();
}

/// All ranks are sound and have the same numbers, or all fail. `wish` becomes
/// the largest of all ranks'. Ranks of a run see to all this themselves.
Status ApiSession::agreeOn(const Status &mine, std::vector<int64_t> numbers,
                           const char *what, int64_t *wish) {
  if (world.size() == 1 || run)
    return mine;
  const size_t count = numbers.size();
  for (size_t i = 0; i < count; ++i)
    numbers.push_back(~numbers[i]); // the largest of these is of the least
  numbers.push_back(wish ? *wish : 0);
  ZC_RETURN_IF_ERROR(world.agree(mine, &numbers));
  if (wish)
    *wish = numbers.back();
  for (size_t i = 0; i < count; ++i)
    if (numbers[i] != ~numbers[count + i])
      return world.agree(makeError(StatusCode::InvalidArgument, "ranks have ",
                                   what, " that differ"));
  return Status();
}

/// Each rank would compute another step with others.
std::vector<int64_t> ApiSession::numbersOfStep() const {
  std::string texts;
  for (const auto &[name, value] : settings)
    texts += strCat(name, "=", std::hexfloat, value, ";");
  int32_t bits = 0;
  std::memcpy(&bits, &rate, sizeof(bits));
  return {state.step, bits, int64_t(state.seed), int64_t(hashBytes(texts))};
}

// --- Opening
// -----------------------------------------------------------------

/// Refuses artifacts whose steps overlap: the caller does one step after
/// another.
Status ApiSession::checkKind() const {
  if (!run && session->orders().stepsAhead > 0)
    return makeError(StatusCode::Unsupported, "'", session->artifact().path(),
                     "' was compiled with a schedule in which steps overlap; "
                     "here steps are done one by one. Train it with zc run, or "
                     "compile it with another --schedule");
  return Status();
}

Status ApiSession::checkTrains() const {
  if (session->artifact().manifest().mode() == "train")
    return Status();
  return makeError(StatusCode::Unsupported, "'", session->artifact().path(),
                   "' was compiled with --mode infer; it cannot be trained");
}

/// Reads the artifact and all that can be known before memory is taken.
Status ApiSession::load(const std::string &artifact) {
  ZC_ASSIGN_OR_RETURN(session, Session::open(place, artifact));
  ZC_RETURN_IF_ERROR(checkKind());
  ZC_ASSIGN_OR_RETURN(mesh, Mesh::of(session->artifact().manifest()));
  theInputs.emplace(session->artifact(), *mesh, world.rank());
  theOutputs.emplace(session->artifact(), *mesh);
  state.seed = options.seed;
  state.shuffle = false; // samples come as the caller gives them
  state.batch = state.samples = std::max<int64_t>(1, theInputs->batch());
  state.compiled = describeCompiled(session->artifact().manifest());
  return Status();
}

std::vector<std::string> ApiSession::programs() const {
  std::vector<std::string> names = {programs::kInit};
  if (checkTrains().ok() && !(run && run->evaluatesOnly))
    names = trainingPrograms(*session);
  if (!run || run->evaluatesOnly || heldOut)
    for (const std::string &name : evaluationPrograms(*session))
      names.push_back(name);
  return names;
}

Status ApiSession::prepare() {
  if (isPrepared())
    return makeError(StatusCode::InvalidArgument,
                     "the session was prepared before");
  return together([&] { return prepareTogether(); });
}

Status ApiSession::prepareTogether() {
  ZC_RETURN_IF_ERROR(agreeOn(Status(), numbersOfStep(), "seeds"));
  ZC_RETURN_IF_ERROR(prepareMemory());
  tell(false, session->threadNote());
  for (const std::string &note : session->tuning().notes)
    tell(false, note);
  for (const std::string &warning : session->tuning().warnings)
    tell(true, warning);
  state.ways = ways();
  theStates.emplace(executor());
  evaluator.emplace(executor());
  if (!checkTrains().ok() || (run && run->evaluatesOnly))
    return Status();
  stepper.emplace(*session);
  if (dataFeed && !dataArrive && !stepper->orders().overlap())
    dataFeed->readAhead(executor());
  return session->makeFirstCopies();
}

/// Calls are tuned where that was asked for, or a run goes on.
Status ApiSession::prepareMemory() {
  TuningOptions tuning;
  tuning.measures = options.tuningFile.has_value();
  tuning.file = options.tuningFile.value_or("");
  tuning.kept = kept.value_or(ChosenWays());
  ZC_RETURN_IF_ERROR(
      agreeOn(Status(), {tuning.measures, kept.has_value()}, "wishes to tune"));
  // Memory is planned for all that the artifact can do.
  return session->prepare(options.threads, options.seed, programs(),
                          options.offloadFolder, evaluationPrograms(*session),
                          tuning.measures || kept ? &tuning : nullptr);
}

uint64_t ApiSession::memoryBytes() const {
  return isPrepared() ? session->executor().arenaBytes() : 0;
}

uint64_t ApiSession::sentBytes() const {
  return isPrepared() ? session->executor().sentBytes() : 0;
}

// --- Steps
// -------------------------------------------------------------------

/// Computes this rank's part of a step, once all ranks are ready for it.
Status ApiSession::computeStep(StepEnd &end) {
  const Status mine = ready ? Status() : readSamples();
  int64_t wished = wish;
  ZC_RETURN_IF_ERROR(agreeOn(mine, numbersOfStep(),
                             "a learning rate, a seed, settings or steps",
                             &wished));
  wish = 0;
  theWish = int32_t(wished);
  if (theWish) {
    end = StepEnd::Stopped;
    return makeError(StatusCode::Cancelled, "stopped behind step ", state.step,
                     ", as the caller asked");
  }
  ZC_RETURN_IF_ERROR(stepper->writeRate(rate));
  OrderCallbacks callbacks;
  callbacks.feed = [&](const plan::Feed &each) { return feedSamples(each); };
  if (readsAhead())
    callbacks.meanwhile = [&](const plan::Feed *next) {
      return ready->meanwhile(executor(), next,
                              [&] { return samplesOf(state.step + 1); });
    };
  return stepper->run(state.step, std::move(callbacks));
}

Status ApiSession::feedSamples(const plan::Feed &feed) {
  const auto began = ApiRun::Clock::now();
  Status fed = ready->write(executor(), feed);
  told("feed samples", began);
  return fed;
}

Status ApiSession::step(StepEnd &end) {
  end = StepEnd::Done;
  ZC_RETURN_IF_ERROR(enter());
  ZC_RETURN_IF_ERROR(checkTrains());
  Status computed;
  Status status = together([&]() -> Status {
    computed = computeStep(end);
    return end == StepEnd::Stopped ? Status() : computed;
  });
  if (!status.ok() || end == StepEnd::Stopped)
    return status.ok() ? computed : status;
  Status sound = takeMetrics(end);
  wish = hear(ZC_PHASE_STEP, state.step, 0);
  return sound;
}

/// Behind the step that has just been done. All ranks have the same.
Status ApiSession::takeMetrics(StepEnd &end) {
  StepMetrics &metrics = theStepMetrics;
  ZC_RETURN_IF_ERROR(together([&]() -> Status {
    ZC_ASSIGN_OR_RETURN(metrics, stepper->readMetrics(state.step));
    return Status();
  }));
  OrderFeed *const feed = ready;
  ready = nullptr;
  executor().setStepsDone(++state.step);
  ofStep.clear();
  ofStep.emplace_back("loss", metrics.loss.value);
  for (auto [name, metric] : {std::pair("grad_norm", &metrics.norm),
                              {"loss_scale", &metrics.scale},
                              {"skipped", &metrics.skipped}})
    if (*metric)
      ofStep.emplace_back(name, (*metric)->value);
  listMetrics();
  auto kept = [&] {
    return run ? run->kept()
               : std::string("the parameters are updated from it");
  };
  // The samples of later steps follow where steps overlap.
  indices.resize(std::min(indices.size(), size_t(feed->batch())));
  Status sound = checks.checkNumbers(
      state.step, metrics, kept, session->findScalar("loss_scale") != nullptr,
      [&] { return feed->explainNan(indices); });
  std::string warning;
  if (sound.ok())
    sound = checks.checkScale(state.step, metrics, kept, warning);
  tell(true, warning);
  end = sound.ok() ? StepEnd::Done : StepEnd::NotFinite;
  return sound;
}

void ApiSession::listMetrics() {
  theMetrics = ofStep;
  theMetrics.insert(theMetrics.end(), ofEvaluation.begin(), ofEvaluation.end());
}

Status ApiSession::setLearningRate(double value) {
  if (!std::isfinite(float(value)) || value < 0)
    return makeError(StatusCode::InvalidArgument, "the learning rate ", value,
                     " is not a finite number of at least 0");
  rate = float(value);
  return Status();
}

Status ApiSession::setSetting(const std::string &name, double value) {
  ZC_RETURN_IF_ERROR(enter());
  const std::vector<std::string> &known = updateSettingNames();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    std::string text;
    for (const std::string &each : known)
      text += strCat(text.empty() ? "'" : ", '", each, "'");
    return makeError(StatusCode::InvalidArgument, "there is no setting '", name,
                     "'; there are ", text);
  }
  if (std::string why = whyNoSetting(name, value); !why.empty())
    return makeError(StatusCode::InvalidArgument, name, ": ", why, ", found ",
                     value);
  const UpdateSettings given = {{name, value}};
  ZC_RETURN_IF_ERROR(checkSettings(session->artifact(), given));
  settings[name] = value;
  return writeSettings(executor(), given);
}

Status ApiSession::setSeed(uint64_t seed) {
  ZC_RETURN_IF_ERROR(enter());
  state.seed = seed;
  return session->writeSeed(seed);
}

} // namespace zc
