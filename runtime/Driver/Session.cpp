#include "runtime/Driver/Session.h"
#include "runtime/Device/Plugin.h"
#include "runtime/Plan/Axes.h"
#include "runtime/Plan/ProgramNames.h"
#include "runtime/Plan/RankPrograms.h"
#include "runtime/Plan/Target.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>

namespace zc {

static Status checkRanks(const Artifact &artifact, int started) {
  ZC_ASSIGN_OR_RETURN(Mesh mesh, Mesh::of(artifact.manifest()));
  const int64_t planned = mesh.ranks();
  if (planned == started)
    return Status();
  ZC_ASSIGN_OR_RETURN(std::vector<int64_t> counts, rankCountsOf(artifact));
  std::string others;
  for (size_t i = 1; i < counts.size(); ++i)
    others += strCat(" or ", counts[i]);
  std::string advice;
  if (started == 1)
    advice = strCat("; start it with --local-ranks ", planned,
                    " or by mpirun -n ", planned);
  return makeError(StatusCode::InvalidArgument, "'", artifact.path(),
                   "': the artifact is for ", planned, others,
                   planned == 1 && others.empty() ? " rank" : " ranks",
                   ", but ", started, started == 1 ? " was" : " were",
                   " started", advice);
}

/// All ranks see all fingerprints, and so fail alike.
static Status compareArtifacts(World &world, const Artifact &artifact) {
  uint64_t mine = artifact.fingerprint();
  std::vector<uint64_t> all(size_t(world.size()));
  ZC_RETURN_IF_ERROR(world.all().allGather(&mine, all.data(), sizeof(mine)));
  auto other = std::find_if(all.begin(), all.end(),
                            [&](uint64_t each) { return each != all[0]; });
  if (other == all.end())
    return Status();
  return world.agree(makeError(StatusCode::InvalidArgument, "'",
                               artifact.path(), "': rank ", other - all.begin(),
                               " holds another artifact than rank 0; give all "
                               "ranks the same file"));
}

Result<std::unique_ptr<Session>> Session::open(const Rank &rank,
                                               const std::string &path) {
  auto loaded = rank.load(path);
  Status status =
      loaded.ok() ? checkRanks(**loaded, rank.world.size()) : loaded.status();
  ZC_RETURN_IF_ERROR(rank.world.agree(status));
  ZC_RETURN_IF_ERROR(compareArtifacts(rank.world, **loaded));
  ZC_ASSIGN_OR_RETURN(Mesh mesh, Mesh::of((*loaded)->manifest()));
  auto view = std::make_shared<const Artifact>(
      (*loaded)->forRole(mesh.role(rank.world.rank())));
  return std::unique_ptr<Session>(new Session(rank, std::move(view)));
}

Status Session::prepare(int threads, uint64_t seed,
                        const std::vector<std::string> &programs,
                        const std::string &offloadFolder,
                        const std::vector<std::string> &besides,
                        const TuningOptions *tuning) {
  ZC_ASSIGN_OR_RETURN(Rank::Share share, rank.share());
  ZC_RETURN_IF_ERROR(rank.world.agree(openDevice(threads, share)));
  if (tuning) {
    ZC_ASSIGN_OR_RETURN(theTuning, tuneCalls(rank.world, *device, *theArtifact,
                                             programs, *tuning));
    device->setWays(theTuning.ways);
  }
  auto made = Executor::prepare(*device, *theArtifact, programs, &rank.world,
                                offloadFolder, besides, share.threads.count);
  ZC_RETURN_IF_ERROR(rank.world.agree(made.status()));
  theExecutor = std::move(*made);
  ZC_RETURN_IF_ERROR(theExecutor->connect());
  ZC_RETURN_IF_ERROR(writeSeed(seed));
  return theExecutor->initialise();
}

/// Gradients are added up along dp alone: along other axes ranks hold copies of
/// parameters that stay equal because all compute the same.
/// "tf32" is for GPUs.
static kernels::MatmulPrecision cpuPrecision(const std::string &name) {
  if (name == "bf16x3")
    return kernels::MatmulPrecision::Bf16x3;
  return name == "bf16x6" ? kernels::MatmulPrecision::Bf16x6
                          : kernels::MatmulPrecision::Highest;
}

static Result<bool> keepsCopies(const plan::Manifest &manifest) {
  ZC_ASSIGN_OR_RETURN(Mesh mesh, Mesh::of(manifest));
  AxisNames dp;
  dp.Add(axes::kSample);
  return mesh.ranks() > mesh.groupSize(dp);
}

/// Threads are pinned where each has a processor and each processor one: of
/// fewer threads the system knows better which cores are whole.
std::vector<int> Session::ownProcessors(int threads, const OwnCores &own) {
  if (!runsOnHost(theArtifact->manifest().target()) || threads == 1)
    return {};
  const auto count = own.processors.size();
  if (count == size_t(threads)) {
    thePinNote = strCat("threads are pinned to processors ",
                        printProcessors(own.processors),
                        " while nobody else wants them");
    return own.processors;
  }
  thePinNote =
      strCat("threads are not pinned: ",
             count == 0 ? own.reason
                        : strCat("they are ", threads, " on ", count,
                                 count == 1 ? " processor" : " processors"));
  return {};
}

Status Session::openDevice(int threads, const Rank::Share &share) {
  const plan::Target &target = theArtifact->manifest().target();
  int planned = static_cast<int>(target.threads());
  if (threads > planned)
    return makeError(StatusCode::InvalidArgument, "--threads ", threads, ": '",
                     theArtifact->path(), "' was compiled for at most ",
                     planned, "; compile it with --cpu-threads ", threads);
  DeviceOptions options;
  options.threads =
      threads > 0 ? threads : std::min(planned, share.threads.count);
  if (threads == 0 && share.threads.count < planned)
    theThreadNote =
        strCat("runs ", options.threads, " of the ", planned,
               " threads that it was compiled for: ", share.threads.reason);
  options.processors = ownProcessors(options.threads, share.own);
  options.place = share.place;
  ZC_ASSIGN_OR_RETURN(options.alike, keepsCopies(theArtifact->manifest()));
  options.tf32 = target.matmul_precision() == "tf32";
  options.matmulPrecision = cpuPrecision(target.matmul_precision());
  ZC_ASSIGN_OR_RETURN(device, zc::openDevice(target.device(), options));
  return Status();
}

Status Session::takeWays(const ChosenWays &ways) {
  if (ways == theTuning.ways)
    return Status();
  device->setWays(ways);
  ZC_RETURN_IF_ERROR(theExecutor->prepareCallsAgain());
  theTuning.ways = ways;
  return Status();
}

Status Session::makeCopies() {
  const plan::Program *copy = theArtifact->program(programs::kCopy);
  return copy ? theExecutor->run(*copy) : Status();
}

Status Session::makeFirstCopies() {
  for (int64_t version = std::max(1u, theArtifact->role().versions());
       version > 0;) {
    theExecutor->setStepsDone(--version);
    ZC_RETURN_IF_ERROR(makeCopies());
  }
  return Status();
}

Status Session::writeSeed(uint64_t seed) {
  const plan::State *state = findScalar("seed");
  return state ? theExecutor->writeState(*state, 0, &seed, sizeof(seed))
               : Status();
}

const plan::State *Session::findScalar(const std::string &name) const {
  for (const plan::State &candidate : theArtifact->role().states())
    if (candidate.kind() == plan::SCALAR && candidate.name() == name)
      return &candidate;
  return nullptr;
}

} // namespace zc
