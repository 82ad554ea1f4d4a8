#include "runtime/Driver/CheckpointKeeper.h"

namespace zc {

static constexpr const char *kNothingBefore =
    "no checkpoint was written before";

Status CheckpointKeeper::open(bool isFirst) {
  if (isOff())
    return Status();
  // DIR/step-N names the checkpoint to go on from; new ones go beside it.
  theFolder = options.resume ? checkpointFolder(options.place) : options.place;
  // A run that is at it is told of first. The first rank looks after the
  // folder.
  if (isFirst) {
    ZC_ASSIGN_OR_RETURN(lock, prepareCheckpointFolder(theFolder));
  }
  const std::vector<int64_t> found = listCheckpoints(theFolder);
  resumed = options.resume && !holdsNoCheckpoint(options.place);
  if (isFirst && !resumed && !found.empty() && !options.overwrite)
    return makeError(
        StatusCode::InvalidArgument, "'", theFolder, "' holds ", found.size(),
        " checkpoint", found.size() == 1 ? "" : "s",
        " of another run, up to step ", found.back(),
        "; --resume goes on with it, --overwrite removes it once this run has "
        "a checkpoint of its own; or give another folder");
  if (!resumed)
    replaced = found;
  return Status();
}

Result<std::string> CheckpointKeeper::findStart() {
  ZC_ASSIGN_OR_RETURN(lastCheckpoint, findCheckpoint(options.place));
  return lastCheckpoint;
}

Status CheckpointKeeper::save(Executor &executor, const TrainState &state,
                              const Note &note) {
  if (isOff() || state.step == savedStep)
    return Status();
  auto saved = saveCheckpoint(executor, theFolder, state);
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
  if (executor.world().isFirst())
    tidy(state.step, note);
  return Status();
}

/// Removes what the newest checkpoint makes superfluous. An earlier run's go at
/// the first: one that fails before it leaves them as they are.
void CheckpointKeeper::tidy(int64_t step, const Note &note) {
  std::vector<int64_t> others;
  for (int64_t each : replaced)
    if (each != step)
      others.push_back(each);
  if (!replaced.empty())
    BestSoFar::remove(theFolder);
  replaced.clear();
  size_t removed = removeCheckpoints(theFolder, others) +
                   removeLaterCheckpoints(theFolder, step);
  if (removed > 0)
    note(strCat("removed ", removed, " checkpoint", removed == 1 ? "" : "s",
                " of an earlier run from '", theFolder, "'"));
  if (options.keep > 0)
    pruneCheckpoints(theFolder, step, options.keep, bestStep);
}

Status CheckpointKeeper::nameBest(const BestSoFar &best) {
  bestStep = best.step;
  return best.write(theFolder);
}

Status CheckpointKeeper::countBest(const BestSoFar &best) const {
  return best.writeCount(theFolder);
}

std::string CheckpointKeeper::printKept() const {
  return lastCheckpoint.empty()
             ? kNothingBefore
             : "the last checkpoint, '" + lastCheckpoint + "', is kept";
}

} // namespace zc
