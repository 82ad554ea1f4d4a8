// A session's states by name, its checkpoints and files of weights.
#include "runtime/Api/ApiSession.h"
#include "runtime/Driver/CompiledSettings.h"

#include <algorithm>
#include <utility>

namespace zc {

Status ApiSession::readState(const std::string &name, void *data,
                             uint64_t bytes) {
  ZC_RETURN_IF_ERROR(enter());
  ZC_RETURN_IF_ERROR(theStates->check(name, bytes));
  return together([&] { return theStates->read(name, data); });
}

Status ApiSession::writeState(const std::string &name, const void *data,
                              uint64_t bytes) {
  ZC_RETURN_IF_ERROR(enter());
  ZC_RETURN_IF_ERROR(theStates->check(name, bytes, data));
  return together([&]() -> Status {
    ZC_RETURN_IF_ERROR(world.agree(theStates->write(name, data)));
    return trains() ? session->makeCopies() : Status();
  });
}

/// Whether the latest checkpoint of a folder is what this session saved there,
/// before it saved elsewhere.
bool ApiSession::isOwn(const std::string &wanted, int64_t latest) const {
  auto saved = savedSteps.find(wanted);
  return saved != savedSteps.end() && saved->second == latest;
}

/// Locks the folder, where it is not the one that was saved to before. The
/// first rank looks after it.
Status ApiSession::openFolder(const std::string &wanted) {
  if (lock && folder == wanted)
    return Status();
  const std::vector<int64_t> found = listCheckpoints(wanted);
  if (!found.empty() && wanted != resumedFrom && !isOwn(wanted, found.back()))
    return makeError(StatusCode::InvalidArgument, "'", wanted, "' holds ",
                     found.size(), " checkpoint", found.size() == 1 ? "" : "s",
                     " of another run, up to step ", found.back(),
                     "; resume from it, or give another folder");
  theLater.clear();
  if (wanted == resumedFrom && !found.empty() && !isOwn(wanted, found.back()))
    theLater.assign(std::upper_bound(found.begin(), found.end(), resumedStep),
                    found.end());
  lock.reset();
  ZC_ASSIGN_OR_RETURN(lock, prepareCheckpointFolder(wanted));
  folder = wanted;
  return Status();
}

Status ApiSession::save(const std::string &wanted, int64_t keep) {
  ZC_RETURN_IF_ERROR(enter());
  if (!trains())
    return makeError(StatusCode::Unsupported, "'", session->artifact().path(),
                     "' was compiled with --mode infer; there is no training "
                     "to save");
  if (keep < 0)
    return makeError(StatusCode::InvalidArgument, "keep ", keep,
                     ": expected at least 0");
  return together([&] { return saveTogether(wanted, keep); });
}

Status ApiSession::saveTogether(const std::string &wanted, int64_t keep) {
  ZC_RETURN_IF_ERROR(
      world.agree(world.isFirst() ? openFolder(wanted) : Status()));
  // A step of the run before, later than the one it went on from, stays.
  setCheckpointsAside(wanted, std::exchange(theLater, {}));
  ZC_RETURN_IF_ERROR(saveCheckpoint(executor(), wanted, state).status());
  savedSteps[wanted] = state.step;
  if (!world.isFirst())
    return Status();
  // Checkpoints of later steps go, since they would pass for the latest.
  removeLaterCheckpoints(wanted, state.step);
  if (keep > 0)
    pruneCheckpoints(wanted, state.step, keep);
  return Status();
}

/// A checkpoint of training, as this artifact goes on with it.
Result<TrainState> ApiSession::loadState(const std::string &from) {
  ZC_ASSIGN_OR_RETURN(
      TrainState saved,
      loadCheckpoint(executor(), from, CheckpointPart::Everything));
  theResumed = saved;
  saved.batch = state.batch; // batches are the caller's
  if (saved.isPartial)
    tell(true,
         "'" + from +
             "' is of ranks that shard the step otherwise: the error that each "
             "has lost to compression so far is forgotten, and begins at 0");
  for (const std::string &change :
       listCompiledChanges(saved, settings, artifact()))
    tell(true, change);
  saved.compiled = state.compiled;
  saved.isPartial = false;
  return saved;
}

/// Calls go on in the ways of the run so far, and the others as this session
/// has them.
Status ApiSession::takeWays(TrainState &saved) {
  if (saved.ways.empty() && !ways().empty() && state.step == 0)
    tell(true, "--tune: the run so far computed by rule; from here on sums are "
               "rounded in another order");
  saved.ways.insert(ways().begin(), ways().end());
  return session->takeWays(saved.ways);
}

Status ApiSession::resume(const std::string &path) {
  ZC_RETURN_IF_ERROR(enter());
  return together([&] { return resumeTogether(path); });
}

Status ApiSession::resumeTogether(const std::string &path) {
  Result<std::string> from = findCheckpoint(path);
  ZC_RETURN_IF_ERROR(world.agree(from.status()));
  const bool ofAverages = run && run->averages;
  if (!trains())
    return world.agree(loadCheckpoint(executor(), *from,
                                      ofAverages ? CheckpointPart::Averages
                                                 : CheckpointPart::Model)
                           .status());
  Result<TrainState> saved = loadState(*from);
  ZC_RETURN_IF_ERROR(world.agree(saved.status()));
  ZC_RETURN_IF_ERROR(world.agree(takeWays(*saved)));
  state = std::move(*saved);
  selected.clear();
  ready = nullptr;
  // Each rank has found the checkpoint by itself.
  ZC_RETURN_IF_ERROR(agreeOn(Status(), numbersOfStep(), "checkpoints"));
  executor().setStepsDone(state.step);
  resumedFrom = checkpointFolder(path);
  resumedStep = state.step;
  if (folder != resumedFrom)
    lock.reset();
  ZC_RETURN_IF_ERROR(session->makeCopies());
  return session->writeSeed(state.seed);
}

/// All versions are the same one.
Status ApiSession::loadVersions(const std::string &path,
                                WeightsReport &report) {
  const auto versions = int64_t(std::max(1u, executor().role().versions()));
  for (int64_t version = versions; version > 0;) {
    executor().setStepsDone(state.step + --version);
    Result<WeightsReport> loaded = zc::loadWeights(executor(), path);
    ZC_RETURN_IF_ERROR(world.agree(loaded.status()));
    report = std::move(*loaded);
    if (trains())
      ZC_RETURN_IF_ERROR(session->makeCopies());
  }
  return Status();
}

Status ApiSession::loadWeights(const std::string &path) {
  ZC_RETURN_IF_ERROR(enter());
  WeightsReport report;
  Status loaded = together([&] { return loadVersions(path, report); });
  executor().setStepsDone(state.step);
  ZC_RETURN_IF_ERROR(loaded);
  for (const std::string &line : describe(report, path))
    tell(true, line);
  return Status();
}

Status ApiSession::exportWeights(const std::string &path) {
  ZC_RETURN_IF_ERROR(enter());
  return together([&]() -> Status {
    ZC_RETURN_IF_ERROR(
        world.agree(session->artifact().files().check("the weights", path)));
    return saveWeights(executor(), path);
  });
}

} // namespace zc
