// What one step runs: `step`, or `micro` several times and then `apply`.
#ifndef ZC_RUNTIME_DRIVER_RECIPE_H
#define ZC_RUNTIME_DRIVER_RECIPE_H

#include "runtime/Plan/Artifact.h"

namespace zc {

struct Recipe {
  const plan::Program *part; // takes samples
  const plan::Program *end;  // updates and reports; may be `part` itself
  int64_t repeats = 1;       // of `part`

  /// Of a training artifact, whose manifest has been checked.
  static Recipe of(const Artifact &artifact) {
    int64_t repeats = artifact.manifest().accumulate();
    if (repeats > 1)
      return {artifact.program("micro"), artifact.program("apply"), repeats};
    return {artifact.program("step"), artifact.program("step"), 1};
  }
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_RECIPE_H
