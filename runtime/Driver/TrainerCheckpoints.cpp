// Checkpoints and copies that a run writes between its steps.
#include "runtime/Driver/Trainer.h"
#include "runtime/Driver/TrainerRun.h"

namespace zc {

/// `mayGoOn`: steps follow, beside which the checkpoint may be written.
Status Trainer::save(bool mayGoOn) {
  if (checkpoints.isOff())
    return Status();
  TracedSpan span(trace.get(), Trace::Lane::Checkpoints,
                  strCat("save step ", state.step));
  // Nothing is kept that was learnt from a file that is no longer whole.
  ZC_RETURN_IF_ERROR(world.agree(
      explainEnd(strCat("after step ", state.step), checkMappings())));
  auto note = [&](const std::string &text) { progress->note(text); };
  ZC_RETURN_IF_ERROR(mayGoOn ? checkpoints.beginSave(executor(), state, note)
                             : checkpoints.save(executor(), state, note));
  setLastWords(checkpoints.latestKept());
  return Status();
}

static void tellNobody(const std::string &) {}

/// A copy of the run where a killed rank leaves it.
Status Trainer::replicate() {
  TracedSpan span(trace.get(), Trace::Lane::Checkpoints,
                  strCat("copy step ", state.step));
  return replicas.beginSave(executor(), state, tellNobody);
}

/// Ends the checkpoints that were being written beside the steps so far.
Status Trainer::landCheckpoints() {
  const std::string before = checkpoints.latest();
  auto note = [&](const std::string &text) { progress->note(text); };
  ZC_RETURN_IF_ERROR(checkpoints.land(/*wait=*/false, note));
  ZC_RETURN_IF_ERROR(replicas.land(/*wait=*/false, tellNobody));
  if (checkpoints.latest() != before)
    setLastWords(checkpoints.latestKept());
  return Status();
}

/// Saves the steps that were done when a run cannot go on. A failure of saving
/// must not hide the reason.
Status Trainer::saveLast() {
  if (state.step == firstStep)
    return Status();
  Status saved = save();
  if (saved.ok() || world.size() > 1)
    return saved;
  warn(saved.message());
  return Status();
}

} // namespace zc
