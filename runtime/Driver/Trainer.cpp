#include "runtime/Driver/Trainer.h"
#include "runtime/Base/Ending.h"
#include "runtime/Driver/Metrics.h"
#include "runtime/Driver/Signals.h"
#include "runtime/Driver/TrainerRun.h"

#include <algorithm>
#include <cmath>

namespace zc {

static double secondsSince(Trainer::Clock::time_point start) {
  return std::chrono::duration<double>(Trainer::Clock::now() - start).count();
}

/// Standard output may be for those who read the log.
std::FILE *Trainer::streamOfLines() const {
  return options.log == kStandardOutput ? stderr : stdout;
}

void Trainer::startProgress() {
  ProgressOptions shown;
  shown.firstStep = firstStep + 1;
  shown.totalSteps = total;
  shown.every = options.logEvery;
  shown.mostSeconds = options.maxTime;
  shown.epochsPerStep =
      stream ? 0 : double(state.batch) / double(state.samples);
  shown.samplesPerStep = state.batch;
  shown.tokensPerSample = inside().data()->tokensPerSample();
  shown.stream = streamOfLines();
  shown.quiet = options.quiet;
  shown.silent = !world.isFirst();
  progress.emplace(shown);
  summary = RunSummary(total - firstStep);
}

const char *Trainer::whatASignalDoes() const {
  if (!world.isFirst())
    return nullptr;
  return checkpoints.isOff() ? "stops after this step"
                             : "stops after this step and saves";
}

Status Trainer::run() {
  startProgress();
  for (const std::string &note : notes)
    progress->note(note);
  sentBefore = zc_sent_bytes(handle());
  fed = readNext();
  ZC_RETURN_IF_ERROR(agreeAtStart(measureLimits()));
  finishOnSignals(whatASignalDoes());
  start = Clock::now();
  if (Status trained = trainSteps(); !trained.ok())
    return explainFailure(trained);
  if (state.step > firstStep) {
    ZC_RETURN_IF_ERROR(save());
    if (!stopped || isEnd(stopped))
      ZC_RETURN_IF_ERROR(evaluate());
  }
  ZC_RETURN_IF_ERROR(finishTrace());
  ZC_RETURN_IF_ERROR(measureLimits());
  if (options.profile)
    progress->summarize(profile.print() + inside().pinNote());
  if (world.isFirst())
    outputs.finish();
  summarize();
  return Status();
}

/// The thread that writes checkpoints may be what failed, and ended the steps.
Status Trainer::explainFailure(const Status &trained) {
  if (trained.code() != StatusCode::Cancelled)
    return trained;
  Status written;
  for (CheckpointKeeper *keeper : {&checkpoints, &replicas})
    if (written.ok() || written.code() == StatusCode::Cancelled)
      written = keeper->land(/*wait=*/true, [](const std::string &) {});
  return written.ok() ? trained : written;
}

/// Tells others that still agree on a step of a failure first. The agreement
/// may return this rank's own failure.
Status Trainer::trainSteps() {
  Status status = runSteps();
  if (status.ok() || !agreement->isUnderWay())
    return status;
  status = world.fail(status);
  Status told = agreement->finish().status();
  const bool isOurs = !told.ok() && told.code() != StatusCode::Cancelled &&
                      status.code() == StatusCode::Cancelled;
  return isOurs ? told : status;
}

Status Trainer::runSteps() {
  while (state.step < total && !(stopped && mayEnd()) && isPatient) {
    if (stream)
      ZC_RETURN_IF_ERROR(awaitSamples());
    if (stream && stopped)
      break;
    ZC_RETURN_IF_ERROR(runStep());
    ZC_RETURN_IF_ERROR(landCheckpoints());
    auto due = [&](int64_t every) {
      return every > 0 && state.step % every == 0 && state.step < total;
    };
    if (due(options.evalEvery))
      ZC_RETURN_IF_ERROR(evaluate());
    if (due(options.checkpoint.saveEvery))
      ZC_RETURN_IF_ERROR(save(/*mayGoOn=*/true));
    if (due(options.replicas.saveEvery))
      ZC_RETURN_IF_ERROR(replicate());
  }
  return Status();
}

/// Up to the next step behind which nothing may be under way.
void Trainer::beginRun() {
  int64_t end = total;
  auto stopAt = [&](bool isOn, int64_t every) {
    if (isOn && every > 0)
      end = std::min(end, (state.step / every + 1) * every);
  };
  stopAt(inside().evalData() != nullptr, options.evalEvery);
  stopAt(!checkpoints.isOff(), options.checkpoint.saveEvery);
  stopAt(!replicas.isOff(), options.replicas.saveEvery);
  steps().begin(state.step, end);
}

/// After a step: whether it is the last, the bytes it sent, and whether the
/// next one's samples can be fed. The ranks must stop after the same one,
/// whoever got the signal first.
StepNews Trainer::tellOfStep(const Status &sound) const {
  StepNews news;
  news.step = state.step;
  news.status = sound;
  news.stop = stopSignal();
  // A step is done at least, so that a job that is queued again gets on.
  const bool isRunning = start != Clock::time_point();
  if (!news.stop && isRunning && options.maxTime > 0 &&
      secondsSince(began) >= options.maxTime)
    news.stop = kTimeIsUp;
  news.sentBytes = int64_t(zc_sent_bytes(handle()) - sentBefore);
  news.cannotFeed = !fed.ok();
  news.rate = appliedRate;
  return news;
}

Status Trainer::agreeAtStart(const Status &mine) {
  agreement->begin(tellOfStep(mine), /*beside=*/false);
  sentBefore = zc_sent_bytes(handle());
  return takeNews();
}

/// Where steps overlap, ranks hear of one while they do the next: none waits.
Status Trainer::endStep(StepNews mine) {
  ZC_RETURN_IF_ERROR(takeNews());
  sentBefore = zc_sent_bytes(handle());
  agreement->begin(std::move(mine), !mayEnd());
  return mayEnd() ? takeNews() : Status();
}

/// Takes the news of the step that all have agreed on, if any.
Status Trainer::takeNews() {
  if (!agreement->isUnderWay())
    return Status();
  ZC_ASSIGN_OR_RETURN(StepNews news, agreement->finish());
  if (!steps().overlap())
    news.seconds = secondsSince(stepBegan);
  stopped = int(news.stop);
  sentBytes = uint64_t(news.sentBytes);
  cannotFeed = news.cannotFeed != 0;
  if (stopped)
    steps().shorten(state.step);
  if (news.step > firstStep)
    logStep(news);
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
  stepBegan = Clock::now();
  if (trace)
    trace->beginStep(state.step + 1);
  TracedSpan span(trace.get(), Trace::Lane::Steps,
                  strCat("step ", state.step + 1));
  if (mayEnd())
    beginRun();
  appliedRate = options.learningRate.at(state.step + 1, total);
  const std::string when = strCat("step ", state.step + 1);
  if (Status ready = readyStep(); !ready.ok())
    return explainEnd(when, ready);
  const zc_status ended = zc_step(handle());
  if (ended != ZC_OK && ended != ZC_NOT_FINITE)
    return explainEnd(when, check(ended));
  Status sound = explainEnd(when, mapped.check());
  if (sound.ok())
    sound = check(ended);
  state.step = zc_steps_done(handle());
  if (sound.ok()) {
    noteStepDone();
    fed = readNext();
  }
  StepNews news = tellOfStep(sound);
  news.metrics = inside().stepMetrics();
  news.seconds = secondsSince(stepBegan);
  return endStep(std::move(news));
}

Status Trainer::readyStep() {
  ZC_RETURN_IF_ERROR(check(zc_set_learning_rate(handle(), appliedRate)));
  return checkFed();
}

/// Explains why the run ends. Other ranks explain their own failures.
Status Trainer::explainEnd(const std::string &when, const Status &ran) {
  if (ran.ok() || ran.code() == StatusCode::Cancelled)
    return ran;
  return Status(ran.code(), strCat(when, ": ", ran.message(), "; stopped; ",
                                   checkpoints.printKept()));
}

void Trainer::logStep(const StepNews &news) {
  const StepMetrics &metrics = news.metrics;
  const double seconds = news.seconds;
  summary.add(metrics.loss.value);
  progress->step(news.step, metrics.loss.value, news.rate);
  const bool isDue = options.logEvery <= 1 || news.step == total ||
                     news.step % options.logEvery == 0;
  if (outputs.isOff() || !isDue)
    return;
  StepRecord record;
  record.step = news.step;
  record.loss = metrics.loss.text;
  record.lr = news.rate;
  if (metrics.norm)
    record.gradNorm =
        std::isfinite(metrics.norm->value) ? metrics.norm->text : "null";
  if (std::count(options.metrics.begin(), options.metrics.end(), "perplexity"))
    record.perplexity = std::exp(metrics.loss.value);
  if (metrics.experts) {
    record.expertTokens = metrics.experts->rows;
    record.experts = metrics.experts->experts;
    record.expertBalance = metrics.experts->balance();
    record.expertOverflow = metrics.experts->overflow.value_or(0);
  }
  if (!metrics.gradientCounts.empty())
    record.gradients =
        GradientHistogram::of(metrics.gradientCounts, kGradientEdges);
  record.stepMs = seconds * 1e3;
  record.samplesPerSecond = seconds > 0 ? double(state.batch) / seconds : 0;
  if (int64_t tokens = inside().data()->tokensPerSample())
    record.tokensPerSecond = record.samplesPerSecond * double(tokens);
  record.peakBytes = peakBytes;
  record.sentBytes = sentBytes;
  outputs.write(record);
}

Status Trainer::evaluate() {
  if (!inside().evalData() || state.step == evaluatedStep)
    return Status();
  evaluatedStep = state.step;
  TracedSpan span(trace.get(), Trace::Lane::Evaluation,
                  strCat("evaluate after step ", state.step));
  const zc_status ended = zc_eval_data(handle());
  if (ended == ZC_STOPPED) {
    stopped = zc_stopped_by(handle());
    return Status();
  }
  if (ended != ZC_OK)
    return explainEnd(strCat("evaluation after step ", state.step),
                      check(ended));
  sentBefore = zc_sent_bytes(handle()); // a step's own are counted
  return takeEvaluation(session->evaluation());
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

/// Before the run and after it, for others may use the machine as well.
Status Trainer::measureLimits() {
  if (!options.profile || !world.isFirst())
    return Status();
  ZC_ASSIGN_OR_RETURN(DeviceLimits limits, executor().measureLimits());
  profile.addLimits(limits);
  return Status();
}

void Trainer::summarize() {
  double seconds = secondsSince(start);
  int64_t steps = state.step - firstStep;
  if (steps == 0 && stoppedBy() && state.step < total) {
    progress->summarize(strCat("stopped before step ", state.step + 1, " of ",
                               total, ": no step was done"));
    return;
  }
  if (steps == 0) {
    progress->summarize(strCat("nothing to do: the run ends behind step ",
                               total, ", and step ", state.step, " is done"));
    return;
  }
  if (checkpoints.isOff())
    warn("no --checkpoint DIR was given: the trained weights are lost");
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
  if (stopped == kDataAreOver)
    progress->note(strCat("standard input has ended; ", stream->left(),
                          " samples that fill no step are left over"));
  const double rate = seconds > 0 ? double(steps * state.batch) / seconds : 0.0;
  progress->summarize(
      strCat(state.step < total ? "stopped after step " : "trained to step ",
             state.step, " of ", total, ": ", summary.print(), ", ", steps,
             " steps in ", printDuration(seconds), ", ",
             printRate(rate, inside().data()->tokensPerSample()), ", arena ",
             printBytes(peakBytes)));
}

Result<int> train(const TrainOptions &options, const Rank &rank) {
  Trainer trainer(options, rank);
  ZC_RETURN_IF_ERROR(trainer.prepare());
  if (!trainer.stoppedBy())
    ZC_RETURN_IF_ERROR(trainer.run());
  return trainer.stoppedBy();
}

} // namespace zc
