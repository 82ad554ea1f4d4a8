#include "runtime/Driver/Evaluator.h"
#include "runtime/Base/File.h"
#include "runtime/Base/Log.h"
#include "runtime/Driver/OutputWriter.h"
#include "runtime/Driver/Session.h"
#include "runtime/Driver/Signals.h"
#include "runtime/Io/BatchFeed.h"
#include "runtime/Io/Checkpoint.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace zc {
namespace {

/// Refuses names that the program does not have.
Status checkInputNames(const plan::Program &program,
                       const EvalOptions &options) {
  std::set<std::string> known;
  std::string list;
  for (const plan::Input &input : program.inputs())
    if (!input.is_sample_weight() && known.insert(input.name()).second)
      list += (list.empty() ? "'" : ", '") + input.name() + "'";
  for (const auto &[name, file] : options.inputs)
    if (!known.count(name))
      return makeError(StatusCode::InvalidArgument, "--input ", name, "=", file,
                       ": the model has no such input; it has ", list);
  return Status();
}

Status runBatches(Executor &executor, const plan::Program &program,
                  BatchFeed &feed, std::vector<OutputWriter> &writers) {
  std::vector<int64_t> indices;
  for (int64_t at = 0; at < feed.samples() && !stopSignal();
       at += feed.batch()) {
    indices.resize(std::min(feed.batch(), feed.samples() - at));
    std::iota(indices.begin(), indices.end(), at);
    ZC_RETURN_IF_ERROR(feed.feed(executor, indices));
    ZC_RETURN_IF_ERROR(executor.run(program));
    for (OutputWriter &writer : writers)
      ZC_RETURN_IF_ERROR(writer.append(executor, int64_t(indices.size())));
  }
  return Status();
}

} // namespace

Result<int> evaluate(const EvalOptions &options, const Rank &rank) {
  ZC_ASSIGN_OR_RETURN(auto session, Session::open(rank, options.artifact));
  const plan::Program *program = session->artifact().program("eval");
  if (!program)
    return makeError(StatusCode::InvalidArgument, "'", options.artifact,
                     "' has no evaluation program");
  ZC_RETURN_IF_ERROR(checkInputNames(*program, options));
  ZC_ASSIGN_OR_RETURN(DataFile file, DataFile::openArrays(options.inputs));
  auto data = std::make_shared<DataFile>(std::move(file));
  FeedOptions feedOptions{SampleAxis::Program, /*labelsMayMiss=*/true};
  ZC_ASSIGN_OR_RETURN(BatchFeed feed,
                      BatchFeed::create(*program, data, feedOptions));
  std::string checkpoint;
  if (!options.checkpoint.empty()) {
    ZC_ASSIGN_OR_RETURN(checkpoint, findCheckpoint(options.checkpoint));
  }
  ZC_RETURN_IF_ERROR(makeDirectories(options.outputDir));

  ZC_RETURN_IF_ERROR(
      session->prepare(options.threads, options.seed, {"init", "eval"}));
  Executor &executor = session->executor();
  if (!checkpoint.empty())
    ZC_RETURN_IF_ERROR(
        loadCheckpoint(executor, checkpoint, CheckpointPart::Model).status());
  ZC_ASSIGN_OR_RETURN(
      std::vector<OutputWriter> writers,
      OutputWriter::createAll(*program, options.outputDir, feed.samples()));
  ZC_RETURN_IF_ERROR(runBatches(executor, *program, feed, writers));
  if (int signal = stopSignal()) {
    logWarning("stopped before the end; no output was written");
    return signal;
  }
  for (OutputWriter &writer : writers)
    ZC_RETURN_IF_ERROR(writer.finish());
  std::string names;
  for (OutputWriter &writer : writers)
    names += " " + writer.path();
  std::printf("evaluated %lld samples:%s\n", (long long)feed.samples(),
              names.c_str());
  return 0;
}

} // namespace zc
