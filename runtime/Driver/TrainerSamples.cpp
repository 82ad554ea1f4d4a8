// The samples of a run's steps: selected, awaited, refused.
#include "runtime/Driver/Trainer.h"
#include "runtime/Driver/TrainerRun.h"

#include <algorithm>

namespace zc {

/// All samples of a step are looked at before its first action: in the midst of
/// an order ranks could not agree on them. They are read behind the step before
/// it, so that one agreement is about both.
Status Trainer::readNext() {
  if (stream || state.step >= total)
    return Status();
  ZC_RETURN_IF_ERROR(selectSamples());
  return check(zc_read_samples(handle()));
}

/// Selects the samples of the next step, and those behind it that are wanted
/// before its end.
Status Trainer::selectSamples() {
  const int64_t ahead =
      std::max<int64_t>(steps().stepsAhead(), inside().readsAhead() ? 1 : 0);
  const int64_t end = std::min(total, state.step + 1 + ahead);
  std::vector<int64_t> samples;
  samples.reserve(size_t((end - state.step) * state.batch));
  for (int64_t step = state.step; step < end; ++step)
    for (int64_t i = 0; i < state.batch; ++i)
      samples.push_back(sampler->sample(step, i));
  return check(zc_select(handle(), samples.data(), samples.size()));
}

/// Waits for the samples of the next step that arrive on standard input, where
/// nothing else is under way: a step is told of before the next one is waited
/// for. All ranks come to the same end.
Status Trainer::awaitSamples() {
  TracedSpan span(trace.get(), Trace::Lane::Data, "wait for samples");
  Result<bool> isThere = stream->advance();
  Status status = isThere.status();
  if (isThere.ok() && !*isThere) {
    stopped = stream->signal() ? stream->signal() : kDataAreOver;
    return Status();
  }
  if (isThere.ok()) {
    inside().replaceSamples(stream->current());
    status = selectSamples();
    if (status.ok())
      status = check(zc_read_samples(handle()));
  }
  std::vector<int64_t> hasFailed = {!status.ok()};
  ZC_RETURN_IF_ERROR(world.agree(Status(), &hasFailed));
  return hasFailed[0] ? endUnfed(status) : Status();
}

/// Samples that cannot be fed end the run; the steps before them are sound.
Status Trainer::checkFed() {
  // Where steps overlap, others are in the midst of one, and hear of it so.
  if (!cannotFeed || steps().overlap())
    return steps().overlap() ? fed : Status();
  return endUnfed(fed);
}

/// All ranks, before they agree on `why`, which is this rank's: ranks that have
/// agreed on a failure can save nothing.
Status Trainer::endUnfed(const Status &why) {
  const Status saved = saveLast();
  if (!saved.ok())
    return why.ok() ? saved : why;
  return world.agree(ownFailure(why));
}

} // namespace zc
