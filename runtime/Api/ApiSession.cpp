#include "runtime/Api/ApiSession.h"
#include "runtime/Driver/ResumedOptions.h"
#include "runtime/Driver/UpdateSettings.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace zc {

Result<std::unique_ptr<ApiSession>>
ApiSession::open(const std::string &artifact, ApiOptions options) {
  std::unique_ptr<ApiSession> session(new ApiSession(std::move(options)));
  ZC_RETURN_IF_ERROR(session->prepare(artifact));
  return session;
}

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
  ZC_ASSIGN_OR_RETURN(session, Session::open(rank, artifact));
  ZC_RETURN_IF_ERROR(checkKind());
  const plan::Manifest &manifest = session->artifact().manifest();
  const Orders &orders = session->orders();
  const bool isTraining = manifest.mode() == "train";
  std::vector<std::string> programs = isTraining
                                          ? trainingPrograms(*session)
                                          : std::vector<std::string>{"init"};
  for (const std::string &name : evaluationPrograms(*session))
    programs.push_back(name);
  ZC_RETURN_IF_ERROR(session->prepare(options.threads, options.seed, programs,
                                      options.offloadFolder));
  tell(false, session->threadNote());
  theInputs.emplace(session->artifact(), orders);
  theOutputs.emplace(session->artifact().role(), orders.eval);
  theStates.emplace(executor());
  evaluator.emplace(executor());
  if (!isTraining)
    return Status();
  stepper.emplace(*session);
  state.seed = options.seed;
  state.shuffle = false; // samples come as the caller gives them
  state.batch = state.samples = std::max<int64_t>(1, theInputs->batch());
  state.compiled = describeCompiled(manifest);
  return session->makeFirstCopies();
}

Status ApiSession::step(bool &isFinite) {
  isFinite = true;
  session->enterThread();
  if (!trains())
    return makeError(StatusCode::Unsupported, "'", session->artifact().path(),
                     "' was compiled with --mode infer; it cannot be trained");
  const Orders &orders = session->orders();
  ZC_ASSIGN_OR_RETURN(OrderFeed * feed,
                      theInputs->bind(orders.ofStep(state.step + 1),
                                      orders.microBatches,
                                      /*labelsMayMiss=*/false,
                                      theInputs->batch(), executor().mesh()));
  indices.resize(size_t(feed->batch()));
  std::iota(indices.begin(), indices.end(), 0);
  ZC_RETURN_IF_ERROR(feed->read(indices));
  ZC_RETURN_IF_ERROR(stepper->writeRate(rate));
  OrderCallbacks callbacks;
  callbacks.feed = [&](const plan::Feed &each) {
    return feed->write(executor(), each);
  };
  ZC_RETURN_IF_ERROR(stepper->run(state.step, std::move(callbacks)));
  return takeMetrics(isFinite);
}

/// Behind the step that has just been done.
Status ApiSession::takeMetrics(bool &isFinite) {
  ZC_ASSIGN_OR_RETURN(StepMetrics metrics, stepper->readMetrics(state.step));
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
  const UpdateSettings settings = {{name, value}};
  if (!std::isfinite(value))
    return makeError(StatusCode::InvalidArgument, name, ": ", value,
                     " is not a finite number");
  ZC_RETURN_IF_ERROR(checkSettings(session->artifact(), settings));
  return writeSettings(executor(), settings);
}

Status ApiSession::setSeed(uint64_t seed) {
  session->enterThread();
  state.seed = seed;
  return session->writeSeed(seed);
}

// --- Evaluation --------------------------------------------------------------

Status ApiSession::runBatches(OrderFeed &feed, int64_t samples,
                              EvaluationSums &sums) {
  int64_t at = 0;
  OrderCallbacks callbacks;
  callbacks.feed = [&](const plan::Feed &each) {
    return feed.write(executor(), each);
  };
  callbacks.called = [&](const plan::Call &call) -> Status {
    ZC_RETURN_IF_ERROR(
        sums.add(executor(), executor().role().programs(int(call.program()))));
    return theOutputs->take(executor(), call,
                            at + call.micro_batch() * feed.microBatchSamples());
  };
  for (; at < samples; at += feed.batch()) {
    indices.resize(size_t(std::min(feed.batch(), samples - at)));
    std::iota(indices.begin(), indices.end(), at);
    ZC_RETURN_IF_ERROR(feed.read(indices));
    ZC_RETURN_IF_ERROR(evaluator->run(session->orders().eval, callbacks));
  }
  return Status();
}

Status ApiSession::evaluate() {
  session->enterThread();
  const Artifact &artifact = session->artifact();
  const Orders &orders = session->orders();
  if (orders.eval.actions_size() == 0)
    return makeError(StatusCode::Unsupported, "'", artifact.path(),
                     "' has no evaluation program");
  ZC_ASSIGN_OR_RETURN(OrderFeed * feed,
                      theInputs->bind(orders.eval, orders.evaluated,
                                      /*labelsMayMiss=*/true, /*samples=*/0,
                                      executor().mesh()));
  const int64_t samples = feed->samples();
  theOutputs->begin(samples);
  EvaluationSums sums;
  ZC_RETURN_IF_ERROR(runBatches(*feed, samples, sums));
  ofEvaluation.clear();
  // A loss that a model computes itself knows nothing of padding.
  const bool isWhole =
      takesSampleWeights(artifact) || samples % feed->batch() == 0;
  if (findLossHolder(artifact) >= 0 && theInputs->hasLabels(orders.eval) &&
      isWhole) {
    ofEvaluation.emplace_back("eval_loss", sums.meanLoss());
    if (auto accuracy = sums.accuracy())
      ofEvaluation.emplace_back("eval_accuracy", *accuracy);
  }
  theMetrics = ofStep;
  theMetrics.insert(theMetrics.end(), ofEvaluation.begin(), ofEvaluation.end());
  return Status();
}

// --- States and files
// ---------------------------------------------------------

Status ApiSession::readState(const std::string &name, void *data,
                             uint64_t bytes) {
  session->enterThread();
  return theStates->read(name, data, bytes);
}

Status ApiSession::writeState(const std::string &name, const void *data,
                              uint64_t bytes) {
  session->enterThread();
  ZC_RETURN_IF_ERROR(theStates->write(name, data, bytes));
  return trains() ? session->makeCopies() : Status();
}

/// Locks the folder, where it is not the one that was saved to before.
/// Whether the latest checkpoint of a folder is what this session saved there,
/// before it saved elsewhere.
bool ApiSession::isOwn(const std::string &wanted, int64_t latest) const {
  auto saved = savedSteps.find(wanted);
  return saved != savedSteps.end() && saved->second == latest;
}

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
  ZC_RETURN_IF_ERROR(openFolder(wanted));
  ZC_RETURN_IF_ERROR(saveCheckpoint(executor(), folder, state).status());
  savedSteps[folder] = state.step;
  // Of steps behind this one, which would pass for the latest.
  removeLaterCheckpoints(folder, state.step);
  if (keep > 0)
    pruneCheckpoints(folder, state.step, keep);
  return Status();
}

Status ApiSession::resume(const std::string &path) {
  session->enterThread();
  ZC_ASSIGN_OR_RETURN(const std::string from, findCheckpoint(path));
  if (!trains())
    return loadCheckpoint(executor(), from, CheckpointPart::Model).status();
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
  state = std::move(saved);
  executor().setStepsDone(state.step);
  resumedFrom = checkpointFolder(path);
  if (folder != resumedFrom)
    lock.reset();
  ZC_RETURN_IF_ERROR(session->makeCopies());
  return session->writeSeed(state.seed);
}

Status ApiSession::loadWeights(const std::string &path) {
  session->enterThread();
  WeightsReport report;
  // All versions are the same one.
  auto load = [&](int64_t version) -> Status {
    executor().setStepsDone(state.step + version);
    ZC_ASSIGN_OR_RETURN(report, zc::loadWeights(executor(), path));
    return trains() ? session->makeCopies() : Status();
  };
  Status loaded;
  const auto versions = int64_t(std::max(1u, executor().role().versions()));
  for (int64_t version = versions; loaded.ok() && version > 0;)
    loaded = load(--version);
  executor().setStepsDone(state.step);
  ZC_RETURN_IF_ERROR(loaded);
  for (const std::string &line : describe(report, path))
    tell(true, line);
  return Status();
}

Status ApiSession::exportWeights(const std::string &path) {
  session->enterThread();
  ZC_RETURN_IF_ERROR(session->artifact().files().check("the weights", path));
  return saveWeights(executor(), path);
}

} // namespace zc
