// What one step runs: `step`, or `micro` several times and then `apply`, or
// what takes the place of `apply` from some step on.
#ifndef ZC_RUNTIME_DRIVER_RECIPE_H
#define ZC_RUNTIME_DRIVER_RECIPE_H

#include "runtime/Plan/Artifact.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <limits>

namespace zc {

struct Recipe {
  const plan::Program *part; // takes samples
  const plan::Program *end;  // updates and reports; may be `part` itself
  int64_t repeats = 1;       // of `part`
  const plan::Program *laterEnd = nullptr; // `end` of steps after lastStep
  int64_t lastStep = std::numeric_limits<int64_t>::max();

  /// What ends step `step`, counted from 1.
  const plan::Program *endOf(int64_t step) const {
    return step > lastStep ? laterEnd : end;
  }

  /// Of a training artifact, whose manifest has been checked.
  static Recipe of(const Artifact &artifact) {
    const plan::Manifest &manifest = artifact.manifest();
    const plan::Program *micro = artifact.program("micro");
    if (!micro)
      return {artifact.program("step"), artifact.program("step")};
    Recipe recipe{micro, artifact.program("apply"),
                  std::max<int64_t>(1, manifest.accumulate())};
    if (manifest.freeze_step() > 0) {
      recipe.laterEnd = artifact.program(kCompressedProgram);
      recipe.lastStep = manifest.freeze_step();
    }
    return recipe;
  }
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_RECIPE_H
