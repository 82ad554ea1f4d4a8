#include "runtime/Driver/Evaluator.h"
#include "runtime/Base/File.h"
#include "runtime/Base/Log.h"
#include "runtime/Base/Mappings.h"
#include "runtime/Driver/Alike.h"
#include "runtime/Driver/HeldOut.h"
#include "runtime/Driver/OrderFeed.h"
#include "runtime/Driver/OutputWriter.h"
#include "runtime/Driver/Session.h"
#include "runtime/Driver/Signals.h"
#include "runtime/Exec/OrderRunner.h"
#include "runtime/Io/Checkpoint.h"

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

std::vector<std::string> programsToPrepare(const Session &session) {
  std::vector<std::string> names =
      programNamesOf(session.artifact().role(), session.orders().eval);
  names.insert(names.begin(), "init");
  return names;
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

  const EvalOptions &options;
  const Rank &rank;
  World &world;
  std::unique_ptr<Session> session;
  std::optional<OrderFeed> feed;
  std::string checkpoint;
  std::vector<OutputWriter> writers;
  int stopped = 0; // the signal that all ranks stop for
};

/// What can be checked before the artifact's memory is there.
Status Evaluation::openFiles() {
  const Artifact &artifact = session->artifact();
  const Orders &orders = session->orders();
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
  InputFiles inputs = session->artifact().files();
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
  alike.add("--seed", std::to_string(options.seed));
  return alike.compare(world);
}

Status Evaluation::openOutputs() {
  Executor &executor = session->executor();
  if (!checkpoint.empty())
    ZC_RETURN_IF_ERROR(
        loadCheckpoint(executor, checkpoint, CheckpointPart::Model).status());
  ZC_ASSIGN_OR_RETURN(
      writers, OutputWriter::createAll(session->artifact(), options.outputDir,
                                       feed->samples(), executor.mesh(),
                                       world.isFirst()));
  return checkOutputs();
}

/// The ranks must stop after the same batch, whoever got the signal first.
Status Evaluation::runBatches() {
  Executor &executor = session->executor();
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
    ZC_RETURN_IF_ERROR(runner.run(session->orders().eval, callbacks));
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
  ZC_ASSIGN_OR_RETURN(session, Session::open(rank, options.artifact));
  ZC_RETURN_IF_ERROR(world.agree(openFiles()));
  ZC_RETURN_IF_ERROR(compareOptions());
  ZC_RETURN_IF_ERROR(feed->agree(world));
  ZC_RETURN_IF_ERROR(session->prepare(options.threads, options.seed,
                                      programsToPrepare(*session),
                                      options.offloadFolder));
  ZC_RETURN_IF_ERROR(world.agree(openOutputs()));
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

/// Of samples with labels.
static Result<int> evaluateMetrics(const EvalOptions &options,
                                   const Rank &rank) {
  World &world = rank.world;
  ZC_ASSIGN_OR_RETURN(auto session, Session::open(rank, options.artifact));
  const Artifact &artifact = session->artifact();
  std::optional<HeldOut> heldOut;
  std::string checkpoint;
  auto openFiles = [&]() -> Status {
    ZC_ASSIGN_OR_RETURN(Mesh mesh, Mesh::of(artifact.manifest()));
    ZC_ASSIGN_OR_RETURN(heldOut,
                        HeldOut::open(artifact, "--data", options.data,
                                      options.metrics, mesh, world.rank(),
                                      options.tokenBits));
    if (!options.checkpoint.empty()) {
      ZC_ASSIGN_OR_RETURN(checkpoint, findCheckpoint(options.checkpoint));
    }
    return Status();
  };
  ZC_RETURN_IF_ERROR(world.agree(openFiles()));
  Alike alike;
  alike.addData("--data", &heldOut->source());
  alike.addGiven("--checkpoint", options.checkpoint);
  alike.add("--seed", std::to_string(options.seed));
  ZC_RETURN_IF_ERROR(alike.compare(world));
  ZC_RETURN_IF_ERROR(heldOut->agree(world));
  ZC_RETURN_IF_ERROR(session->prepare(options.threads, options.seed,
                                      programsToPrepare(*session),
                                      options.offloadFolder));
  if (!checkpoint.empty())
    ZC_RETURN_IF_ERROR(world.agree(
        loadCheckpoint(session->executor(), checkpoint, CheckpointPart::Model)
            .status()));
  if (world.isFirst())
    for (const std::string &note : heldOut->notes())
      logNote(note);
  int stopped = 0;
  ZC_ASSIGN_OR_RETURN(auto record,
                      heldOut->evaluate(session->executor(), 0, stopped));
  if (world.isFirst() && record)
    print(options, *record, heldOut->samples());
  else if (world.isFirst())
    logWarning("stopped before the end");
  return stopped;
}

Result<int> evaluate(const EvalOptions &options, const Rank &rank) {
  if (!options.data.empty())
    return evaluateMetrics(options, rank);
  return Evaluation(options, rank).run();
}

} // namespace zc
