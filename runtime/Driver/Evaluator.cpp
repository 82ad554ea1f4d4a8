#include "runtime/Driver/Evaluator.h"
#include "runtime/Base/File.h"
#include "runtime/Base/Log.h"
#include "runtime/Base/Mappings.h"
#include "runtime/Driver/Alike.h"
#include "runtime/Driver/OutputWriter.h"
#include "runtime/Driver/RunSession.h"
#include "runtime/Driver/RunSummary.h"
#include "runtime/Driver/Signals.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

namespace zc {
namespace {

/// The inputs of an evaluation, in all roles.
std::vector<const plan::Input *> inputsOf(const Artifact &artifact) {
  std::vector<const plan::Input *> inputs;
  for (const auto &[role, program] : evaluationOf(artifact))
    for (const plan::Input &input : program->inputs())
      inputs.push_back(&input);
  return inputs;
}

/// Refuses names that the model does not have.
Status checkInputNames(const Artifact &artifact, const EvalOptions &options) {
  std::set<std::string> known;
  std::string list;
  for (const plan::Input *input : inputsOf(artifact))
    if (!input->is_sample_weight() && known.insert(input->name()).second)
      list += (list.empty() ? "'" : ", '") + input->name() + "'";
  for (const auto &[name, file] : options.inputs)
    if (!known.count(name))
      return makeError(StatusCode::InvalidArgument, "--input ", name, "=", file,
                       ": the model has no such input; it has ", list);
  return Status();
}

/// Sentences about the session's samples.
using Notes = std::vector<std::string>;

/// A session that trains nothing.
Result<RunSession> openSession(const EvalOptions &options, const Rank &rank,
                               Notes &notes) {
  ApiOptions given;
  given.seed = options.seed;
  given.threads = options.threads;
  given.offloadFolder = options.offloadFolder;
  given.tuningFile = options.tuningFile;
  given.log = [&](bool isWarning, const std::string &text) {
    if (isWarning && rank.world.isFirst())
      logWarning(text);
    else if (!isWarning)
      notes.push_back(text);
  };
  given.progress = [](zc_phase, int64_t, int64_t) { return stopSignal(); };
  ApiRun run{rank};
  run.evaluatesOnly = true;
  run.averages = options.averages;
  run.evalOption = "--data";
  return RunSession::open(options.artifact, std::move(given), std::move(run));
}

/// One evaluation, as one of the ranks does it.
class Evaluation {
public:
  Evaluation(const EvalOptions &options, const Rank &rank)
      : options(options), rank(rank), world(rank.world) {}

  Result<int> run();

private:
  Status openFiles();
  Status openOutputs();
  Status checkOutputs() const;
  Status compareOptions() const;
  Status runBatches();

  const Artifact &artifact() const { return session->inside().artifact(); }
  const Orders &orders() const { return session->inside().orders(); }
  Executor &executor() const { return session->inside().executor(); }

  const EvalOptions &options;
  const Rank &rank;
  World &world;
  Notes notes;
  std::optional<RunSession> session;
  std::optional<OrderFeed> feed;
  std::string checkpoint;
  std::vector<OutputWriter> writers;
  int stopped = 0; // the signal that all ranks stop for
};

/// Checks all that can be checked before the artifact's memory is there.
Status Evaluation::openFiles() {
  const Artifact &artifact = this->artifact();
  const Orders &orders = this->orders();
  // Later replicas of a stage evaluate nothing.
  if (artifact.manifest().roles(0).eval().actions_size() == 0)
    return makeError(StatusCode::InvalidArgument, "'", options.artifact,
                     "' has no evaluation program");
  ZC_RETURN_IF_ERROR(checkInputNames(artifact, options));
  ZC_ASSIGN_OR_RETURN(DataFile file, DataFile::openArrays(options.inputs));
  auto data = std::make_shared<DataFile>(std::move(file));
  FeedOptions feedOptions{SampleAxis::Program, /*labelsMayMiss=*/true};
  ZC_ASSIGN_OR_RETURN(Mesh mesh, Mesh::of(artifact.manifest()));
  ZC_ASSIGN_OR_RETURN(feed, OrderFeed::create(artifact.role(), orders.eval,
                                              orders.evaluated, data,
                                              feedOptions, mesh, world.rank()));
  if (!options.checkpoint.empty()) {
    ZC_ASSIGN_OR_RETURN(checkpoint, findCheckpoint(options.checkpoint));
  }
  return world.isFirst() ? makeDirectories(options.outputDir) : Status();
}

/// No file that is written may be one that is read.
Status Evaluation::checkOutputs() const {
  InputFiles inputs = artifact().files();
  for (const std::string &file : feed->source().files())
    inputs.add(file);
  for (const OutputWriter &writer : writers)
    ZC_RETURN_IF_ERROR(inputs.check("--output-dir: the output", writer.path()));
  return Status();
}

Status Evaluation::compareOptions() const {
  Alike alike;
  alike.addData("--input", &feed->source());
  alike.addGiven("--checkpoint", options.checkpoint);
  alike.add("--ema", options.averages ? "on" : "off");
  alike.add("--seed", std::to_string(options.seed));
  alike.add("--tune", options.tuningFile ? "on" : "off");
  return alike.compare(world);
}

Status Evaluation::openOutputs() {
  ZC_ASSIGN_OR_RETURN(
      writers,
      OutputWriter::createAll(artifact(), options.outputDir, feed->samples(),
                              executor().mesh(), world.isFirst()));
  return checkOutputs();
}

/// The ranks must stop after the same batch, whoever got the signal first.
Status Evaluation::runBatches() {
  Executor &executor = this->executor();
  OrderRunner runner(executor);
  OrderCallbacks callbacks;
  callbacks.feed = [&](const plan::Feed &each) {
    return feed->write(executor, each);
  };
  callbacks.called = [&](const plan::Call &call) -> Status {
    for (OutputWriter &writer : writers)
      ZC_RETURN_IF_ERROR(writer.read(executor, call));
    return Status();
  };
  std::vector<int64_t> indices;
  for (int64_t at = 0; at < feed->samples(); at += feed->batch()) {
    indices.resize(std::min(feed->batch(), feed->samples() - at));
    std::iota(indices.begin(), indices.end(), at);
    std::vector<int64_t> signal = {stopSignal()};
    ZC_RETURN_IF_ERROR(world.agree(feed->read(indices), &signal));
    stopped = int(signal[0]);
    if (stopped)
      return Status();
    ZC_RETURN_IF_ERROR(runner.run(orders().eval, callbacks));
    for (OutputWriter &writer : writers)
      ZC_RETURN_IF_ERROR(writer.append(world, int64_t(indices.size()),
                                       feed->microBatchSamples()));
  }
  std::vector<int64_t> signal = {stopSignal()};
  ZC_RETURN_IF_ERROR(world.agree(checkMappings(), &signal));
  stopped = int(signal[0]);
  return Status();
}

Result<int> Evaluation::run() {
  ZC_ASSIGN_OR_RETURN(session, openSession(options, rank, notes));
  ZC_RETURN_IF_ERROR(world.agree(openFiles()));
  ZC_RETURN_IF_ERROR(compareOptions());
  ZC_RETURN_IF_ERROR(feed->agree(world));
  ZC_RETURN_IF_ERROR(session->check(zc_prepare(*session)));
  if (!checkpoint.empty())
    ZC_RETURN_IF_ERROR(session->check(zc_resume(*session, checkpoint.c_str())));
  ZC_RETURN_IF_ERROR(world.agree(openOutputs()));
  finishOnSignals(world.isFirst() ? "stops after this batch" : nullptr);
  ZC_RETURN_IF_ERROR(runBatches());
  if (stopped) {
    if (world.isFirst())
      logWarning("stopped before the end; no output was written");
    return stopped;
  }
  std::string names;
  for (OutputWriter &writer : writers) {
    ZC_RETURN_IF_ERROR(writer.finish());
    names += " " + writer.path();
    if (writer.differsByBatch())
      logWarning(writer.path() +
                 " holds one value for a whole batch, that of the first " +
                 std::to_string(feed->microBatchSamples()) + " of " +
                 std::to_string(feed->samples()) +
                 " samples; other batches have another");
  }
  if (world.isFirst())
    std::printf("evaluated %lld samples:%s\n", (long long)feed->samples(),
                names.c_str());
  return 0;
}

} // namespace

/// Loss and metrics, for people or for programs.
static void print(const EvalOptions &options, const EvaluationRecord &record,
                  int64_t samples) {
  if (!options.json) {
    std::printf("%s, of %lld samples\n", printEvaluation(record, "").c_str(),
                (long long)samples);
    return;
  }
  nlohmann::ordered_json json = {{"samples", samples}, {"loss", record.loss}};
  if (record.accuracy)
    json["accuracy"] = *record.accuracy;
  for (const auto &[name, value] : record.metrics)
    json[name] = value;
  std::printf("%s\n", json.dump(2).c_str());
}

/// Evaluates samples with labels.
static Result<int> evaluateMetrics(const EvalOptions &options,
                                   const Rank &rank) {
  World &world = rank.world;
  Notes notes;
  ZC_ASSIGN_OR_RETURN(RunSession session, openSession(options, rank, notes));
  std::string checkpoint;
  auto openFiles = [&]() -> Status {
    std::string metrics;
    for (const std::string &metric : options.metrics)
      metrics += (metrics.empty() ? "" : ",") + metric;
    ZC_RETURN_IF_ERROR(session.check(zc_set_eval_data(
        session, options.data.c_str(), options.tokenBits, metrics.c_str())));
    if (!options.checkpoint.empty()) {
      ZC_ASSIGN_OR_RETURN(checkpoint, findCheckpoint(options.checkpoint));
    }
    return Status();
  };
  ZC_RETURN_IF_ERROR(world.agree(openFiles()));
  const HeldOut &heldOut = *session.inside().evalData();
  Alike alike;
  alike.addData("--data", &heldOut.source());
  alike.addGiven("--checkpoint", options.checkpoint);
  alike.add("--ema", options.averages ? "on" : "off");
  alike.add("--seed", std::to_string(options.seed));
  alike.add("--tune", options.tuningFile ? "on" : "off");
  ZC_RETURN_IF_ERROR(alike.compare(world));
  ZC_RETURN_IF_ERROR(session.inside().agreeOnData());
  const Notes ofSamples = notes;
  ZC_RETURN_IF_ERROR(session.check(zc_prepare(session)));
  if (!checkpoint.empty())
    ZC_RETURN_IF_ERROR(session.check(zc_resume(session, checkpoint.c_str())));
  if (world.isFirst())
    for (const std::string &note : ofSamples)
      logNote(note);
  finishOnSignals(world.isFirst() ? "stops after this batch" : nullptr);
  const zc_status ended = zc_eval_data(session);
  if (ended != ZC_STOPPED)
    ZC_RETURN_IF_ERROR(session.check(ended));
  if (world.isFirst() && ended == ZC_OK)
    print(options, session.evaluation(), heldOut.samples());
  else if (world.isFirst())
    logWarning("stopped before the end");
  return ended == ZC_STOPPED ? zc_stopped_by(session) : 0;
}

Result<int> evaluate(const EvalOptions &options, const Rank &rank) {
  if (!options.data.empty())
    return evaluateMetrics(options, rank);
  return Evaluation(options, rank).run();
}

} // namespace zc
