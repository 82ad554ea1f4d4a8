// How ranks come to be: threads of this process, processes that a launcher
// started, or this process alone.
#ifndef ZC_RUNTIME_DRIVER_LAUNCH_H
#define ZC_RUNTIME_DRIVER_LAUNCH_H

#include "runtime/Base/Cores.h"
#include "runtime/Base/Sandbox.h"
#include "runtime/Comm/World.h"
#include "runtime/Plan/Artifact.h"

#include <functional>
#include <memory>
#include <optional>

namespace zc {

struct LaunchOptions {
  int localRanks = 0;   // threads of this process; 0: as the launcher says
  double timeout = 600; // seconds
  std::vector<std::string> trusted; // what artifacts must be of; empty: anyone
  std::optional<SandboxPaths> sandbox; // nothing: none
};

/// The place of one rank: the world, and what ranks of a process share.
class Rank {
public:
  World &world;

  /// Loads the artifact, once for all ranks of a process; fails where it is not
  /// trusted, or not for a sandbox that this process is in.
  Result<std::shared_ptr<const Artifact>> load(const std::string &path) const;

  /// This rank's share of its host. Called by all ranks.
  struct Share {
    CoreShare threads;
    OwnCores own;  // for these threads to stay on
    int place = 0; // among the host's ranks
  };
  Result<Share> share() const;

  struct Shared;
  std::shared_ptr<Shared> shared;
};

/// The place of a process that is one rank by itself: the world, of one rank,
/// outlives it.
Rank placeAlone(World &world);

/// Runs `body` on every rank that this process is, and returns the first
/// one's result. A failure that a rank must tell is told by it alone.
Result<int> launch(const LaunchOptions &options,
                   const std::function<Result<int>(const Rank &)> &body);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_LAUNCH_H
