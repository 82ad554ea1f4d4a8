#include "runtime/Api/ApiSession.h"
#include "runtime/Api/CallerTransport.h"
#include "runtime/Base/Hash.h"
#include "runtime/Comm/Launcher.h"
#include "runtime/Driver/ResumedOptions.h"
#include "runtime/Driver/UpdateSettings.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

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
  ZC_RETURN_IF_ERROR(
      session->together([&] { return session->prepare(artifact); }));
  return session;
}

/// What all ranks do at once. Of one that fails the others hear, and none can
/// know any more what the others have done.
Status ApiSession::together(const std::function<Status()> &body) {
  if (world.size() == 1)
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

/// All ranks are sound and have the same numbers, or all fail.
Status ApiSession::agreeOn(const Status &mine, std::vector<int64_t> numbers,
                           const char *what) {
  if (world.size() == 1)
    return mine;
  const size_t count = numbers.size();
  for (size_t i = 0; i < count; ++i)
    numbers.push_back(~numbers[i]); // the largest of these is of the least
  ZC_RETURN_IF_ERROR(world.agree(mine, &numbers));
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

/// What a caller that does one step after another cannot have.
Status ApiSession::checkKind() const {
  if (session->orders().stepsAhead > 0)
    return makeError(StatusCode::Unsupported, "'", session->artifact().path(),
                     "' was compiled with a schedule in which steps overlap; "
                     "here steps are done one by one. Train it with zc run, or "
                     "compile it with another --schedule");
  return Status();
}

Status ApiSession::prepare(const std::string &artifact) {
  ZC_ASSIGN_OR_RETURN(session, Session::open(place, artifact));
  ZC_RETURN_IF_ERROR(checkKind());
  const plan::Manifest &manifest = session->artifact().manifest();
  const bool isTraining = manifest.mode() == "train";
  std::vector<std::string> programs = isTraining
                                          ? trainingPrograms(*session)
                                          : std::vector<std::string>{"init"};
  for (const std::string &name : evaluationPrograms(*session))
    programs.push_back(name);
  state.seed = options.seed;
  ZC_RETURN_IF_ERROR(agreeOn(Status(), numbersOfStep(), "seeds"));
  ZC_RETURN_IF_ERROR(session->prepare(options.threads, options.seed, programs,
                                      options.offloadFolder));
  tell(false, session->threadNote());
  const Mesh &mesh = executor().mesh();
  theInputs.emplace(session->artifact(), mesh, world.rank());
  theOutputs.emplace(session->artifact(), mesh);
  theStates.emplace(executor());
  evaluator.emplace(executor());
  return isTraining ? prepareTraining() : Status();
}

Status ApiSession::prepareTraining() {
  stepper.emplace(*session);
  state.shuffle = false; // samples come as the caller gives them
  state.batch = state.samples = std::max<int64_t>(1, theInputs->batch());
  state.compiled = describeCompiled(session->artifact().manifest());
  return session->makeFirstCopies();
}

// --- Steps
// -------------------------------------------------------------------

/// Those of the next step, before anything of it is done.
Status ApiSession::readSamples(OrderFeed *&feed) {
  const Orders &orders = session->orders();
  const plan::Order &order = orders.ofStep(state.step + 1);
  ZC_ASSIGN_OR_RETURN(feed, theInputs->bind(order, orders.microBatches,
                                            /*labelsMayMiss=*/false));
  ZC_ASSIGN_OR_RETURN(const int64_t given, theInputs->countSamples(order));
  if (given != samplesGiven) {
    ZC_ASSIGN_OR_RETURN(indices,
                        theInputs->samplesOfStep(given, orders.microBatches));
    samplesGiven = given;
  }
  return feed->read(indices);
}

Status ApiSession::computeStep() {
  OrderFeed *feed = nullptr;
  ZC_RETURN_IF_ERROR(agreeOn(readSamples(feed), numbersOfStep(),
                             "a learning rate, a seed, settings or steps"));
  ZC_RETURN_IF_ERROR(stepper->writeRate(rate));
  OrderCallbacks callbacks;
  callbacks.feed = [&](const plan::Feed &each) {
    return feed->write(executor(), each);
  };
  return stepper->run(state.step, std::move(callbacks));
}

Status ApiSession::step(bool &isFinite) {
  isFinite = true;
  session->enterThread();
  if (!trains())
    return makeError(StatusCode::Unsupported, "'", session->artifact().path(),
                     "' was compiled with --mode infer; it cannot be trained");
  ZC_RETURN_IF_ERROR(together([&] { return computeStep(); }));
  return takeMetrics(isFinite);
}

/// Behind the step that has just been done. All ranks have the same.
Status ApiSession::takeMetrics(bool &isFinite) {
  StepMetrics metrics;
  ZC_RETURN_IF_ERROR(together([&]() -> Status {
    ZC_ASSIGN_OR_RETURN(metrics, stepper->readMetrics(state.step));
    return Status();
  }));
  executor().setStepsDone(++state.step);
  ofStep.clear();
  ofStep.emplace_back("loss", metrics.loss.value);
  for (auto [name, metric] : {std::pair("grad_norm", &metrics.norm),
                              {"loss_scale", &metrics.scale},
                              {"skipped", &metrics.skipped}})
    if (*metric)
      ofStep.emplace_back(name, (*metric)->value);
  theMetrics = ofStep;
  theMetrics.insert(theMetrics.end(), ofEvaluation.begin(), ofEvaluation.end());
  auto kept = [] { return std::string("the parameters are updated from it"); };
  Status sound = checks.checkNumbers(
      state.step, metrics, kept, session->findScalar("loss_scale") != nullptr,
      [] { return Result<std::string>(std::string()); });
  std::string warning;
  if (sound.ok())
    sound = checks.checkScale(state.step, metrics, kept, warning);
  tell(true, warning);
  isFinite = sound.ok();
  return sound;
}

Status ApiSession::setLearningRate(double value) {
  if (!std::isfinite(float(value)) || value < 0)
    return makeError(StatusCode::InvalidArgument, "the learning rate ", value,
                     " is not a finite number of at least 0");
  rate = float(value);
  return Status();
}

Status ApiSession::setSetting(const std::string &name, double value) {
  session->enterThread();
  const UpdateSettings given = {{name, value}};
  if (!std::isfinite(value))
    return makeError(StatusCode::InvalidArgument, name, ": ", value,
                     " is not a finite number");
  ZC_RETURN_IF_ERROR(checkSettings(session->artifact(), given));
  settings[name] = value;
  return writeSettings(executor(), given);
}

Status ApiSession::setSeed(uint64_t seed) {
  session->enterThread();
  state.seed = seed;
  return session->writeSeed(seed);
}

// --- Evaluation --------------------------------------------------------------

/// What ranks must know of an evaluation before they begin.
struct ApiSession::EvaluationNeeds {
  int64_t samples = 1;
  bool hasLabels = true; // of all roles
};

/// Each rank is given all samples, as far as its role reads any.
Status ApiSession::agreeOnSamples(const Result<OrderFeed *> &feed,
                                  EvaluationNeeds &needs) {
  const plan::Order &order = session->orders().eval;
  Status sound = feed.status();
  int64_t given = 0;
  if (sound.ok()) {
    Result<int64_t> counted = theInputs->countSamples(order);
    sound = counted.status();
    given = counted.ok() ? *counted : 0;
  }
  std::vector<int64_t> most = {given, !theInputs->hasLabels(order)};
  ZC_RETURN_IF_ERROR(world.agree(sound, &most));
  needs.samples = std::max<int64_t>(1, most[0]);
  needs.hasLabels = most[1] == 0;
  if (given > 0 && given != most[0])
    sound = makeError(StatusCode::InvalidArgument, "the inputs have ", given,
                      " samples, those of another rank ", most[0],
                      "; an evaluation gives all samples to every rank");
  return world.agree(sound);
}

Status ApiSession::runBatches(OrderFeed &feed, int64_t samples,
                              EvaluationSums &sums) {
  OrderCallbacks callbacks;
  callbacks.feed = [&](const plan::Feed &each) {
    return feed.write(executor(), each);
  };
  callbacks.called = [&](const plan::Call &call) -> Status {
    ZC_RETURN_IF_ERROR(
        sums.add(executor(), executor().role().programs(int(call.program()))));
    return theOutputs->take(executor(), call);
  };
  const int64_t batch = theInputs->evaluatedBatch();
  samplesGiven = -1; // of a step, no longer in `indices`
  for (int64_t at = 0; at < samples; at += batch) {
    indices.resize(size_t(std::min(batch, samples - at)));
    std::iota(indices.begin(), indices.end(), at);
    ZC_RETURN_IF_ERROR(world.agree(feed.read(indices)));
    ZC_RETURN_IF_ERROR(evaluator->run(session->orders().eval, callbacks));
    ZC_RETURN_IF_ERROR(
        theOutputs->append(world, at, theInputs->evaluatedMicroBatch()));
  }
  const int holder = findLossHolder(session->artifact());
  if (session->artifact().manifest().roles_size() == 1 || holder < 0)
    return Status();
  return world.all().broadcast(&sums, sizeof(sums),
                               executor().mesh().firstOf(holder));
}

Status ApiSession::computeEvaluation() {
  const Artifact &artifact = session->artifact();
  const Orders &orders = session->orders();
  Result<OrderFeed *> feed = theInputs->bind(orders.eval, orders.evaluated,
                                             /*labelsMayMiss=*/true);
  EvaluationNeeds needs;
  ZC_RETURN_IF_ERROR(agreeOnSamples(feed, needs));
  theOutputs->begin(needs.samples);
  EvaluationSums sums;
  ZC_RETURN_IF_ERROR(runBatches(**feed, needs.samples, sums));
  ofEvaluation.clear();
  // A loss that a model computes itself knows nothing of padding.
  const bool isWhole = takesSampleWeights(artifact) ||
                       needs.samples % theInputs->evaluatedBatch() == 0;
  if (findLossHolder(artifact) < 0 || !needs.hasLabels || !isWhole)
    return Status();
  ofEvaluation.emplace_back("eval_loss", sums.meanLoss());
  if (auto accuracy = sums.accuracy())
    ofEvaluation.emplace_back("eval_accuracy", *accuracy);
  return Status();
}

Status ApiSession::evaluate() {
  session->enterThread();
  // Later replicas of a stage evaluate nothing.
  if (session->artifact().manifest().roles(0).eval().actions_size() == 0)
    return makeError(StatusCode::Unsupported, "'", session->artifact().path(),
                     "' has no evaluation program");
  ZC_RETURN_IF_ERROR(together([&] { return computeEvaluation(); }));
  theMetrics = ofStep;
  theMetrics.insert(theMetrics.end(), ofEvaluation.begin(), ofEvaluation.end());
  return Status();
}

// --- States and files
// ---------------------------------------------------------

Status ApiSession::readState(const std::string &name, void *data,
                             uint64_t bytes) {
  session->enterThread();
  ZC_RETURN_IF_ERROR(theStates->check(name, bytes));
  return together([&] { return theStates->read(name, data); });
}

Status ApiSession::writeState(const std::string &name, const void *data,
                              uint64_t bytes) {
  session->enterThread();
  ZC_RETURN_IF_ERROR(theStates->check(name, bytes, data));
  return together([&]() -> Status {
    ZC_RETURN_IF_ERROR(world.agree(theStates->write(name, data)));
    return trains() ? session->makeCopies() : Status();
  });
}

/// Whether the latest checkpoint of a folder is what this session saved there,
/// before it saved elsewhere.
bool ApiSession::isOwn(const std::string &wanted, int64_t latest) const {
  auto saved = savedSteps.find(wanted);
  return saved != savedSteps.end() && saved->second == latest;
}

/// Locks the folder, where it is not the one that was saved to before. The
/// first rank looks after it.
Status ApiSession::openFolder(const std::string &wanted) {
  if (lock && folder == wanted)
    return Status();
  const std::vector<int64_t> found = listCheckpoints(wanted);
  if (!found.empty() && wanted != resumedFrom && !isOwn(wanted, found.back()))
    return makeError(StatusCode::InvalidArgument, "'", wanted, "' holds ",
                     found.size(), " checkpoint", found.size() == 1 ? "" : "s",
                     " of another run, up to step ", found.back(),
                     "; resume from it, or give another folder");
  lock.reset();
  ZC_ASSIGN_OR_RETURN(lock, prepareCheckpointFolder(wanted));
  folder = wanted;
  return Status();
}

Status ApiSession::save(const std::string &wanted, int64_t keep) {
  session->enterThread();
  if (!trains())
    return makeError(StatusCode::Unsupported, "'", session->artifact().path(),
                     "' was compiled with --mode infer; there is no training "
                     "to save");
  if (keep < 0)
    return makeError(StatusCode::InvalidArgument, "keep ", keep,
                     ": expected at least 0");
  return together([&] { return saveTogether(wanted, keep); });
}

Status ApiSession::saveTogether(const std::string &wanted, int64_t keep) {
  ZC_RETURN_IF_ERROR(
      world.agree(world.isFirst() ? openFolder(wanted) : Status()));
  ZC_RETURN_IF_ERROR(saveCheckpoint(executor(), wanted, state).status());
  savedSteps[wanted] = state.step;
  if (!world.isFirst())
    return Status();
  // Of steps behind this one, which would pass for the latest.
  removeLaterCheckpoints(wanted, state.step);
  if (keep > 0)
    pruneCheckpoints(wanted, state.step, keep);
  return Status();
}

/// A checkpoint of training, as this artifact goes on with it.
Result<TrainState> ApiSession::loadState(const std::string &from) {
  ZC_ASSIGN_OR_RETURN(
      TrainState saved,
      loadCheckpoint(executor(), from, CheckpointPart::Everything));
  TrainOptions now;
  now.artifact = session->artifact().path();
  saved.batch = state.batch; // batches are the caller's
  for (const std::string &change :
       listChanges(saved, saved, now, session->artifact().manifest()))
    tell(true, change);
  if (saved.isPartial)
    tell(true, "'" + from +
                   "' is of ranks that divide the step otherwise: "
                   "what each has lost to compression so far is "
                   "forgotten, and begins at 0");
  saved.compiled = state.compiled;
  saved.isPartial = false;
  return saved;
}

Status ApiSession::resume(const std::string &path) {
  session->enterThread();
  return together([&] { return resumeTogether(path); });
}

Status ApiSession::resumeTogether(const std::string &path) {
  Result<std::string> from = findCheckpoint(path);
  ZC_RETURN_IF_ERROR(world.agree(from.status()));
  if (!trains())
    return world.agree(
        loadCheckpoint(executor(), *from, CheckpointPart::Model).status());
  Result<TrainState> saved = loadState(*from);
  ZC_RETURN_IF_ERROR(world.agree(saved.status()));
  state = std::move(*saved);
  // Each rank has found the checkpoint by itself.
  ZC_RETURN_IF_ERROR(agreeOn(Status(), numbersOfStep(), "checkpoints"));
  executor().setStepsDone(state.step);
  resumedFrom = checkpointFolder(path);
  if (folder != resumedFrom)
    lock.reset();
  ZC_RETURN_IF_ERROR(session->makeCopies());
  return session->writeSeed(state.seed);
}

/// All versions are the same one.
Status ApiSession::loadVersions(const std::string &path,
                                WeightsReport &report) {
  const auto versions = int64_t(std::max(1u, executor().role().versions()));
  for (int64_t version = versions; version > 0;) {
    executor().setStepsDone(state.step + --version);
    Result<WeightsReport> loaded = zc::loadWeights(executor(), path);
    ZC_RETURN_IF_ERROR(world.agree(loaded.status()));
    report = std::move(*loaded);
    if (trains())
      ZC_RETURN_IF_ERROR(session->makeCopies());
  }
  return Status();
}

Status ApiSession::loadWeights(const std::string &path) {
  session->enterThread();
  WeightsReport report;
  Status loaded = together([&] { return loadVersions(path, report); });
  executor().setStepsDone(state.step);
  ZC_RETURN_IF_ERROR(loaded);
  for (const std::string &line : describe(report, path))
    tell(true, line);
  return Status();
}

Status ApiSession::exportWeights(const std::string &path) {
  session->enterThread();
  return together([&]() -> Status {
    ZC_RETURN_IF_ERROR(
        world.agree(session->artifact().files().check("the weights", path)));
    return saveWeights(executor(), path);
  });
}

} // namespace zc
