#include "runtime/Driver/CheckpointKeeper.h"

#include <algorithm>
#include <filesystem>

namespace zc {

namespace fs = std::filesystem;

static constexpr const char *kNothingBefore =
    "no checkpoint was written before";

Status CheckpointKeeper::open(bool first) {
  isFirst = first;
  if (isOff())
    return Status();
  if (!options.resume && isCheckpoint(options.place))
    return makeError(StatusCode::InvalidArgument, "'", options.place,
                     "' is a checkpoint itself; --resume goes on from it; to "
                     "begin anew, give another folder");
  // DIR/step-N names the checkpoint to go on from; new ones go beside it.
  theFolder = options.resume ? checkpointFolder(options.place) : options.place;
  resumed = options.resume && !holdsNoCheckpoint(options.place);
  if (resumed) // before a folder is made that has the name of one
    ZC_RETURN_IF_ERROR(findCheckpoint(options.place).status());
  // A run that is at it is told of first. The first rank looks after the
  // folder.
  if (isFirst) {
    ZC_ASSIGN_OR_RETURN(lock, prepareCheckpointFolder(theFolder));
  }
  const std::vector<int64_t> found = listCheckpoints(theFolder);
  if (isFirst && !resumed && !found.empty() && !options.overwrite)
    return makeError(
        StatusCode::InvalidArgument, "'", theFolder, "' holds ", found.size(),
        " checkpoint", found.size() == 1 ? "" : "s",
        " of another run, up to step ", found.back(),
        "; --resume goes on with it, --overwrite removes it once this run has "
        "a checkpoint of its own; or give another folder");
  const std::string foreign = findForeign(theFolder);
  if (isFirst && !options.overwrite && !resumed && !foreign.empty())
    return makeError(StatusCode::InvalidArgument, "'", theFolder, "' holds '",
                     foreign,
                     "', which is no checkpoint, and which one of "
                     "this run's could replace; give another folder");
  if (!resumed)
    replaced = found;
  else
    ZC_RETURN_IF_ERROR(findLater(found));
  return Status();
}

/// A run that goes on from DIR/step-N takes the place of what came of it
/// before. Its own step counts, for a copy may have any name.
Status CheckpointKeeper::findLater(const std::vector<int64_t> &found) {
  ZC_ASSIGN_OR_RETURN(const std::string start, findCheckpoint(options.place));
  ZC_ASSIGN_OR_RETURN(const TrainState state, readTrainState(start));
  (options.overwrite ? replaced : theLater)
      .assign(std::upper_bound(found.begin(), found.end(), state.step),
              found.end());
  return Status();
}

/// Once, before the first checkpoint that this run writes.
void CheckpointKeeper::setLaterAside(const Note &note) {
  if (theLater.empty() || !isFirst)
    return;
  setCheckpointsAside(theFolder, theLater);
  removeStaleBest();
  note(strCat("later checkpoints of the run before are '", theFolder,
              "/replaced-step-N' now, ", theLater.size(), " in all"));
  theLater.clear();
}

/// The record of a best checkpoint that is not there any more.
void CheckpointKeeper::removeStaleBest() {
  std::error_code error;
  if (!fs::exists(theFolder + "/best", error))
    BestSoFar::remove(theFolder);
}

Result<std::string> CheckpointKeeper::findStart() {
  ZC_ASSIGN_OR_RETURN(lastCheckpoint, findCheckpoint(options.place));
  return lastCheckpoint;
}

Status CheckpointKeeper::prepareBeside(Executor &executor) {
  if (isOff() || options.saveEvery == 0 || !options.beside)
    return Status();
  auto writer = std::make_unique<CheckpointBeside>(executor, options.channel);
  ZC_ASSIGN_OR_RETURN(bool hasRoom, writer->hasRoom());
  noRoom = !hasRoom;
  if (!hasRoom)
    return Status();
  writer->allocateBeside();
  beside = std::move(writer);
  return Status();
}

/// Containers give little of the memory that processes share.
Status CheckpointKeeper::explainRoom(const Status &failure) const {
  if (!options.inMemory || failure.code() != StatusCode::ResourceExhausted)
    return failure;
  return Status(failure.code(),
                failure.message() +
                    "; raise what it may hold (docker run --shm-size), or "
                    "leave out --replicate");
}

/// Handles the result of writing a checkpoint.
Status CheckpointKeeper::take(const Result<std::string> &saved, int64_t step) {
  if (saved.status().code() == StatusCode::Cancelled)
    return saved.status();
  if (!saved.ok())
    return explainRoom(saved.status())
        .withContext(
            strCat("after step ", step,
                   lastCheckpoint.empty() ? std::string()
                   : options.inMemory
                       ? " (the copy in memory before it is kept)"
                       : " (the checkpoint '" + lastCheckpoint + "' is kept)"));
  lastCheckpoint = *saved;
  landedStep = step;
  return Status();
}

Status CheckpointKeeper::land(bool wait, const Note &note) {
  if (beside && beside->isUnderWay() && (wait || beside->hasEnded()))
    ZC_RETURN_IF_ERROR(take(beside->finish(), savedStep));
  if (landedStep >= 0 && isFirst)
    tidy(landedStep, note);
  landedStep = -1;
  return Status();
}

Status CheckpointKeeper::save(Executor &executor, const TrainState &state,
                              const Note &note) {
  if (isOff())
    return Status();
  ZC_RETURN_IF_ERROR(land(/*wait=*/true, note));
  if (state.step == savedStep)
    return Status();
  setLaterAside(note);
  ZC_RETURN_IF_ERROR(
      take(saveCheckpoint(executor, theFolder, state), state.step));
  savedStep = state.step;
  return land(/*wait=*/true, note);
}

Status CheckpointKeeper::beginSave(Executor &executor, const TrainState &state,
                                   const Note &note) {
  if (!beside || state.step == savedStep)
    return save(executor, state, note);
  ZC_RETURN_IF_ERROR(land(/*wait=*/true, note));
  setLaterAside(note);
  Status begun = beside->begin(theFolder, state);
  if (!begun.ok())
    return take(begun, state.step);
  savedStep = state.step;
  return Status();
}

/// Removes what the newest checkpoint makes superfluous. An earlier run's go at
/// the first: one that fails before it leaves them as they are.
void CheckpointKeeper::tidy(int64_t step, const Note &note) {
  std::vector<int64_t> others;
  for (int64_t each : replaced)
    if (each != step)
      others.push_back(each);
  if (!replaced.empty() && !resumed)
    BestSoFar::remove(theFolder);
  replaced.clear();
  size_t removed = removeCheckpoints(theFolder, others) +
                   removeLaterCheckpoints(theFolder, step);
  if (resumed && removed > 0)
    removeStaleBest();
  if (removed > 0)
    note(strCat("removed ", removed, " checkpoint", removed == 1 ? "" : "s",
                " that this run replaces from '", theFolder, "'"));
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

std::string CheckpointKeeper::latestKept() const {
  return lastCheckpoint.empty()
             ? kNothingBefore
             : "the last checkpoint, '" + lastCheckpoint + "', is kept";
}

/// The failure that ends the run may not hide another one.
std::string CheckpointKeeper::printKept() {
  Status written;
  if (beside && beside->isUnderWay())
    written = take(beside->finish(), savedStep);
  const std::string kept = latestKept();
  return written.ok() || written.code() == StatusCode::Cancelled
             ? kept
             : strCat(written.message(), "; ", kept);
}

} // namespace zc
