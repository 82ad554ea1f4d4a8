#include "runtime/Driver/Launch.h"
#include "runtime/Base/Cores.h"
#include "runtime/Base/Ending.h"
#include "runtime/Base/Hash.h"
#include "runtime/Base/Log.h"
#include "runtime/Base/Temporaries.h"
#include "runtime/Comm/InProcess/InProcess.h"
#include "runtime/Comm/Launcher.h"
#include "runtime/Plan/RankPrograms.h"
#include "runtime/Plan/Signature.h"
#include "runtime/Plan/Target.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <iterator>
#include <thread>
#include <unistd.h>

namespace zc {

// How long ranks that are threads may take to end once one has failed.
static constexpr std::chrono::seconds kGrace(2);
// For a rank that failed to tell the user why, before the others go.
static constexpr std::chrono::seconds kLastWord(5);

struct Rank::Shared {
  std::mutex mutex;
  std::string path;
  std::shared_ptr<const Artifact> artifact;
  std::vector<std::string> trusted;
  bool isInSandbox = false;

  Status check(const Artifact &found) const;
};

/// Before anything of its code is opened.
Status Rank::Shared::check(const Artifact &found) const {
  ZC_RETURN_IF_ERROR(checkTrust(found.archive(), trusted));
  const plan::Target &target = found.manifest().target();
  return isInSandbox && !runsOnHost(target)
             ? makeError(StatusCode::Unsupported, "'", found.path(),
                         "' is for the device '", target.device(),
                         "', whose driver does not work in a --sandbox")
             : Status();
}

Result<std::shared_ptr<const Artifact>>
Rank::load(const std::string &path) const {
  std::lock_guard<std::mutex> lock(shared->mutex);
  if (!shared->artifact || shared->path != path) {
    // Load the artifact once and use the bytes that were checked: its owner may
    // change the file in between.
    ZC_ASSIGN_OR_RETURN(Artifact artifact,
                        Artifact::load(path, /*checkWeights=*/true,
                                       shared->trusted.empty()
                                           ? Reading::InPlace
                                           : Reading::Copied));
    ZC_RETURN_IF_ERROR(shared->check(artifact));
    ZC_ASSIGN_OR_RETURN(std::optional<Artifact> other,
                        findForRanks(artifact, world.size()));
    if (other)
      artifact = std::move(*other);
    shared->artifact = std::make_shared<Artifact>(std::move(artifact));
    shared->path = path;
  }
  return shared->artifact;
}

Rank placeAlone(World &world) {
  return Rank{world, std::make_shared<Rank::Shared>()};
}

namespace {

/// Where a rank runs, as all ranks tell one another.
struct Place {
  char host[64];
  uint64_t mask;     // its processors
  uint64_t group;    // the control group that limits it
  uint64_t bits[16]; // its processors below 1024, a bit each

  bool isOn(const Place &other) const {
    return std::memcmp(host, other.host, sizeof(host)) == 0;
  }
  /// Whether some of its processors, but not all, are the other's too.
  bool overlaps(const Place &other) const {
    bool shares = false;
    for (size_t i = 0; i < std::size(bits); ++i)
      shares |= (bits[i] & other.bits[i]) != 0;
    return shares && mask != other.mask;
  }
};

Place findPlace(const AllowedCores &allowed, const CpuQuota &quota) {
  Place place;
  std::memset(&place, 0, sizeof(place));
  ::gethostname(place.host, sizeof(place.host) - 1);
  place.mask = allowed.mask;
  place.group = hashBytes(quota.group);
  for (int processor : allowed.processors)
    if (size_t(processor) < 64 * std::size(place.bits))
      place.bits[processor / 64] |= uint64_t(1) << (processor % 64);
  return place;
}

} // namespace

Result<Rank::Share> Rank::share() const {
  const AllowedCores allowed = findAllowedCores();
  const CpuQuota quota = readCpuQuota();
  const Place mine = findPlace(allowed, quota);
  std::vector<Place> all(size_t(world.size()));
  ZC_RETURN_IF_ERROR(world.all().allGather(&mine, all.data(), sizeof(Place)));
  // Ranks that a launcher has bound to processors of their own, or put into
  // groups of their own, share with nobody.
  auto count = [&](int ranks, auto isMeant) {
    return std::count_if(
        all.begin(), all.begin() + ranks,
        [&](const Place &other) { return other.isOn(mine) && isMeant(other); });
  };
  auto isAny = [](const Place &) { return true; };
  auto isLike = [&](const Place &other) { return other.mask == mine.mask; };
  auto overlaps = [&](const Place &other) { return other.overlaps(mine); };
  auto isGrouped = [&](const Place &other) {
    return other.group == mine.group;
  };
  CoreNeighbours neighbours;
  neighbours.count = count(world.size(), isLike);
  neighbours.place = count(world.rank(), isLike);
  neighbours.overlap = count(world.size(), overlaps) > 0;
  Share share;
  share.threads = shareCores(allowed, quota, neighbours.count,
                             count(world.size(), isGrouped));
  share.place = count(world.rank(), isAny);
  share.own = dealCores(allowed, quota, neighbours);
  return share;
}

namespace {

using Body = std::function<Result<int>(const Rank &)>;

std::shared_ptr<Rank::Shared> shareOf(const LaunchOptions &options) {
  auto shared = std::make_shared<Rank::Shared>();
  shared->trusted = options.trusted;
  shared->isInSandbox = options.sandbox.has_value();
  return shared;
}

/// While this process has but one thread, and all its connections.
Status enterSandbox(const LaunchOptions &options) {
  if (!options.sandbox)
    return Status();
  ZC_RETURN_IF_ERROR(checkNoMpi());
  return enterSandbox(*options.sandbox);
}

/// No exception of a library ends the program without a word.
Result<int> callBody(const Body &body, const Rank &rank) {
  try {
    return body(rank);
  } catch (const std::exception &error) {
    return Status(StatusCode::Internal,
                  std::string("internal error: ") + error.what());
  }
}

Result<int> runOne(World &world, const LaunchOptions &options,
                   const std::shared_ptr<Rank::Shared> &shared,
                   const Body &body) {
  world.setTimeout(std::chrono::milliseconds(int64_t(options.timeout * 1000)));
  Result<int> result = callBody(body, Rank{world, shared});
  return result.ok() ? result : Result<int>(world.fail(result.status()));
}

/// Threads that run ranks, and what came of them.
class LocalRanks {
public:
  LocalRanks(const LaunchOptions &options, const Body &body)
      : options(options), body(body),
        worlds(createInProcessRanks(options.localRanks)),
        results(worlds.size(), 0) {}

  Result<int> run() {
    auto shared = shareOf(options);
    std::vector<std::thread> threads;
    for (size_t r = 0; r < worlds.size(); ++r)
      threads.emplace_back([this, r, shared] {
        Result<int> result = runOne(*worlds[r], options, shared, body);
        std::lock_guard<std::mutex> lock(mutex);
        results[r] = std::move(result);
        ++ended;
        failed |= !results[r].ok();
        changed.notify_all();
      });
    waitForEnd();
    for (std::thread &thread : threads)
      thread.join();
    return outcome();
  }

private:
  /// A rank that hangs cannot be joined: the program ends without it.
  void waitForEnd() {
    std::unique_lock<std::mutex> lock(mutex);
    auto allEnded = [&] { return ended == results.size(); };
    changed.wait(lock, [&] { return failed || allEnded(); });
    if (changed.wait_for(lock, kGrace, allEnded))
      return;
    if (Result<int> result = outcome(); !result.ok())
      logError(result.status().message());
    removeTemporaries();
    ::_exit(1);
  }

  /// The outcome of the rank that knows the cause.
  Result<int> outcome() const {
    const Result<int> *told = &results.front();
    for (const Result<int> &result : results)
      if (!result.ok() &&
          (told->ok() || told->status().code() == StatusCode::Cancelled))
        told = &result;
    return *told;
  }

  const LaunchOptions &options;
  const Body &body;
  std::vector<std::unique_ptr<World>> worlds;
  std::mutex mutex; // of what follows
  std::condition_variable changed;
  std::vector<Result<int>> results;
  size_t ended = 0;
  bool failed = false;
};

} // namespace

/// Lets the rank that knows why the run failed tell it before any process goes.
static Result<int> tellFirst(World &world, Result<int> result) {
  if (result.ok() || world.size() == 1)
    return result;
  if (result.status().code() == StatusCode::Cancelled) {
    world.awaitTold(kLastWord);
    return result;
  }
  logError(result.status().message());
  noteRefusal(result.status());
  world.tellTold();
  return Status(StatusCode::Cancelled, "the user has been told");
}

/// Ranks that do not find one another may do so at their next start.
static Result<std::unique_ptr<Transport>>
meetOthers(const LaunchOptions &options) {
  auto transport = connectToLauncher(options.timeout);
  if (transport.ok() || transport.status().code() == StatusCode::Cancelled)
    return transport;
  return Status(StatusCode::DeadlineExceeded, transport.status().message());
}

Result<int> launch(const LaunchOptions &options, const Body &body) {
  if (options.sandbox)
    closeInherited(*options.sandbox);
  if (options.localRanks > 1) {
    ZC_RETURN_IF_ERROR(checkNoLauncher());
    ZC_RETURN_IF_ERROR(enterSandbox(options));
    return LocalRanks(options, body).run();
  }
  ZC_ASSIGN_OR_RETURN(auto transport, meetOthers(options));
  World world(std::move(transport));
  if (Status shut = enterSandbox(options); !shut.ok())
    return tellFirst(world, world.fail(shut));
  return tellFirst(world, runOne(world, options, shareOf(options), body));
}

} // namespace zc
