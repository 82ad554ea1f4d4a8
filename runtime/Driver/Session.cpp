#include "runtime/Driver/Session.h"
#include "runtime/Device/Plugin.h"

#include <algorithm>
#include <cstdlib>
#include <sched.h>

namespace zc {

/// The cores that this process may use.
static int availableCores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0)
    return 1;
  return std::max(1, CPU_COUNT(&set));
}

/// The number of ranks that a launcher started, 1 without a launcher.
static int64_t launchedRanks() {
  for (const char *name : {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                           "SLURM_STEP_NUM_TASKS"})
    if (const char *value = std::getenv(name))
      return std::strtoll(value, nullptr, 10);
  return 1;
}

static Status checkRanks(const plan::Manifest &manifest) {
  int64_t planned = 1;
  for (const plan::Setting &axis : manifest.mesh())
    planned *= std::strtoll(axis.value().c_str(), nullptr, 10);
  int64_t started = launchedRanks();
  if (planned != started)
    return makeError(StatusCode::InvalidArgument, "the artifact is for ",
                     planned, planned == 1 ? " rank" : " ranks", ", but ",
                     started, started == 1 ? " was" : " were", " started");
  return Status();
}

Result<std::unique_ptr<Session>> Session::open(const std::string &path) {
  ZC_ASSIGN_OR_RETURN(Artifact artifact, Artifact::load(path));
  if (Status status = checkRanks(artifact.manifest()); !status.ok())
    return status.withContext("'" + path + "'");
  return std::unique_ptr<Session>(new Session(std::move(artifact)));
}

Status Session::prepare(int threads, const std::vector<std::string> &programs) {
  const plan::Target &target = theArtifact.manifest().target();
  int planned = static_cast<int>(target.threads());
  if (threads > planned)
    return makeError(StatusCode::InvalidArgument, "--threads ", threads, ": '",
                     theArtifact.path(), "' was compiled for at most ", planned,
                     "; compile it with --cpu-threads ", threads);
  DeviceOptions options;
  options.threads = threads > 0 ? threads : std::min(planned, availableCores());
  ZC_ASSIGN_OR_RETURN(device, openDevice(target.device(), options));
  ZC_ASSIGN_OR_RETURN(theExecutor,
                      Executor::prepare(*device, theArtifact, programs));
  return theExecutor->initialise();
}

} // namespace zc
