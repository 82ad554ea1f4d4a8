#include "runtime/Driver/HeldOut.h"

#include <algorithm>
#include <numeric>

namespace zc {

Result<HeldOut> HeldOut::open(const Artifact &artifact, const char *option,
                              const std::string &path,
                              const std::vector<std::string> &names,
                              const Mesh &mesh, int64_t rank, int tokenBits) {
  const int holder = findLossHolder(artifact);
  if (holder < 0)
    return makeError(StatusCode::InvalidArgument, option, ": '",
                     artifact.path(),
                     "' has no evaluation program that reports a loss");
  ZC_ASSIGN_OR_RETURN(DataFile file, DataFile::open(path, tokenBits));
  auto data = std::make_shared<DataFile>(std::move(file));
  const Orders orders = ordersOf(artifact);
  plan::Order order = orders.eval;
  ZC_ASSIGN_OR_RETURN(OrderFeed feed,
                      OrderFeed::create(artifact.role(), order,
                                        orders.evaluated, data, FeedOptions(),
                                        mesh, rank));
  ZC_ASSIGN_OR_RETURN(EvaluationMetrics metrics,
                      EvaluationMetrics::create(artifact, names, mesh, rank));
  HeldOut result(std::move(order), std::move(feed), std::move(metrics));
  result.option = option;
  result.holder = holder;
  result.roles = artifact.manifest().roles_size();
  result.isPadded = takesSampleWeights(artifact);
  if (result.roles == 1)
    ZC_RETURN_IF_ERROR(result.checkWhole());
  return result;
}

Status HeldOut::agree(World &world) {
  ZC_RETURN_IF_ERROR(feed.agree(world));
  return world.agree(checkWhole());
}

/// A loss that a model computes itself knows nothing of padding.
Status HeldOut::checkWhole() const {
  if (isPadded || feed.samples() % feed.batch() == 0)
    return Status();
  return makeError(
      StatusCode::InvalidArgument, option, ": '", feed.source().path(),
      "' has ", feed.samples(),
      " samples, which fill no whole number of batches of ", feed.batch(),
      ". The model computes its loss itself, over a whole batch, so that the "
      "loss of a part of a batch is not known; give a multiple of ",
      feed.batch(), " samples");
}

/// The samples from `at` on that the next batch takes.
Status HeldOut::readBatch(int64_t at) {
  indices.resize(
      size_t(std::min(feed.batch(), std::max<int64_t>(0, samples() - at))));
  std::iota(indices.begin(), indices.end(), at);
  return indices.empty() ? Status() : feed.read(indices);
}

/// Works on the samples that were read. `added` keeps what is wrong with a
/// metric: it is agreed upon when all roles have ended their orders.
Status HeldOut::runBatch(Executor &executor, OrderRunner &runner,
                         EvaluationSums &sums, Status &added) {
  OrderCallbacks callbacks;
  callbacks.feed = [&](const plan::Feed &each) {
    return feed.write(executor, each);
  };
  callbacks.called = [&](const plan::Call &call) -> Status {
    const plan::Program &program =
        executor.role().programs(int(call.program()));
    ZC_RETURN_IF_ERROR(sums.add(executor, program));
    if (metrics.isOf(program) && added.ok())
      added = metrics.add(executor, call,
                          feed.labels(call.program(), call.micro_batch()));
    return Status();
  };
  return runner.run(order, callbacks);
}

/// A batch's metrics, the next one's samples and a wish to stop are agreed upon
/// at once. The ranks must stop after the same batch, whoever wished it first.
Result<bool> HeldOut::goesOn(World &world, const Status &added, int64_t next,
                             const Wish &wish, int64_t &stopped) {
  const Status read = added.ok() ? readBatch(next) : Status();
  std::vector<int64_t> wished = {wish(std::min(next, samples()))};
  ZC_RETURN_IF_ERROR(world.agree(added.ok() ? read : added, &wished));
  stopped = wished[0];
  return stopped == 0;
}

Result<std::optional<EvaluationRecord>> HeldOut::evaluate(Executor &executor,
                                                          int64_t step,
                                                          const Wish &wish,
                                                          int64_t &stopped) {
  EvaluationSums sums;
  OrderRunner runner(executor);
  World &world = executor.world();
  metrics.clear();
  if (prunes && !isPruned)
    for (const plan::Program *program : programsOf(executor.role(), order))
      executor.keepOutputs(*program, metrics.outputs());
  isPruned = prunes;
  Status added;
  for (int64_t at = 0; at < samples(); at += feed.batch()) {
    ZC_ASSIGN_OR_RETURN(const bool isGoing,
                        goesOn(world, added, at, wish, stopped));
    if (!isGoing)
      return std::optional<EvaluationRecord>();
    ZC_RETURN_IF_ERROR(runBatch(executor, runner, sums, added));
  }
  ZC_RETURN_IF_ERROR(world.agree(added));
  if (roles > 1)
    ZC_RETURN_IF_ERROR(world.all().broadcast(&sums, sizeof(sums),
                                             executor.mesh().firstOf(holder)));
  EvaluationRecord record;
  record.step = step;
  record.loss = sums.meanLoss();
  record.accuracy = sums.accuracy();
  ZC_ASSIGN_OR_RETURN(record.metrics, metrics.finish(world, record.loss));
  return std::optional(record);
}

} // namespace zc
