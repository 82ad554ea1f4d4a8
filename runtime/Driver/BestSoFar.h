// The evaluation of a run that is the best of all so far, as its folder of
// checkpoints remembers it: `best`, a link to that checkpoint, and `best.json`.
#ifndef ZC_RUNTIME_DRIVER_BESTSOFAR_H
#define ZC_RUNTIME_DRIVER_BESTSOFAR_H

#include "runtime/Base/Status.h"

#include <cstdint>
#include <string>

namespace zc {

struct BestSoFar {
  std::string metric; // "loss", "accuracy", ...
  double value = 0;
  int64_t step = -1; // -1: there was no evaluation yet
  int64_t since = 0; // evaluations after that one, none of them better

  /// Takes the value of an evaluation; whether it is the best so far. One that
  /// is no number never is.
  bool take(int64_t atStep, double found);

  /// Writes both, the link to DIR/step-N.
  Status write(const std::string &folder) const;
  /// Writes `best.json` alone.
  Status writeCount(const std::string &folder) const;

  /// Removes both, which are another run's.
  static void remove(const std::string &folder);

  /// The folder's record of `metric` up to a step; empty if it has
  /// none. Fails for a file that is none of ours, or damaged.
  static Result<BestSoFar> read(const std::string &folder,
                                const std::string &metric, int64_t lastStep);
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_BESTSOFAR_H
