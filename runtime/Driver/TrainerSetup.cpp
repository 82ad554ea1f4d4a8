// Prepares a run before its first step.
#include "runtime/Base/File.h"
#include "runtime/Base/Hash.h"
#include "runtime/Base/Memory.h"
#include "runtime/Driver/CompiledSettings.h"
#include "runtime/Driver/ResumedOptions.h"
#include "runtime/Driver/Signals.h"
#include "runtime/Driver/TrainerRun.h"
#include "runtime/Plan/ProgramNames.h"
#include "runtime/Plan/Target.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <unistd.h>

namespace zc {

/// A copy in one host's memory is of no use to ranks of another.
static Status checkOneHost(World &world) {
  char host[64] = {};
  ::gethostname(host, sizeof(host) - 1);
  std::vector<std::array<char, sizeof(host)>> all(size_t(world.size()));
  ZC_RETURN_IF_ERROR(world.all().allGather(host, all.data(), sizeof(host)));
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      return makeError(StatusCode::InvalidArgument, "--replicate: rank ", rank,
                       " is on host '", all[rank].data(), "', rank 0 on '",
                       all[0].data(),
                       "', and a copy lies in one host's memory; use "
                       "--checkpoint DIR and --save-every K with a folder that "
                       "all hosts see");
  return Status();
}

/// The memory of a training rank that also evaluates or does not, without what
/// it reads samples into.
static uint64_t plannedBytes(const plan::Role &role, bool evaluates) {
  uint64_t transient = 0;
  for (const plan::Program &program : role.programs())
    if (evaluates || program.name() != programs::kEval)
      transient = std::max(transient, program.transient_bytes());
  return role.persistent_bytes() + transient + role.flight_bytes();
}

/// Before any of it is taken: the kernel gives more than a control group may
/// use, and kills, without a word, whoever writes there.
Status Trainer::checkRoom() {
  struct Need {
    uint64_t host, group, bytes;
    bool isWith(const Need &other) const {
      return host == other.host && group == other.group;
    }
  };
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  const MemoryLimit limit = readMemoryLimit();
  const bool isHost = runsOnHost(artifact().manifest().target());
  const Need mine = {
      hashBytes(host), hashBytes(limit.group),
      isHost ? plannedBytes(artifact().role(), !options.evalData.empty()) : 0};
  std::vector<Need> all(size_t(world.size()));
  ZC_RETURN_IF_ERROR(world.all().allGather(&mine, all.data(), sizeof(mine)));
  uint64_t wanted = 0, ranks = 0;
  for (const Need &each : all)
    if (each.isWith(mine)) {
      wanted += each.bytes;
      ++ranks;
    }
  return wanted <= limit.bytes
             ? Status()
             : makeError(StatusCode::ResourceExhausted, "the plan needs ",
                         wanted, " bytes for ", ranks,
                         ranks == 1 ? " rank" : " ranks",
                         ", and control group '", limit.group, "' allows ",
                         limit.bytes,
                         "; raise its limit, or compile with less "
                         "(--memory-budget)");
}

/// Notes wait for their place in what the run prints.
void Trainer::hear(bool isWarning, const std::string &text) {
  if (isWarning)
    warn(text);
  else
    notes.push_back(text);
}

Status Trainer::openSession() {
  ApiOptions given;
  given.seed = options.seed.value_or(state.seed);
  given.threads = options.threads;
  given.offloadFolder = options.offloadFolder;
  given.tuningFile = options.tuningFile;
  given.log = [this](bool isWarning, const std::string &text) {
    hear(isWarning, text);
  };
  // Behind steps the ranks agree on more than that.
  given.progress = [](zc_phase phase, int64_t, int64_t) {
    return phase == ZC_PHASE_EVALUATION ? stopSignal() : 0;
  };
  ApiRun run{rank};
  run.kept = [this] { return checkpoints.printKept(); };
  run.did = [this](const char *what, Clock::time_point began) {
    if (trace)
      trace->did(Trace::Lane::Data, what, began, Clock::now());
  };
  ZC_ASSIGN_OR_RETURN(
      session,
      RunSession::open(options.artifact, std::move(given), std::move(run)));
  return Status();
}

Status Trainer::prepare() {
  began = Clock::now();
  ZC_RETURN_IF_ERROR(openSession());
  if (options.data == kStandardInput) {
    // Ranks agree on a stop while samples are waited for.
    finishOnSignals(world.isFirst() ? "stops before the first step" : nullptr);
    ZC_RETURN_IF_ERROR(openStream());
  }
  if (stopped)
    return Status();
  ZC_RETURN_IF_ERROR(world.agree(checkRoom()));
  ZC_RETURN_IF_ERROR(world.agree(openFiles()));
  const HeldOut *heldOut = inside().evalData();
  Alike alike = listAlike(options, inside().data()->source(),
                          heldOut ? &heldOut->source() : nullptr);
  alike.add("--resume: checkpoints", isResumed() ? "some" : "none");
  ZC_RETURN_IF_ERROR(alike.compare(world));
  if (!replicas.isOff())
    ZC_RETURN_IF_ERROR(checkOneHost(world));
  ZC_RETURN_IF_ERROR(inside().agreeOnData());
  if (isResumed())
    ZC_RETURN_IF_ERROR(world.agree(keepWays()));
  ZC_RETURN_IF_ERROR(prepareSession());
  state.batch = inside().data()->batch();
  state.samples = zc_sample_count(handle());
  if (!options.initFrom.empty() && !isResumed())
    ZC_RETURN_IF_ERROR(
        check(zc_load_weights(handle(), options.initFrom.c_str())));
  if (isResumed())
    ZC_RETURN_IF_ERROR(resume());
  // Each rank has found the checkpoint by itself.
  ZC_RETURN_IF_ERROR(
      Alike("--resume from step", std::to_string(state.step)).compare(world));
  setLastWords(checkpoints.printKept());
  state.seed = options.seed.value_or(state.seed);
  state.shuffle = !stream && options.shuffle.value_or(state.shuffle);
  firstStep = state.step;
  state.options = options.record;
  for (const auto &[name, value] : options.settings)
    if (!settings.count(name))
      eraseText(state.options, name);
  state.compiled = describeCompiled(artifact().manifest());
  state.ways = inside().ways();
  readBest();
  ZC_RETURN_IF_ERROR(check(zc_set_seed(handle(), state.seed)));
  ZC_RETURN_IF_ERROR(world.agree(decideTotal()));
  ZC_RETURN_IF_ERROR(checkpoints.prepareBeside(executor()));
  ZC_RETURN_IF_ERROR(replicas.prepareBeside(executor()));
  Status opened = openOutputs();
  std::vector<int64_t> largest = {int64_t(zc_memory_bytes(handle()))};
  ZC_RETURN_IF_ERROR(world.agree(opened, &largest));
  peakBytes = uint64_t(largest[0]);
  tellBefore();
  return Status();
}

/// A run goes on without it.
void Trainer::readBest() {
  best = BestSoFar{bestMetric()};
  if (!checkpoints.isResumed())
    return;
  auto kept = BestSoFar::read(checkpoints.folder(), bestMetric(), state.step);
  if (kept.ok())
    best = *kept;
  else
    warn(kept.status().message() +
         "; nobody knows which checkpoint was the best so far");
}

Status Trainer::prepareSession() {
  std::vector<std::string> before = std::move(notes);
  notes.clear();
  ZC_RETURN_IF_ERROR(check(zc_prepare(handle())));
  if (world.isFirst())
    for (const std::string &note : before)
      logNote(note);
  auto change = [&]() -> Status {
    for (const auto &[name, value] : settings)
      ZC_RETURN_IF_ERROR(check(zc_set_setting(handle(), name.c_str(), value)));
    return Status();
  };
  ZC_RETURN_IF_ERROR(world.agree(change()));
  // Without flush, each role has its own part of a step's metrics.
  agreement.emplace(world,
                    steps().overlap() ? artifact().manifest().roles_size() : 1,
                    executor().mesh().role(world.rank()));
  return Status();
}

/// Warns of options that may not be meant so, before any time is spent.
void Trainer::tellBefore() {
  if (!world.isFirst())
    return;
  if (checkpoints.isOff())
    warn("no --checkpoint DIR: this run keeps no trained weights");
  else if (options.checkpoint.resume && !isResumed())
    warn("--resume: there is no checkpoint in '" + checkpoints.folder() +
         "' yet; the run begins anew");
  if (!checkpoints.later().empty())
    warn(strCat("'", checkpoints.folder(), "' has later checkpoints than '",
                options.checkpoint.place, "', up to step ",
                checkpoints.later().back(),
                "; this run sets them aside (--overwrite removes them)"));
  tellOfCopies();
  for (const std::string &doubt : listDoubts(options, total))
    warn(doubt);
  if (stream && isResumed())
    warn("--resume: samples on standard input are taken for those behind those "
         "of the run so far");
  if (state.batch > state.samples)
    warn(strCat("a step takes ", state.batch, " samples, more than '",
                options.data, "' has, ", state.samples,
                "; each step takes some of them more than once"));
}

/// The one memory of a run that the artifact's plan does not have.
void Trainer::tellOfCopies() {
  const uint64_t bytes = checkpoints.copyBytes() + replicas.copyBytes();
  if (bytes > 0)
    logNote(strCat("checkpoints are written beside the steps, from a copy of "
                   "this rank's states: ",
                   printBytes(bytes), " more (--save-beside off: none)"));
  else if (checkpoints.lacksRoom() || replicas.lacksRoom())
    warn("there is no room for a copy of the states: steps wait while "
         "checkpoints are written");
}

/// An artifact with another optimizer has no use for the numbers of the one
/// before, which nobody has asked it for.
Status Trainer::chooseSettings() {
  settings = options.settings;
  for (const std::string &name : options.takenOver) {
    if (!settings.count(name) || hasSetting(artifact().manifest(), name))
      continue;
    settings.erase(name);
    warn(strCat("--", name, " of the run so far is left out: '",
                options.artifact, "' has no such number"));
  }
  return checkSettings(artifact(), settings);
}

/// Fails where a log or a trace would replace a file that is none.
Status Trainer::checkWritten() {
  if (!options.log.empty() && options.log != kStandardOutput) {
    ZC_RETURN_IF_ERROR(checkParentExists(options.log));
    ZC_RETURN_IF_ERROR(checkIsJson(options.log, "log", "\"step\""));
  }
  return options.trace.empty()
             ? Status()
             : checkIsJson(options.trace, "trace", "traceEvents");
}

/// Checks all that can be checked before the artifact's memory is there.
Status Trainer::openFiles() {
  if (artifact().manifest().mode() != "train")
    return makeError(StatusCode::InvalidArgument, "'", options.artifact,
                     "' was compiled with --mode infer; it cannot be trained");
  ZC_RETURN_IF_ERROR(chooseSettings());
  ZC_RETURN_IF_ERROR(openData());
  const HeldOut *heldOut = inside().evalData();
  ZC_RETURN_IF_ERROR(checkOutputs(options, artifact().files(),
                                  inside().data()->source(),
                                  heldOut ? &heldOut->source() : nullptr));
  if (world.isFirst())
    ZC_RETURN_IF_ERROR(checkWritten());
  ZC_RETURN_IF_ERROR(replicas.open(world.isFirst()));
  return checkpoints.open(world.isFirst());
}

/// Options of a run and of its artifact that may change its numbers; an option
/// of the run replaces the artifact's.
static NamedTexts listHyperparameters(const TrainState &state) {
  NamedTexts all = state.options;
  for (const auto &each : state.compiled)
    if (!findText(all, each.first))
      all.push_back(each);
  for (const char *file : {"log", "tensorboard", "log-every", "folder"})
    eraseText(all, file);
  all.emplace_back("seed", std::to_string(state.seed));
  all.emplace_back("batch", std::to_string(state.batch));
  return all;
}

Status Trainer::openOutputs() {
  if (world.isFirst())
    ZC_RETURN_IF_ERROR(outputs.open(
        options.log, options.tensorboard,
        isResumed() ? std::optional<int64_t>(state.step) : std::nullopt));
  if (world.isFirst())
    outputs.writeHyperparameters(listHyperparameters(state));
  if (!options.trace.empty()) {
    ZC_ASSIGN_OR_RETURN(
        trace, Trace::open(options.trace, executor(), options.traceSteps));
    inside().runner().addObserver(*trace);
  }
  if (options.profile) {
    profile.setWays(executor().ways());
    inside().runner().addObserver(profile);
  }
  return Status();
}

Status Trainer::openStream() {
  const plan::Manifest &manifest = artifact().manifest();
  Status sound;
  if (manifest.mode() != "train")
    sound = makeError(StatusCode::InvalidArgument, "'", options.artifact,
                      "' was compiled with --mode infer; it cannot be trained");
  else if (inside().orders().stepsAhead > 0)
    sound = makeError(StatusCode::InvalidArgument,
                      "--data -: without flush, a step takes samples of later "
                      "ones, which have not arrived; give --data a file");
  ZC_RETURN_IF_ERROR(world.agree(sound));
  ZC_ASSIGN_OR_RETURN(stream, StreamedBatches::open(world, manifest));
  stopped = stream->signal();
  if (stopped && world.isFirst())
    endBeforeSamples();
  return Status();
}

/// The last line of a run that was stopped before it had anything to train on.
/// Its data, log and checkpoints have not been opened yet.
void Trainer::endBeforeSamples() {
  ProgressOptions shown;
  shown.stream = streamOfLines();
  Progress(shown).summarize(
      "stopped before the first step: no batch had arrived on standard input");
}

Status Trainer::openData() {
  std::error_code error;
  if (stream)
    ZC_RETURN_IF_ERROR(inside().setSamples(stream->current()));
  else if (std::filesystem::is_fifo(options.data, error))
    return makeError(StatusCode::InvalidArgument, "'", options.data,
                     "' is a pipe, and not a regular file; samples that arrive "
                     "are read from standard input: --data - < '",
                     options.data, "'");
  else
    ZC_RETURN_IF_ERROR(
        check(zc_set_data(handle(), options.data.c_str(), options.tokenBits)));
  if (options.evalData.empty())
    return Status();
  return check(zc_set_eval_data(handle(), options.evalData.c_str(),
                                options.tokenBits,
                                joinNames(options.metrics).c_str()));
}

/// The newest copy stays; a run that begins anew has no use for an older one's.
CheckpointOptions Trainer::replicaOptions(const TrainOptions &options) {
  CheckpointOptions own = options.replicas;
  own.channel = 1; // checkpoints have the first
  own.keep = 1;
  own.inMemory = true;
  own.resume = options.checkpoint.resume;
  own.overwrite = !own.resume;
  return own;
}

/// The newer one of the latest checkpoint and the copy in memory.
Result<std::string> Trainer::findStart() {
  auto stepIn = [](const CheckpointKeeper &keeper) {
    const std::vector<int64_t> steps = listCheckpoints(keeper.folder());
    return keeper.isResumed() && !steps.empty() ? steps.back() : -1;
  };
  const bool isCopyNewer = stepIn(replicas) > stepIn(checkpoints);
  if (checkpoints.isResumed() && !isCopyNewer)
    return checkpoints.findStart();
  return replicas.findStart();
}

/// Calls must be made ready in the ways of the run so far, which the first rank
/// tells the others.
Status Trainer::keepWays() {
  ChosenWays ways;
  if (world.isFirst()) {
    ZC_ASSIGN_OR_RETURN(const std::string from, findStart());
    ZC_ASSIGN_OR_RETURN(const TrainState saved, readTrainState(from));
    ways = saved.ways;
  }
  inside().keepWays(std::move(ways));
  return Status();
}

Status Trainer::resume() {
  Result<std::string> from = findStart();
  ZC_RETURN_IF_ERROR(world.agree(from.status()));
  ZC_RETURN_IF_ERROR(check(zc_resume(handle(), from->c_str())));
  const TrainState &saved = inside().resumed();
  for (const std::string &change : listChanges(saved, state, options))
    warn(change);
  state.step = saved.step;
  state.seed = saved.seed;
  state.shuffle = saved.shuffle;
  return Status();
}

Status Trainer::decideTotal() {
  sampler.emplace(state.samples, state.batch, state.seed, state.shuffle);
  ZC_ASSIGN_OR_RETURN(total, options.steps
                                 ? Result<int64_t>(*options.steps)
                                 : sampler->stepsFor(*options.epochs));
  ZC_RETURN_IF_ERROR(options.learningRate.check(total));
  const int64_t traced = options.traceSteps.first;
  if (traced > total || options.traceSteps.last <= state.step)
    return makeError(StatusCode::InvalidArgument, "--trace-steps ", traced, ":",
                     options.traceSteps.last, ": the run does steps ",
                     state.step + 1, " to ", total);
  return Status();
}

} // namespace zc
