#include "runtime/Driver/HeldOut.h"
#include "runtime/Driver/Metrics.h"
#include "runtime/Driver/Progress.h"
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

Result<HeldOut> HeldOut::open(const Artifact &artifact, const char *option,
                              const std::string &path,
                              const std::vector<std::string> &names,
                              const Mesh &mesh, int64_t rank, int tokenBits) {
  const plan::Program *program = artifact.program("eval");
  if (!program || !hasMetric(*program, "loss_sum") ||
      !hasMetric(*program, "weight_sum"))
    return makeError(StatusCode::InvalidArgument, option, ": '",
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
        StatusCode::InvalidArgument, option, ": '", path, "' has ",
        feed.samples(), " samples, which fill no whole number of batches of ",
        feed.batch(),
        ". The model computes its loss itself, over a whole batch: what a part "
        "of one adds cannot be told from it; give a multiple of ",
        feed.batch(), " samples");
  ZC_ASSIGN_OR_RETURN(EvaluationMetrics metrics,
                      EvaluationMetrics::create(artifact, names, mesh));
  return HeldOut(*program, std::move(feed), std::move(metrics));
}

Status HeldOut::addBatch(Executor &executor, Sums &sums) const {
  for (auto [name, sum] : {std::pair("loss_sum", &sums.loss),
                           {"weight_sum", &sums.weight},
                           {"count_sum", &sums.count},
                           {"correct_sum", &sums.correct}}) {
    ZC_ASSIGN_OR_RETURN(std::optional<Metric> metric,
                        readMetric(executor, *program, name));
    *sum += metric ? metric->value : 0;
    sums.hasCorrect |= metric && sum == &sums.correct;
    sums.hasCount |= metric && sum == &sums.count;
  }
  return Status();
}

/// The ranks must stop after the same batch, whoever got the signal first. As
/// in PyTorch, the mean over no label at all is not a number.
Result<std::optional<EvaluationRecord>>
HeldOut::evaluate(Executor &executor, int64_t step, int &stopped) {
  Sums sums;
  metrics.clear();
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
    ZC_RETURN_IF_ERROR(executor.world().agree(metrics.add(executor, feed)));
  }
  EvaluationRecord record;
  record.step = step;
  record.loss = sums.loss / sums.weight;
  if (sums.hasCorrect)
    record.accuracy = sums.correct / (sums.hasCount ? sums.count : sums.weight);
  ZC_ASSIGN_OR_RETURN(record.metrics,
                      metrics.finish(executor.world(), record.loss));
  return std::optional(record);
}

std::string printEvaluation(const EvaluationRecord &record,
                            const std::string &prefix) {
  std::string text = strCat(prefix, "loss ", printFigure(record.loss));
  if (record.accuracy)
    text += strCat(", ", prefix, "accuracy ", printFigure(*record.accuracy));
  for (const auto &[name, value] : record.metrics)
    text += strCat(", ", prefix, name, " ", printFigure(value));
  return text;
}

std::optional<double> valueOf(const EvaluationRecord &record,
                              const std::string &metric) {
  if (metric == "loss")
    return record.loss;
  if (metric == "accuracy")
    return record.accuracy;
  for (const auto &[name, value] : record.metrics)
    if (name == metric)
      return value;
  return std::nullopt;
}

} // namespace zc
