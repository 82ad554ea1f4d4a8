#include "runtime/Comm/Launcher.h"
#include "runtime/Base/Log.h"
#include "runtime/Base/Plugin.h"
#include "runtime/Comm/Tcp/Tcp.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <thread>
#include <unistd.h>

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

/// srun --mpi=pmi2, whose numbers are those of Slurm's step. Open MPI is seldom
/// built for it and ends there, so such ranks meet by TCP as without PMI.
bool startedByPmi2OfSlurm() {
  return number("PMI_SIZE") > 0 && !std::getenv("PMIX_RANK") &&
         number("PMI_SIZE") == number("SLURM_STEP_NUM_TASKS") &&
         number("PMI_RANK") == number("SLURM_PROCID");
}

/// Open MPI's mpirun, or MPICH's, or srun --mpi=pmix.
bool startedByMpi() {
  return number("OMPI_COMM_WORLD_SIZE") > 0 || std::getenv("PMIX_RANK") ||
         (number("PMI_SIZE") > 0 && !startedByPmi2OfSlurm());
}

/// How many processes MPI's launcher says that there are, or -1.
int64_t sizeByMpi() {
  for (const char *name :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (int64_t size = number(name); size > 0)
      return size;
  return -1;
}

/// The first of the hosts that Slurm lists: "node[03-07,9],login" is node03.
std::string firstHost(const std::string &list) {
  size_t end = list.find_first_of(",[");
  std::string host = list.substr(0, end);
  if (end == std::string::npos || list[end] == ',')
    return host;
  size_t stop = list.find_first_of("-,]", end + 1);
  return stop == std::string::npos
             ? ""
             : host + list.substr(end + 1, stop - end - 1);
}

/// Refuses variables that would be taken for others, such as 2^32 for 0.
Status checkVariables() {
  constexpr int64_t kMostRanks = std::numeric_limits<int32_t>::max();
  const struct {
    const char *name;
    int64_t least, most;
  } wanted[] = {{"RANK", 0, kMostRanks - 1},
                {"WORLD_SIZE", 1, kMostRanks},
                {"MASTER_PORT", 1, 65535}};
  for (const auto &each : wanted) {
    const char *found = std::getenv(each.name);
    if (!found || !*found)
      continue;
    errno = 0;
    const int64_t value = number(each.name);
    if (errno == ERANGE || value < each.least || value > each.most)
      return makeError(StatusCode::InvalidArgument, each.name, " is '", found,
                       "', but must be a whole number from ", each.least,
                       " to ", each.most);
  }
  return Status();
}

std::string text(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// torchrun's variables, all of them.
std::optional<TcpPlace> placeByVariables() {
  TcpPlace place{int(number("RANK")), int(number("WORLD_SIZE")),
                 text("MASTER_ADDR"), int(number("MASTER_PORT"))};
  // torchrun itself may hold the port.
  if (text("TORCHELASTIC_USE_AGENT_STORE") == "True")
    ++place.port;
  bool whole = place.rank >= 0 && place.size > 0 && !place.host.empty() &&
               place.port > 0 && place.port < 65536;
  return whole ? std::optional(place) : std::nullopt;
}

/// RANK, WORLD_SIZE and a file for all, as where nobody knows a free port.
std::optional<TcpPlace> placeByFile() {
  TcpPlace place{int(number("RANK")), int(number("WORLD_SIZE")), "", 0,
                 text("ZC_RENDEZVOUS_FILE")};
  bool whole = place.rank >= 0 && place.size > 0 && !place.file.empty();
  return whole ? std::optional(place) : std::nullopt;
}

/// Reads the variables that Slurm sets for every task of a step, for srun
/// without PMI.
std::optional<TcpPlace> placeBySlurm() {
  TcpPlace place{
      int(number("SLURM_PROCID")), int(number("SLURM_STEP_NUM_TASKS")),
      firstHost(text("SLURM_STEP_NODELIST")), int(number("MASTER_PORT"))};
  // A port of the step's own, below those that systems hand out.
  if (place.port <= 0)
    place.port =
        int(20000 + (std::max<int64_t>(0, number("SLURM_JOB_ID")) * 16 +
                     std::max<int64_t>(0, number("SLURM_STEP_ID"))) %
                        10000);
  bool whole = place.rank >= 0 && place.size > 0 && !place.host.empty();
  return whole ? std::optional(place) : std::nullopt;
}

/// MPI starts when all processes have come, and waits for them without end: of
/// one that died or stands still before that, it says nothing. While this
/// lives, the program ends where that takes too long.
class StartLimit {
public:
  explicit StartLimit(double seconds)
      : thread([this, seconds] { watch(seconds); }) {}
  ~StartLimit() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      started = true;
    }
    changed.notify_all();
    thread.join();
  }
  StartLimit(const StartLimit &) = delete;

private:
  void watch(double seconds) {
    const int64_t rank = std::max<int64_t>(0, number("OMPI_COMM_WORLD_RANK"));
    // So that the lowest rank speaks first; its end is that of the others.
    const std::chrono::duration<double> allowed(
        seconds + 0.1 * double(std::min<int64_t>(rank, 20)));
    std::unique_lock<std::mutex> lock(mutex);
    if (changed.wait_for(lock, allowed, [&] { return started; }))
      return;
    logError(strCat("rank ", rank, ": waited ", seconds,
                    " s for MPI to start: a process of this run has not come "
                    "or does not answer (--timeout)"));
    ::_exit(1); // nothing else ends MPI_Init
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool started = false;
  std::thread thread;
};

Result<std::unique_ptr<Transport>> openMpi(double timeout) {
  ZC_ASSIGN_OR_RETURN(PluginLibrary library, openPlugin("mpi", "MPI"));
  auto version = reinterpret_cast<TransportPluginVersionFunction>(
      library.symbol(kTransportPluginVersionSymbol));
  auto create = reinterpret_cast<CreateTransportFunction>(
      library.symbol(kCreateTransportSymbol));
  if (!version || !create || version() != kTransportPluginVersion)
    return makeError(StatusCode::Unsupported, "'", library.path,
                     "' comes from another build of zc");
  char message[512] = "";
  std::unique_ptr<Transport> transport;
  {
    StartLimit limit(timeout);
    transport.reset(create(message, sizeof(message)));
  }
  if (!transport)
    return makeError(StatusCode::Internal, "MPI: ", message);
  if (int64_t size = sizeByMpi(); transport->size() == 1 && size > 1)
    return makeError(
        StatusCode::Unsupported, "the launcher has started ", size,
        " processes, but MPI has each start alone: the launcher and the MPI "
        "that zc was built with ('",
        library.path,
        "') do not know each other. Use that MPI's own mpirun, or srun "
        "--mpi=none, or torchrun's variables (RANK, WORLD_SIZE, MASTER_ADDR, "
        "MASTER_PORT)");
  return transport;
}

} // namespace

Result<std::unique_ptr<Transport>> connectToLauncher(double timeout) {
  if (startedByMpi())
    return openMpi(timeout);
  ZC_RETURN_IF_ERROR(checkVariables());
  std::optional<TcpPlace> place = placeByFile();
  if (!place)
    place = placeByVariables();
  if (!place)
    place = placeBySlurm();
  if (place && place->rank >= place->size)
    return makeError(StatusCode::InvalidArgument, "rank ", place->rank, " of ",
                     place->size, " does not exist (RANK, WORLD_SIZE)");
  if (place) {
    place->token = text("ZC_TOKEN");
    place->address = text("ZC_BIND_ADDR");
  }
  if (place && place->size > 1)
    return connectByTcp(*place,
                        std::chrono::milliseconds(int64_t(timeout * 1000)));
  if (int64_t size = number("WORLD_SIZE"); !place && size > 1)
    return makeError(StatusCode::InvalidArgument, "WORLD_SIZE is ", size,
                     ", but RANK, MASTER_ADDR or MASTER_PORT is missing or no "
                     "number; all four are needed, or RANK and "
                     "ZC_RENDEZVOUS_FILE, a file that all ranks see");
  return std::unique_ptr<Transport>();
}

Status checkNoMpi() {
  if (!startedByMpi())
    return Status();
  return makeError(StatusCode::Unsupported,
                   "--sandbox: MPI opens connections as it goes on; start "
                   "ranks by zc launch, torchrun's variables or --local-ranks, "
                   "which are connected before");
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
