// Chooses among ways to compute the same call, so that all ranks compute equal
// calls alike: as the run so far did, as a tuning file says, or as measured
// now.
#ifndef ZC_RUNTIME_DRIVER_TUNING_H
#define ZC_RUNTIME_DRIVER_TUNING_H

#include "runtime/Comm/World.h"
#include "runtime/Device/Device.h"
#include "runtime/Plan/Artifact.h"

#include <string>
#include <vector>

namespace zc {

struct TuningOptions {
  /// Else only the ways of the run so far are taken.
  bool measures = false;
  std::string file; // empty: defaultTuningFile(); the first rank's counts
  /// Of the run so far, which come first; the first rank's count.
  ChosenWays kept;
};

struct Tuning {
  ChosenWays ways; // of all ranks, and those kept; empty: all by rule
  /// Sentences for the user; the first rank's are worth telling.
  std::vector<std::string> notes, warnings;
};

/// Called by all ranks with equal options but for the file and what is kept,
/// before memory is taken for the programs, which the device will be asked to
/// prepare. One rank after another measures what none before it has.
Result<Tuning> tuneCalls(World &world, Device &device, const Artifact &artifact,
                         const std::vector<std::string> &programs,
                         const TuningOptions &options);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_TUNING_H
