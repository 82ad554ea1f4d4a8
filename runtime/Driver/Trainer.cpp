#include "runtime/Driver/Trainer.h"
#include "runtime/Base/File.h"
#include "runtime/Base/Log.h"
#include "runtime/Base/Mappings.h"
#include "runtime/Driver/HeldOut.h"
#include "runtime/Driver/Metrics.h"
#include "runtime/Driver/OrderFeed.h"
#include "runtime/Driver/Profile.h"
#include "runtime/Driver/Progress.h"
#include "runtime/Driver/ResumedOptions.h"
#include "runtime/Driver/RunOutputs.h"
#include "runtime/Driver/RunSummary.h"
#include "runtime/Driver/Session.h"
#include "runtime/Driver/Signals.h"
#include "runtime/Driver/StepChecks.h"
#include "runtime/Driver/Trace.h"
#include "runtime/Exec/OrderRunner.h"
#include "runtime/Io/Checkpoint.h"
#include "runtime/Io/Sampler.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace zc {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Trainer {
public:
  Trainer(const TrainOptions &options, const Rank &rank)
      : options(options), rank(rank), world(rank.world),
        checkpoints(options.checkpoint) {}

  Status prepare();
  Status run();
  /// The signal that all ranks have agreed to stop for, or 0.
  int stoppedBy() const { return stopped == kTimeIsUp ? 0 : stopped; }

private:
  Status openFiles();
  Status openData();
  Status prepareSession();
  Status agreeOnStep(const Status &mine);
  Status finishTrace();
  void warn(const std::string &message) const {
    if (world.isFirst() && !message.empty())
      logWarning(message);
  }
  Status loadInitial();
  Status resume();
  Status decideTotal();
  void tellBefore();
  void startProgress();
  Status openOutputs();
  std::string bestMetric() const {
    return options.keepBest.empty() ? "loss" : options.keepBest;
  }
  Status runStep();
  Result<StepMetrics> computeStep();
  Status runOrder();
  Status explainEnd(const std::string &when, const Status &ran) const;
  Status readNext();
  Status checkFed();
  std::vector<int64_t> samplesOf(int64_t step) const;
  Status checkStep(const StepMetrics &metrics);
  void logStep(const StepMetrics &metrics, double seconds);
  Status runSteps();
  Status evaluate();
  Status takeEvaluation(const EvaluationRecord &record);
  Status save();
  Status saveLast();
  Status measureLimits();
  void summarize();
  /// Of the step that comes next.
  const plan::Order &order() const {
    return session->orders().ofStep(state.step + 1);
  }

  const TrainOptions &options;
  const Rank &rank;
  World &world;
  std::unique_ptr<Session> session;
  const plan::State *learningRate = nullptr;
  float appliedRate = 0; // of this step
  StepChecks checks;
  std::optional<OrderFeed> feed;
  Status fed;              // of the next step's samples, on this rank
  bool cannotFeed = false; // some rank has none of them
  std::optional<OrderRunner> runner;
  std::optional<HeldOut> heldOut;
  RunOutputs outputs;
  std::unique_ptr<Trace> trace;
  Profile profile;
  std::optional<Sampler> sampler;
  std::optional<Progress> progress;
  RunSummary summary;

  CheckpointKeeper checkpoints;
  BestSoFar best;
  bool isPatient = true; // evaluations became better, not long ago
  TrainState state;
  int64_t firstStep = 0; // steps that earlier runs did
  int64_t evaluatedStep = -1;
  int64_t total = 0;
  static constexpr int kTimeIsUp = 1 << 20; // beyond all signals
  int stopped = 0;                          // a signal, or that
  uint64_t peakBytes = 0;                   // of the largest rank
  uint64_t sentBytes = 0;  // in this step, by the rank that sends most
  uint64_t sentBefore = 0; // by this rank, up to this step
  Clock::time_point start, began;
  MappingCheck mapped;
};

// --- Before the first step

Status Trainer::prepare() {
  began = Clock::now();
  ZC_ASSIGN_OR_RETURN(session, Session::open(rank, options.artifact));
  ZC_RETURN_IF_ERROR(world.agree(openFiles()));
  Alike alike = listAlike(options, feed->source(),
                          heldOut ? &heldOut->source() : nullptr);
  alike.add("--resume: checkpoints", checkpoints.isResumed() ? "some" : "none");
  ZC_RETURN_IF_ERROR(alike.compare(world));
  ZC_RETURN_IF_ERROR(feed->agree(world));
  if (heldOut)
    ZC_RETURN_IF_ERROR(heldOut->agree(world));
  ZC_RETURN_IF_ERROR(prepareSession());
  state.batch = feed->batch();
  state.samples = feed->samples();
  if (!options.initFrom.empty() && !checkpoints.isResumed())
    ZC_RETURN_IF_ERROR(world.agree(loadInitial()));
  if (checkpoints.isResumed())
    ZC_RETURN_IF_ERROR(world.agree(resume()));
  // Each rank has found the checkpoint by itself.
  ZC_RETURN_IF_ERROR(
      Alike("--resume from step", std::to_string(state.step)).compare(world));
  setLastWords(checkpoints.printKept());
  ZC_RETURN_IF_ERROR(session->makeCopies());
  state.seed = options.seed.value_or(state.seed);
  state.shuffle = options.shuffle.value_or(state.shuffle);
  firstStep = state.step;
  state.options = options.record;
  state.compiled = describeCompiled(session->artifact().manifest());
  best = checkpoints.isResumed()
             ? BestSoFar::read(checkpoints.folder(), bestMetric(), state.step)
             : BestSoFar{bestMetric()};
  ZC_RETURN_IF_ERROR(session->writeSeed(state.seed));
  ZC_RETURN_IF_ERROR(world.agree(decideTotal()));
  Status opened = openOutputs();
  std::vector<int64_t> largest = {int64_t(session->executor().arenaBytes())};
  ZC_RETURN_IF_ERROR(world.agree(opened, &largest));
  peakBytes = uint64_t(largest[0]);
  tellBefore();
  return Status();
}

Status Trainer::prepareSession() {
  const plan::Role &role = session->artifact().role();
  const Orders &orders = session->orders();
  const auto eval = programNamesOf(role, orders.eval);
  std::vector<std::string> programs = {"init", kCopyProgram};
  for (const plan::Order *order : {&orders.train, &orders.late})
    for (const std::string &name : programNamesOf(role, *order))
      programs.push_back(name);
  if (heldOut)
    programs.insert(programs.end(), eval.begin(), eval.end());
  ZC_RETURN_IF_ERROR(
      session->prepare(options.threads, options.seed.value_or(state.seed),
                       programs, options.offloadFolder, /*besides=*/eval));
  runner.emplace(session->executor());
  feed->readAhead(session->executor());
  return Status();
}

/// What a user may not have meant, before any time is spent.
void Trainer::tellBefore() {
  if (!world.isFirst())
    return;
  for (const std::string &note : feed->notes())
    logNote(note);
  if (heldOut)
    for (const std::string &note : heldOut->notes())
      logNote(note);
  if (checkpoints.isOff())
    warn("no --checkpoint DIR: nothing of what this run trains is kept");
  else if (options.checkpoint.resume && !checkpoints.isResumed())
    warn("--resume: there is no checkpoint in '" + checkpoints.folder() +
         "' yet; the run begins anew");
  if (state.batch > state.samples)
    warn(strCat("a step takes ", state.batch, " samples, more than '",
                options.data, "' has, ", state.samples,
                "; each step takes some of them more than once"));
}

/// What can be checked before the artifact's memory is there.
Status Trainer::openFiles() {
  const Artifact &artifact = session->artifact();
  if (artifact.manifest().mode() != "train")
    return makeError(StatusCode::InvalidArgument, "'", options.artifact,
                     "' was compiled with --mode infer; it cannot be trained");
  learningRate = session->findScalar("lr");
  ZC_RETURN_IF_ERROR(openData());
  ZC_RETURN_IF_ERROR(checkOutputs(options, artifact.files(), feed->source(),
                                  heldOut ? &heldOut->source() : nullptr));
  if (!options.log.empty() && options.log != kStandardOutput && world.isFirst())
    ZC_RETURN_IF_ERROR(checkParentExists(options.log));
  return checkpoints.open(world.isFirst());
}

Status Trainer::openOutputs() {
  if (world.isFirst())
    ZC_RETURN_IF_ERROR(outputs.open(options.log, options.tensorboard,
                                    checkpoints.isResumed()
                                        ? std::optional<int64_t>(state.step)
                                        : std::nullopt));
  if (!options.trace.empty()) {
    ZC_ASSIGN_OR_RETURN(trace, Trace::open(options.trace, session->executor()));
    runner->addObserver(*trace);
  }
  if (options.profile)
    runner->addObserver(profile);
  return Status();
}

Status Trainer::openData() {
  ZC_ASSIGN_OR_RETURN(DataFile file,
                      DataFile::open(options.data, options.tokenBits));
  auto data = std::make_shared<DataFile>(std::move(file));
  warn(data->doubt());
  ZC_ASSIGN_OR_RETURN(Mesh mesh, Mesh::of(session->artifact().manifest()));
  ZC_ASSIGN_OR_RETURN(feed,
                      OrderFeed::create(session->artifact().role(),
                                        session->orders().train, data,
                                        FeedOptions(), mesh, world.rank()));
  if (options.evalData.empty())
    return Status();
  ZC_ASSIGN_OR_RETURN(heldOut,
                      HeldOut::open(session->artifact(), "--eval-data",
                                    options.evalData, options.metrics, mesh,
                                    world.rank(), options.tokenBits));
  return Status();
}

Status Trainer::resume() {
  ZC_ASSIGN_OR_RETURN(std::string from, checkpoints.findStart());
  ZC_ASSIGN_OR_RETURN(
      TrainState saved,
      loadCheckpoint(session->executor(), from, CheckpointPart::Everything));
  if (saved.isPartial)
    warn(strCat("'", from,
                "' is of ranks that divide the step otherwise: what each has "
                "lost to compression so far is forgotten, and begins at 0"));
  for (const std::string &change :
       listChanges(saved, state, options, session->artifact().manifest()))
    warn(change);
  state.step = saved.step;
  state.seed = saved.seed;
  state.shuffle = saved.shuffle;
  return Status();
}

/// Weights of another artifact, by their names; the optimizer begins anew.
Status Trainer::loadInitial() {
  ZC_ASSIGN_OR_RETURN(WeightsReport report,
                      loadWeights(session->executor(), options.initFrom));
  for (const std::string &line : describe(report, options.initFrom))
    warn(line);
  return Status();
}

Status Trainer::decideTotal() {
  sampler.emplace(state.samples, state.batch, state.seed, state.shuffle);
  ZC_ASSIGN_OR_RETURN(total, options.steps
                                 ? Result<int64_t>(*options.steps)
                                 : sampler->stepsFor(*options.epochs));
  const int64_t warmup = options.learningRate.warmupSteps.value_or(0);
  if (warmup > total)
    return makeError(StatusCode::InvalidArgument, "--warmup-steps ", warmup,
                     ": the run has ", total,
                     " steps, in which the learning rate would never reach "
                     "--lr; expected at most ",
                     total);
  return Status();
}

// --- The steps

void Trainer::startProgress() {
  ProgressOptions shown;
  shown.firstStep = firstStep + 1;
  shown.totalSteps = total;
  shown.every = options.logEvery;
  shown.epochsPerStep = double(state.batch) / double(state.samples);
  shown.samplesPerStep = state.batch;
  shown.tokensPerSample = feed->tokensPerSample();
  // Standard output is then for those who read the log.
  shown.stream = options.log == kStandardOutput ? stderr : stdout;
  shown.quiet = options.quiet;
  shown.silent = !world.isFirst();
  progress.emplace(shown);
  summary = RunSummary(total - firstStep);
}

Status Trainer::run() {
  startProgress();
  if (!session->threadNote().empty())
    progress->note(session->threadNote());
  sentBefore = session->executor().sentBytes();
  fed = readNext();
  ZC_RETURN_IF_ERROR(agreeOnStep(measureLimits()));
  start = Clock::now();
  ZC_RETURN_IF_ERROR(runSteps());
  if (state.step > firstStep) {
    ZC_RETURN_IF_ERROR(save());
    if (!stopped || stopped == kTimeIsUp)
      ZC_RETURN_IF_ERROR(evaluate());
  }
  ZC_RETURN_IF_ERROR(finishTrace());
  ZC_RETURN_IF_ERROR(measureLimits());
  if (options.profile)
    progress->note(profile.print());
  if (world.isFirst())
    outputs.finish();
  summarize();
  return Status();
}

Status Trainer::runSteps() {
  while (state.step < total && !stopped && isPatient) {
    ZC_RETURN_IF_ERROR(runStep());
    auto due = [&](int64_t every) {
      return every > 0 && state.step % every == 0 && state.step < total;
    };
    if (due(options.evalEvery))
      ZC_RETURN_IF_ERROR(evaluate());
    if (due(options.checkpoint.saveEvery))
      ZC_RETURN_IF_ERROR(save());
  }
  return Status();
}

/// Once a step, behind it: whether it is the last, what it took, and whether
/// the next one's samples can be fed. The ranks must stop after the same one,
/// whoever got the signal first.
Status Trainer::agreeOnStep(const Status &mine) {
  const uint64_t sent = session->executor().sentBytes();
  int64_t stop = stopSignal();
  // A step is done at least, so that a job that is queued again gets on.
  const bool isRunning = start != Clock::time_point();
  if (!stop && isRunning && options.maxTime > 0 &&
      secondsSince(began) >= options.maxTime)
    stop = kTimeIsUp;
  std::vector<int64_t> largest = {stop, int64_t(sent - sentBefore), !fed.ok()};
  ZC_RETURN_IF_ERROR(world.agree(mine, &largest));
  stopped = int(largest[0]);
  sentBytes = uint64_t(largest[1]);
  cannotFeed = largest[2] != 0;
  sentBefore = session->executor().sentBytes();
  return Status();
}

Status Trainer::finishTrace() {
  if (!trace)
    return Status();
  ZC_RETURN_IF_ERROR(trace->finish(world));
  if (trace->dropped() > 0)
    warn(strCat("'", options.trace, "' lacks the last ", trace->dropped(),
                " instructions"));
  return Status();
}

Status Trainer::runStep() {
  Clock::time_point begin = Clock::now();
  appliedRate = options.learningRate.at(state.step + 1, total);
  Result<StepMetrics> metrics = computeStep();
  if (!metrics.ok())
    return explainEnd(strCat("step ", state.step + 1), metrics.status());
  Status sound = explainEnd(strCat("step ", state.step + 1), mapped.check());
  if (sound.ok())
    sound = checkStep(*metrics);
  ++state.step;
  if (sound.ok())
    fed = readNext();
  ZC_RETURN_IF_ERROR(agreeOnStep(sound));
  logStep(*metrics, secondsSince(begin));
  return Status();
}

/// All that the step needs of the device: only here can it fail in one.
Result<StepMetrics> Trainer::computeStep() {
  Executor &executor = session->executor();
  if (learningRate)
    ZC_RETURN_IF_ERROR(executor.writeState(*learningRate, 0, &appliedRate,
                                           sizeof(appliedRate)));
  ZC_RETURN_IF_ERROR(checkFed());
  ZC_RETURN_IF_ERROR(runOrder());
  // The program that ends the step reports it.
  return readStepMetrics(executor, *lastProgramOf(executor.role(), order()));
}

/// Of what could not be computed. Other ranks' failures are theirs to explain.
Status Trainer::explainEnd(const std::string &when, const Status &ran) const {
  if (ran.ok() || ran.code() == StatusCode::Cancelled)
    return ran;
  return Status(ran.code(), strCat(when, ": ", ran.message(), "; stopped; ",
                                   checkpoints.printKept()));
}

/// All samples of a step are looked at before its first action: in the midst of
/// an order ranks could not agree on them. They are read behind the step before
/// it, so that one agreement is about both.
Status Trainer::readNext() {
  const std::vector<int64_t> samples = samplesOf(state.step);
  return samples.empty() ? Status() : feed->read(samples);
}

/// Samples that cannot be fed end the run; the steps before them are sound.
Status Trainer::checkFed() {
  if (!cannotFeed)
    return Status();
  ZC_RETURN_IF_ERROR(saveLast());
  return world.agree(fed);
}

/// While a device works on one micro-batch, the next is on its way.
Status Trainer::runOrder() {
  Executor &executor = session->executor();
  auto following = [&] { return samplesOf(state.step + 1); };
  OrderCallbacks callbacks;
  callbacks.feed = [&](const plan::Feed &each) {
    return feed->write(executor, each);
  };
  callbacks.meanwhile = [&](const plan::Feed *next) {
    return feed->meanwhile(executor, next, following);
  };
  return runner->run(order(), callbacks);
}

/// Counted from 0; there are none behind the last step.
std::vector<int64_t> Trainer::samplesOf(int64_t step) const {
  std::vector<int64_t> samples(step < total ? size_t(state.batch) : 0);
  for (size_t i = 0; i < samples.size(); ++i)
    samples[i] = sampler->sample(step, int64_t(i));
  return samples;
}

Status Trainer::checkStep(const StepMetrics &metrics) {
  const int64_t step = state.step + 1;
  const std::string kept = checkpoints.printKept();
  ZC_RETURN_IF_ERROR(checks.checkNumbers(
      step, metrics, kept, session->findScalar("loss_scale") != nullptr,
      [this] { return feed->explainNan(samplesOf(state.step)); }));
  std::string warning;
  ZC_RETURN_IF_ERROR(checks.checkScale(step, metrics, kept, warning));
  if (!warning.empty())
    warn(warning);
  return Status();
}

void Trainer::logStep(const StepMetrics &metrics, double seconds) {
  summary.add(metrics.loss.value);
  progress->step(state.step, metrics.loss.value, appliedRate);
  const bool isDue = options.logEvery <= 1 || state.step == total ||
                     state.step % options.logEvery == 0;
  if (outputs.isOff() || !isDue)
    return;
  StepRecord record;
  record.step = state.step;
  record.loss = metrics.loss.text;
  record.lr = appliedRate;
  if (metrics.norm)
    record.gradNorm =
        std::isfinite(metrics.norm->value) ? metrics.norm->text : "null";
  if (std::count(options.metrics.begin(), options.metrics.end(), "perplexity"))
    record.perplexity = std::exp(metrics.loss.value);
  record.stepMs = seconds * 1e3;
  record.samplesPerSecond = seconds > 0 ? double(state.batch) / seconds : 0;
  if (int64_t tokens = feed->tokensPerSample())
    record.tokensPerSecond = record.samplesPerSecond * double(tokens);
  record.peakBytes = peakBytes;
  record.sentBytes = sentBytes;
  outputs.write(record);
}

Status Trainer::evaluate() {
  if (!heldOut || state.step == evaluatedStep)
    return Status();
  evaluatedStep = state.step;
  int signal = 0;
  auto evaluated = heldOut->evaluate(session->executor(), state.step, signal);
  if (signal)
    stopped = signal;
  if (!evaluated.ok())
    return explainEnd(strCat("evaluation after step ", state.step),
                      evaluated.status());
  sentBefore = session->executor().sentBytes(); // a step's own are counted
  return *evaluated ? takeEvaluation(**evaluated) : Status();
}

/// All ranks come to the same end, for all have the same values.
Status Trainer::takeEvaluation(const EvaluationRecord &record) {
  progress->note(
      strCat("step ", state.step, ": ", printEvaluation(record, "eval ")));
  summary.add(record);
  outputs.write(record);
  if (options.keepBest.empty() && options.patience == 0)
    return Status();
  bool isBest =
      best.take(state.step, valueOf(record, best.metric).value_or(NAN));
  isPatient = options.patience == 0 || best.since < options.patience;
  if (isBest && !options.keepBest.empty())
    ZC_RETURN_IF_ERROR(save());
  Status named;
  if (world.isFirst() && !checkpoints.isOff())
    named = isBest && !options.keepBest.empty() ? checkpoints.nameBest(best)
                                                : checkpoints.countBest(best);
  return world.agree(named);
}

Status Trainer::save() {
  if (checkpoints.isOff())
    return Status();
  // Nothing is kept that was learnt from a file that is no longer whole.
  ZC_RETURN_IF_ERROR(world.agree(
      explainEnd(strCat("after step ", state.step), checkMappings())));
  ZC_RETURN_IF_ERROR(
      checkpoints.save(session->executor(), state,
                       [&](const std::string &text) { progress->note(text); }));
  setLastWords(checkpoints.printKept());
  return Status();
}

/// What a run that cannot go on leaves: the steps that it has done. That they
/// cannot be saved either must not hide why it ends.
Status Trainer::saveLast() {
  if (state.step == firstStep)
    return Status();
  Status saved = save();
  if (saved.ok() || world.size() > 1)
    return saved;
  warn(saved.message());
  return Status();
}

/// Before the run and after it, for others may use the machine as well.
Status Trainer::measureLimits() {
  if (!options.profile || !world.isFirst())
    return Status();
  ZC_ASSIGN_OR_RETURN(DeviceLimits limits, session->executor().measureLimits());
  profile.addLimits(limits);
  return Status();
}

void Trainer::summarize() {
  double seconds = secondsSince(start);
  int64_t steps = state.step - firstStep;
  if (steps == 0) {
    progress->summarize(strCat("nothing to do: ", state.step, " of ", total,
                               " steps are done"));
    return;
  }
  if (checkpoints.isOff())
    warn("no --checkpoint DIR was given: what was trained is gone");
  else if (!checkpoints.latest().empty())
    progress->note("checkpoint: " + checkpoints.latest());
  if (best.step >= 0)
    progress->note(strCat("best eval ", best.metric, ": ",
                          printFigure(best.value), " at step ", best.step));
  if (!isPatient)
    progress->note(strCat("--patience ", options.patience, ": no better eval ",
                          best.metric, " since step ", best.step));
  if (stopped == kTimeIsUp)
    progress->note("--max-time is over; --resume goes on");
  const double rate = seconds > 0 ? double(steps * state.batch) / seconds : 0.0;
  progress->summarize(
      strCat(state.step < total ? "stopped after step " : "trained to step ",
             state.step, " of ", total, ": ", summary.print(), ", ", steps,
             " steps in ", printDuration(seconds), ", ",
             printRate(rate, feed->tokensPerSample()), ", arena ",
             printBytes(peakBytes)));
}

} // namespace

Result<int> train(const TrainOptions &options, const Rank &rank) {
  Trainer trainer(options, rank);
  ZC_RETURN_IF_ERROR(trainer.prepare());
  ZC_RETURN_IF_ERROR(trainer.run());
  return trainer.stoppedBy();
}

} // namespace zc
