#include "runtime/Driver/Trainer.h"
#include "runtime/Base/File.h"
#include "runtime/Base/Log.h"
#include "runtime/Base/Mappings.h"
#include "runtime/Driver/HeldOut.h"
#include "runtime/Driver/Metrics.h"
#include "runtime/Driver/Profile.h"
#include "runtime/Driver/Progress.h"
#include "runtime/Driver/Recipe.h"
#include "runtime/Driver/Session.h"
#include "runtime/Driver/Signals.h"
#include "runtime/Io/BatchFeed.h"
#include "runtime/Io/Checkpoint.h"
#include "runtime/Io/EventLog.h"
#include "runtime/Io/RunLog.h"
#include "runtime/Io/Sampler.h"
#include "runtime/Plan/Verify.h"

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
      : options(options), rank(rank), world(rank.world) {}

  Status prepare();
  Status run();
  /// The signal that all ranks have agreed to stop for, or 0.
  int stoppedBy() const { return stopped; }

private:
  Status openFiles();
  Status openData();
  Status checkOutputs() const;
  Status agreeOnStep(const Status &mine);
  Status finishTrace();
  void warn(const std::string &message) const {
    if (world.isFirst() && !message.empty())
      logWarning(message);
  }
  Status checkFolders();
  Status resume();
  void warnOfChanges(const TrainState &saved) const;
  Status decideTotal();
  Status openOutputs();
  /// What a step says of itself.
  struct StepMetrics {
    Metric loss = {0, "0"};
    std::optional<Metric> skipped, scale; // of a scaled loss
    std::optional<Metric> norm;
  };

  Status runStep();
  Result<StepMetrics> computeStep();
  Status runPrograms();
  Status explainEnd(const std::string &when, const Status &ran) const;
  void findSamples(int64_t step, int64_t part);
  void feedAhead(int64_t part);
  Status checkNumbers(const StepMetrics &metrics);
  Result<std::string> explainLoss();
  Status checkScale(const StepMetrics &metrics) const;
  std::string printKept() const;
  Status logStep(const StepMetrics &metrics, double seconds);
  Status evaluate();
  Status save();
  Status measureLimits();
  Status printProfile();
  void summarize();
  template <typename Record> Status writeRecord(const Record &record) {
    if (log)
      ZC_RETURN_IF_ERROR(log->write(record));
    return events ? events->write(record) : Status();
  }

  /// The program that has ended the step and reports its metrics.
  const plan::Program &program() const { return *ending; }

  const TrainOptions &options;
  const Rank &rank;
  World &world;
  std::unique_ptr<Session> session;
  std::optional<Recipe> recipe;
  const plan::Program *ending = nullptr; // of the step that ran last
  const plan::State *learningRate = nullptr;
  float appliedRate = 0; // of this step
  int normlessSteps = 0; // one after another, so far: gradients are no numbers
  std::optional<BatchFeed> feed;
  std::optional<HeldOut> heldOut;
  std::optional<RunLog> log;
  std::optional<EventLog> events;
  std::unique_ptr<Trace> trace;
  Profile profile;
  std::optional<Sampler> sampler;
  std::optional<Progress> progress;
  std::vector<int64_t> indices; // of the samples that are fed at once

  std::string folder;             // where checkpoints go
  std::optional<FolderLock> lock; // of that folder, with the first rank
  std::string lastCheckpoint;     // the newest one that is complete
  TrainState state;
  int64_t firstStep = 0;  // steps that earlier runs did
  int64_t savedStep = -1; // a signal may end the run where one is due
  int64_t total = 0;
  int stopped = 0;
  uint64_t peakBytes = 0;  // of the largest rank
  uint64_t sentBytes = 0;  // in this step, by the rank that sends most
  uint64_t sentBefore = 0; // by this rank, up to this step
  std::string firstLoss, lastLoss;
  Clock::time_point start;
  MappingCheck mapped;
};

// Before the first step -------------------------------------------------------

Status Trainer::prepare() {
  ZC_ASSIGN_OR_RETURN(session, Session::open(rank, options.artifact));
  ZC_RETURN_IF_ERROR(world.agree(openFiles()));
  ZC_RETURN_IF_ERROR(
      listAlike(options, feed->source(), heldOut ? &heldOut->source() : nullptr)
          .compare(world));
  std::vector<std::string> programs = {"init", kCopyProgram,
                                       recipe->part->name()};
  if (recipe->end != recipe->part)
    programs.push_back(recipe->end->name());
  if (recipe->laterEnd)
    programs.push_back(recipe->laterEnd->name());
  if (heldOut)
    programs.push_back("eval");
  ZC_RETURN_IF_ERROR(session->prepare(options.threads,
                                      options.seed.value_or(state.seed),
                                      programs, options.offloadFolder,
                                      /*besides=*/{"eval"}));
  state.batch = feed->batch() * recipe->repeats;
  state.samples = feed->samples();
  if (options.resume)
    ZC_RETURN_IF_ERROR(world.agree(resume()));
  // Each rank has found the checkpoint by itself.
  ZC_RETURN_IF_ERROR(
      Alike("--resume from step", std::to_string(state.step)).compare(world));
  setLastWords(printKept());
  ZC_RETURN_IF_ERROR(session->makeCopies());
  state.seed = options.seed.value_or(state.seed);
  state.shuffle = options.shuffle.value_or(state.shuffle);
  firstStep = state.step;
  ZC_RETURN_IF_ERROR(session->writeSeed(state.seed));
  ZC_RETURN_IF_ERROR(world.agree(decideTotal()));
  Status opened = openOutputs();
  std::vector<int64_t> largest = {int64_t(session->executor().arenaBytes())};
  ZC_RETURN_IF_ERROR(world.agree(opened, &largest));
  peakBytes = uint64_t(largest[0]);
  return Status();
}

/// What can be checked before the artifact's memory is there.
Status Trainer::openFiles() {
  const Artifact &artifact = session->artifact();
  if (artifact.manifest().mode() != "train")
    return makeError(StatusCode::InvalidArgument, "'", options.artifact,
                     "' was compiled with --mode infer; it cannot be trained");
  recipe = Recipe::of(artifact);
  learningRate = session->findScalar("lr");
  ZC_RETURN_IF_ERROR(openData());
  ZC_RETURN_IF_ERROR(checkOutputs());
  return checkFolders();
}

/// No file that is written may be one that is read.
Status Trainer::checkOutputs() const {
  InputFiles inputs = session->artifact().files();
  for (const std::string &file : feed->source().files())
    inputs.add(file);
  if (heldOut)
    for (const std::string &file : heldOut->source().files())
      inputs.add(file);
  if (options.resume)
    if (auto checkpoint = findCheckpoint(options.checkpoint); checkpoint.ok())
      inputs.addFolder(*checkpoint);
  if (!options.log.empty())
    ZC_RETURN_IF_ERROR(inputs.check("--log", options.log));
  return options.trace.empty() ? Status()
                               : inputs.check("--trace", options.trace);
}

Status Trainer::openOutputs() {
  if (!options.log.empty() && world.isFirst()) {
    ZC_ASSIGN_OR_RETURN(
        RunLog opened,
        RunLog::open(options.log, options.resume
                                      ? std::optional<int64_t>(state.step)
                                      : std::nullopt));
    log.emplace(std::move(opened));
  }
  if (!options.tensorboard.empty() && world.isFirst()) {
    ZC_ASSIGN_OR_RETURN(EventLog opened, EventLog::open(options.tensorboard));
    events.emplace(std::move(opened));
  }
  if (!options.trace.empty()) {
    ZC_ASSIGN_OR_RETURN(trace, Trace::open(options.trace, world.rank()));
    session->executor().addObserver(*trace);
  }
  if (options.profile)
    session->executor().addObserver(profile);
  return Status();
}

Status Trainer::openData() {
  ZC_ASSIGN_OR_RETURN(DataFile file,
                      DataFile::open(options.data, options.tokenBits));
  auto data = std::make_shared<DataFile>(std::move(file));
  warn(data->doubt());
  ZC_ASSIGN_OR_RETURN(Mesh mesh, Mesh::of(session->artifact().manifest()));
  ZC_ASSIGN_OR_RETURN(feed,
                      BatchFeed::create(*recipe->part, data, FeedOptions(),
                                        mesh, world.rank()));
  if (options.evalData.empty())
    return Status();
  ZC_ASSIGN_OR_RETURN(heldOut,
                      HeldOut::open(session->artifact(), options.evalData, mesh,
                                    world.rank(), options.tokenBits));
  return Status();
}

Status Trainer::checkFolders() {
  if (!options.log.empty() && world.isFirst())
    ZC_RETURN_IF_ERROR(checkParentExists(options.log));
  if (options.checkpoint.empty())
    return Status();
  // DIR/step-N names the checkpoint to go on from; new ones go beside it.
  folder = options.resume ? checkpointFolder(options.checkpoint)
                          : options.checkpoint;
  if (!world.isFirst())
    return Status(); // the first one looks after it
  ZC_ASSIGN_OR_RETURN(lock, prepareCheckpointFolder(folder));
  if (!options.resume && !listCheckpoints(folder).empty())
    warn("'" + folder +
         "' holds checkpoints of an earlier run; the first of this run "
         "replaces those of the same and of later steps (use --resume "
         "to go on from the latest)");
  return Status();
}

Status Trainer::resume() {
  ZC_ASSIGN_OR_RETURN(lastCheckpoint, findCheckpoint(options.checkpoint));
  ZC_ASSIGN_OR_RETURN(TrainState saved,
                      loadCheckpoint(session->executor(), lastCheckpoint,
                                     CheckpointPart::Everything));
  if (saved.samples != state.samples)
    warn(strCat("'", options.data, "' has ", state.samples,
                " samples; the run so far had ", saved.samples));
  if (saved.isPartial)
    warn(strCat("'", lastCheckpoint,
                "' is of ranks that divide the step otherwise: what each has "
                "lost to compression so far is forgotten, and begins at 0"));
  warnOfChanges(saved);
  state.step = saved.step;
  state.seed = saved.seed;
  state.shuffle = saved.shuffle;
  return Status();
}

/// What a run goes on with otherwise than it began: its samples come in another
/// order from here on.
void Trainer::warnOfChanges(const TrainState &saved) const {
  if (options.seed.value_or(saved.seed) != saved.seed)
    warn(strCat("--seed ", *options.seed, ": the run so far had seed ",
                saved.seed, "; from here on samples come in another order"));
  if (options.shuffle.value_or(saved.shuffle) != saved.shuffle)
    warn(strCat(
        *options.shuffle ? "--shuffle" : "--no-shuffle", ": the run so far ",
        saved.shuffle ? "shuffled its samples" : "took its samples in order"));
  if (saved.batch != state.batch)
    warn(strCat("'", options.artifact, "' takes ", state.batch,
                " samples a step; the run so far took ", saved.batch,
                "; steps are counted on as they are"));
}

Status Trainer::decideTotal() {
  sampler.emplace(state.samples, state.batch, state.seed, state.shuffle);
  ZC_ASSIGN_OR_RETURN(total, options.steps
                                 ? Result<int64_t>(*options.steps)
                                 : sampler->stepsFor(*options.epochs));
  return Status();
}

// The steps -------------------------------------------------------------------

Status Trainer::run() {
  indices.resize(feed->batch());
  progress.emplace(firstStep + 1, total, !world.isFirst());
  sentBefore = session->executor().sentBytes();
  ZC_RETURN_IF_ERROR(agreeOnStep(measureLimits()));
  start = Clock::now();
  while (state.step < total && !stopped) {
    ZC_RETURN_IF_ERROR(runStep());
    auto due = [&](int64_t every) {
      return every > 0 && state.step % every == 0 && state.step < total;
    };
    if (due(options.evalEvery))
      ZC_RETURN_IF_ERROR(evaluate());
    if (due(options.saveEvery))
      ZC_RETURN_IF_ERROR(save());
  }
  if (state.step > firstStep) {
    ZC_RETURN_IF_ERROR(save());
    if (!stopped)
      ZC_RETURN_IF_ERROR(evaluate());
  }
  ZC_RETURN_IF_ERROR(finishTrace());
  if (options.profile && world.isFirst())
    ZC_RETURN_IF_ERROR(printProfile());
  summarize();
  return Status();
}

/// After each step: whether it is the last, and what it took. The ranks
/// must stop after the same one, whoever got the signal first.
Status Trainer::agreeOnStep(const Status &mine) {
  const uint64_t sent = session->executor().sentBytes();
  std::vector<int64_t> largest = {stopSignal(), int64_t(sent - sentBefore)};
  ZC_RETURN_IF_ERROR(world.agree(mine, &largest));
  stopped = int(largest[0]);
  sentBytes = uint64_t(largest[1]);
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
    sound = checkNumbers(*metrics);
  ZC_RETURN_IF_ERROR(agreeOnStep(sound.ok() ? checkScale(*metrics) : sound));
  ++state.step;
  return logStep(*metrics, secondsSince(begin));
}

/// All that the step needs of the device: only here can it fail in one.
Result<Trainer::StepMetrics> Trainer::computeStep() {
  Executor &executor = session->executor();
  if (learningRate)
    ZC_RETURN_IF_ERROR(executor.writeState(*learningRate, 0, &appliedRate,
                                           sizeof(appliedRate)));
  ZC_RETURN_IF_ERROR(runPrograms());
  StepMetrics metrics;
  ZC_ASSIGN_OR_RETURN(std::optional<Metric> loss,
                      readMetric(executor, program(), "loss"));
  if (loss)
    metrics.loss = *loss;
  ZC_ASSIGN_OR_RETURN(metrics.skipped,
                      readMetric(executor, program(), "skipped"));
  ZC_ASSIGN_OR_RETURN(metrics.scale,
                      readMetric(executor, program(), "loss_scale"));
  ZC_ASSIGN_OR_RETURN(metrics.norm,
                      readMetric(executor, program(), "grad_norm"));
  return metrics;
}

/// Of what could not be computed. Other ranks' failures are theirs to explain.
Status Trainer::explainEnd(const std::string &when, const Status &ran) const {
  if (ran.ok() || ran.code() == StatusCode::Cancelled)
    return ran;
  return Status(ran.code(),
                strCat(when, ": ", ran.message(), "; stopped; ", printKept()));
}

/// Micro-batches are consecutive parts of the step's samples. While a device
/// works on one, the next is on its way.
Status Trainer::runPrograms() {
  Executor &executor = session->executor();
  for (int64_t part = 0; part < recipe->repeats; ++part) {
    findSamples(state.step, part);
    ZC_RETURN_IF_ERROR(world.agree(feed->feed(executor, indices)));
    ZC_RETURN_IF_ERROR(executor.start(*recipe->part));
    feedAhead(part + 1);
    ZC_RETURN_IF_ERROR(executor.finish(*recipe->part));
  }
  ending = recipe->endOf(state.step + 1);
  return ending == recipe->part ? Status() : executor.run(*ending);
}

void Trainer::findSamples(int64_t step, int64_t part) {
  const int64_t count = int64_t(indices.size());
  for (int64_t i = 0; i < count; ++i)
    indices[size_t(i)] = sampler->sample(step, part * count + i);
}

/// `part` of this step, or the first of the next one.
void Trainer::feedAhead(int64_t part) {
  const bool isNext = part == recipe->repeats;
  const int64_t step = isNext ? state.step + 1 : state.step;
  if (step == total || !session->executor().isFedAhead(*recipe->part))
    return;
  findSamples(step, isNext ? 0 : part);
  feed->feedAhead(session->executor(), indices);
}

/// What a user still has when a run ends early.
std::string Trainer::printKept() const {
  return lastCheckpoint.empty()
             ? "no checkpoint was written before"
             : "the last checkpoint, '" + lastCheckpoint + "', is kept";
}

/// The parameters are already updated from such a loss, so that nothing after
/// it is worth saving. With a scaled loss they are not: the step was skipped.
/// Gradients may be no numbers where the loss is one, by a ReLU that makes 0 of
/// what is none. Once may be of a parameter that a checkpoint would name.
Status Trainer::checkNumbers(const StepMetrics &metrics) {
  const Metric &loss = metrics.loss;
  bool isLossless = !std::isfinite(loss.value);
  bool isNormless =
      metrics.norm && std::isnan(metrics.norm->value) && !metrics.scale;
  normlessSteps = isNormless ? normlessSteps + 1 : 0;
  if (!isLossless && !isNormless)
    return Status();
  ZC_ASSIGN_OR_RETURN(std::string cause, explainLoss());
  if (!isLossless && cause.empty() && normlessSteps == 1)
    return Status();
  std::string found =
      isLossless ? strCat("the loss is ", loss.text)
                 : strCat("the gradients' norm is ", metrics.norm->text);
  if (!cause.empty())
    return makeError(StatusCode::InvalidArgument, "step ", state.step + 1, ": ",
                     found, ", for ", cause, "; stopped; ", printKept());
  std::string advice = "try a smaller --lr";
  if (session->findScalar("loss_scale"))
    advice = "the forward overflows fp16, whose largest number is 65504; "
             "compile with --precision bf16, or scale the data down";
  return makeError(StatusCode::InvalidArgument, "step ", state.step + 1, ": ",
                   found, "; stopped; ", printKept(), "; ", advice);
}

/// What in this step's samples makes its loss no number; empty: nothing.
Result<std::string> Trainer::explainLoss() {
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < state.batch; ++i)
    samples.push_back(sampler->sample(state.step, i));
  return feed->explainNan(samples);
}

/// Of a scaled loss: says that the step was skipped, and ends a run that would
/// skip for ever.
Status Trainer::checkScale(const StepMetrics &metrics) const {
  const std::optional<Metric> &scale = metrics.scale;
  if (!metrics.skipped || !scale || metrics.skipped->value == 0)
    return Status();
  // Below it gradients are lost that fp16 holds unscaled.
  constexpr double kLeastScale = 1;
  if (scale->value < kLeastScale)
    return makeError(StatusCode::InvalidArgument, "step ", state.step + 1,
                     ": gradients overflow fp16 whatever the loss is scaled "
                     "by, down to ",
                     scale->text, "; stopped; ", printKept(),
                     "; compile with --precision bf16");
  warn(strCat("step ", state.step + 1,
              ": gradients overflow fp16; the step is skipped and the loss "
              "scaled by ",
              scale->text, " from now on"));
  return Status();
}

Status Trainer::logStep(const StepMetrics &metrics, double seconds) {
  const Metric &loss = metrics.loss;
  if (firstLoss.empty())
    firstLoss = loss.text;
  lastLoss = loss.text;
  double rate = seconds > 0 ? double(state.batch) / seconds : 0;
  progress->step(state.step, loss.text, rate);
  if (!log && !events)
    return Status();
  StepRecord record;
  record.step = state.step;
  record.loss = loss.text;
  record.lr = appliedRate;
  if (metrics.norm)
    record.gradNorm =
        std::isfinite(metrics.norm->value) ? metrics.norm->text : "null";
  record.stepMs = seconds * 1e3;
  record.samplesPerSecond = rate;
  record.peakBytes = peakBytes;
  record.sentBytes = sentBytes;
  return writeRecord(record);
}

Status Trainer::evaluate() {
  if (!heldOut)
    return Status();
  auto evaluated = heldOut->evaluate(session->executor(), state.step, stopped);
  if (!evaluated.ok())
    return explainEnd(strCat("evaluation after step ", state.step),
                      evaluated.status());
  const std::optional<EvaluationRecord> &record = *evaluated;
  sentBefore = session->executor().sentBytes(); // a step's own are counted
  if (!record)
    return Status();
  std::string text = strCat("step ", state.step, ": eval loss ", record->loss);
  if (record->accuracy)
    text += strCat(", eval accuracy ", *record->accuracy);
  progress->note(text);
  return writeRecord(*record);
}

Status Trainer::save() {
  if (folder.empty() || state.step == savedStep)
    return Status();
  // Nothing is kept that was learnt from a file that is no longer whole.
  ZC_RETURN_IF_ERROR(world.agree(
      explainEnd(strCat("after step ", state.step), checkMappings())));
  auto saved = saveCheckpoint(session->executor(), folder, state);
  if (saved.status().code() == StatusCode::Cancelled)
    return saved.status();
  if (!saved.ok())
    return saved.status().withContext(
        strCat("after step ", state.step,
               lastCheckpoint.empty()
                   ? std::string()
                   : " (the checkpoint '" + lastCheckpoint + "' is kept)"));
  lastCheckpoint = *saved;
  savedStep = state.step;
  setLastWords(printKept());
  if (!world.isFirst())
    return Status();
  if (size_t removed = removeLaterCheckpoints(folder, state.step))
    progress->note(strCat("removed ", removed, " later checkpoint",
                          removed == 1 ? "" : "s", " of an earlier run from '",
                          folder, "'"));
  if (options.keep > 0)
    pruneCheckpoints(folder, state.step, options.keep);
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

Status Trainer::printProfile() {
  ZC_RETURN_IF_ERROR(measureLimits());
  progress->note(profile.print());
  return Status();
}

void Trainer::summarize() {
  double seconds = secondsSince(start);
  int64_t steps = state.step - firstStep;
  if (steps == 0) {
    progress->note(strCat("nothing to do: ", state.step, " of ", total,
                          " steps are done"));
    return;
  }
  if (!lastCheckpoint.empty())
    progress->note("checkpoint: " + lastCheckpoint);
  char rate[32];
  std::snprintf(rate, sizeof(rate), "%.1f",
                seconds > 0 ? double(steps * state.batch) / seconds : 0.0);
  progress->note(strCat(stopped ? "stopped after step " : "trained to step ",
                        state.step, " of ", total, ": loss ", firstLoss, " -> ",
                        lastLoss, ", ", steps, " steps in ",
                        printDuration(seconds), ", ", rate,
                        " samples/s, arena ", printBytes(peakBytes)));
}

} // namespace

Result<int> train(const TrainOptions &options, const Rank &rank) {
  Trainer trainer(options, rank);
  ZC_RETURN_IF_ERROR(trainer.prepare());
  ZC_RETURN_IF_ERROR(trainer.run());
  return trainer.stoppedBy();
}

} // namespace zc
