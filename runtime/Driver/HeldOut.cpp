#include "runtime/Driver/HeldOut.h"
#include "runtime/Driver/Metrics.h"
#include "runtime/Driver/Signals.h"

#include <algorithm>
#include <numeric>

namespace zc {

static bool hasMetric(const plan::Program &program, const std::string &name) {
  return std::any_of(program.outputs().begin(), program.outputs().end(),
                     [&](const plan::Output &output) {
                       return output.kind() == plan::METRIC &&
                              output.name() == name;
                     });
}

Result<HeldOut> HeldOut::open(const Artifact &artifact, const std::string &path,
                              const Mesh &mesh, int64_t rank, int tokenBits) {
  const plan::Program *program = artifact.program("eval");
  if (!program || !hasMetric(*program, "loss_sum") ||
      !hasMetric(*program, "weight_sum"))
    return makeError(StatusCode::InvalidArgument, "--eval-data: '",
                     artifact.path(),
                     "' has no evaluation program that reports a loss");
  ZC_ASSIGN_OR_RETURN(DataFile file, DataFile::open(path, tokenBits));
  auto data = std::make_shared<DataFile>(std::move(file));
  ZC_ASSIGN_OR_RETURN(
      BatchFeed feed,
      BatchFeed::create(*program, data, FeedOptions(), mesh, rank));
  bool padded = std::any_of(
      program->inputs().begin(), program->inputs().end(),
      [](const plan::Input &input) { return input.is_sample_weight(); });
  // A loss that a model computes itself knows nothing of padding.
  if (!padded && feed.samples() % feed.batch() != 0)
    return makeError(
        StatusCode::InvalidArgument, "--eval-data: '", path, "' has ",
        feed.samples(), " samples, which fill no whole number of batches of ",
        feed.batch(),
        ". The model computes its loss itself, over a whole batch: what a part "
        "of one adds cannot be told from it; give a multiple of ",
        feed.batch(), " samples");
  return HeldOut(*program, std::move(feed));
}

Status HeldOut::addBatch(Executor &executor, Sums &sums) const {
  for (auto [name, sum] : {std::pair("loss_sum", &sums.loss),
                           {"weight_sum", &sums.weight},
                           {"correct_sum", &sums.correct}}) {
    ZC_ASSIGN_OR_RETURN(std::optional<Metric> metric,
                        readMetric(executor, *program, name));
    *sum += metric ? metric->value : 0;
    sums.hasCorrect |= metric && sum == &sums.correct;
  }
  return Status();
}

/// The ranks must stop after the same batch, whoever got the signal first. As
/// in PyTorch, the mean over no label at all is not a number.
Result<std::optional<EvaluationRecord>>
HeldOut::evaluate(Executor &executor, int64_t step, int &stopped) {
  Sums sums;
  for (int64_t at = 0; at < feed.samples(); at += feed.batch()) {
    indices.resize(std::min(feed.batch(), feed.samples() - at));
    std::iota(indices.begin(), indices.end(), at);
    std::vector<int64_t> signal = {stopSignal()};
    ZC_RETURN_IF_ERROR(
        executor.world().agree(feed.feed(executor, indices), &signal));
    stopped = int(signal[0]);
    if (stopped)
      return std::optional<EvaluationRecord>();
    ZC_RETURN_IF_ERROR(executor.run(*program));
    ZC_RETURN_IF_ERROR(addBatch(executor, sums));
  }
  EvaluationRecord record;
  record.step = step;
  record.loss = sums.loss / sums.weight;
  if (sums.hasCorrect)
    record.accuracy = sums.correct / sums.weight;
  return std::optional(record);
}

} // namespace zc
