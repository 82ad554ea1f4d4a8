// How the learning rate changes over a run: a pure function of the step, so
// that a resumed run goes on as if never stopped.
#ifndef ZC_RUNTIME_DRIVER_LEARNINGRATE_H
#define ZC_RUNTIME_DRIVER_LEARNINGRATE_H

#include "runtime/Base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zc {

struct LearningRateSchedule {
  enum class Kind {
    Constant,
    Cosine,
    Linear,
    Polynomial,        // as linear, the share that is left to a power
    Step,              // times `factor` every `stepSize` steps
    OneCycle,          // PyTorch's OneCycleLR with its defaults
    WarmupStableDecay, // constant, then linear in the last `decaySteps`
  };

  Kind kind = Kind::Constant;
  float peak = 1e-3f;
  std::optional<float> lowest; // at the last step, unless constant; default 0,
                               // of a cycle its beginning / 10,000
  // A cycle's default: 30% of all steps; else 0.
  std::optional<int64_t> warmupSteps;
  double power = 2;
  int64_t stepSize = 0;
  double factor = 0.1;
  int64_t decaySteps = 0; // 0: a tenth of all steps

  /// The schedules and what options call them.
  static const std::vector<std::pair<std::string, Kind>> &kinds();
  static const std::string &nameOf(Kind kind);

  /// For `step`, from 1, of `total`: peak * step / warmupSteps while warming
  /// up, then from the peak down to `lowest` at the last step.
  float at(int64_t step, int64_t total) const;

  /// Whether all parts of the schedule fit into a run of so many steps.
  Status check(int64_t total) const;
  /// A part that such a run does not come to, as a sentence, or nothing.
  std::string doubt(int64_t total) const;

  /// Whether the rate of a step depends on how many there are in all.
  bool dependsOnTotal() const {
    return kind != Kind::Constant && kind != Kind::Step;
  }

private:
  double shareLeft(int64_t step, int64_t total) const;
  double cycleAt(int64_t step, int64_t total) const;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_LEARNINGRATE_H
