#include "runtime/Comm/Launcher.h"
#include "runtime/Base/Plugin.h"

#include <cstdlib>

namespace zc {
namespace {

/// A whole number from the environment, or -1.
int64_t number(const char *name) {
  const char *text = std::getenv(name);
  if (!text || !*text)
    return -1;
  char *end = nullptr;
  int64_t value = std::strtoll(text, &end, 10);
  return *end == '\0' ? value : -1;
}

/// Open MPI's mpirun, or MPICH's, or srun with PMI or PMIx.
bool startedByMpi() {
  return number("OMPI_COMM_WORLD_SIZE") > 0 || number("PMI_SIZE") > 0 ||
         std::getenv("PMIX_RANK");
}

Result<std::unique_ptr<Transport>> openMpi() {
  ZC_ASSIGN_OR_RETURN(PluginLibrary library, openPlugin("mpi", "MPI"));
  auto version = reinterpret_cast<TransportPluginVersionFunction>(
      library.symbol(kTransportPluginVersionSymbol));
  auto create = reinterpret_cast<CreateTransportFunction>(
      library.symbol(kCreateTransportSymbol));
  if (!version || !create || version() != kTransportPluginVersion)
    return makeError(StatusCode::Unsupported, "'", library.path,
                     "' comes from another build of zc");
  char message[512] = "";
  std::unique_ptr<Transport> transport(create(message, sizeof(message)));
  if (!transport)
    return makeError(StatusCode::Internal, "MPI: ", message);
  return transport;
}

} // namespace

Result<std::unique_ptr<Transport>> connectToLauncher(double) {
  if (startedByMpi())
    return openMpi();
  return std::unique_ptr<Transport>();
}

Status checkNoLauncher() {
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE",
                           "SLURM_STEP_NUM_TASKS"})
    if (number(name) > 1)
      return makeError(StatusCode::InvalidArgument,
                       "--local-ranks: a launcher has started ", number(name),
                       " processes already (", name, "); use one or the other");
  return Status();
}

} // namespace zc
