// `zc launch`: keeps the ranks of a run going on this machine. If one dies, all
// begin again from the newest checkpoint or copy.
#ifndef ZC_RUNTIME_DRIVER_SUPERVISOR_H
#define ZC_RUNTIME_DRIVER_SUPERVISOR_H

#include "runtime/Driver/CheckpointKeeper.h"

#include <string>
#include <vector>

namespace zc {

struct SupervisorOptions {
  int ranks = 1;
  int64_t maxRestarts = 0; // in all
  int minRanks = 0; // that a restart may have, of those left; 0: all again
  std::string artifact;
  int64_t replicateEvery = 0;       // steps between copies in memory; 0: none
  std::vector<std::string> command; // of a rank, from argv[0] on
  CheckpointOptions checkpoint;     // as `command` has them
};

/// Runs the ranks to their end, and begins again where one is killed, is lost
/// to others or fails in its steps; not where one was refused
/// (runtime/Base/Ending.h). Returns the exit code: 0, 1, 2 where they say
/// that they were used wrongly, or 128 and the signal that asked to stop: this
/// process, which hands it on to them, or one of them, which tells the others.
Result<int> supervise(const SupervisorOptions &options);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_SUPERVISOR_H
