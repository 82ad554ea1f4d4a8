// How the learning rate changes over a run: a pure function of the step, so
// that a resumed run goes on as if never stopped.
#ifndef ZC_RUNTIME_DRIVER_LEARNINGRATE_H
#define ZC_RUNTIME_DRIVER_LEARNINGRATE_H

#include <cstdint>

namespace zc {

struct LearningRateSchedule {
  enum class Kind { Constant, Cosine, Linear };

  Kind kind = Kind::Constant;
  float peak = 1e-3f;
  float lowest = 0; // at the last step, unless constant
  int64_t warmupSteps = 0;

  /// As options name it.
  const char *name() const {
    return kind == Kind::Constant ? "constant"
           : kind == Kind::Cosine ? "cosine"
                                  : "linear";
  }

  /// For `step`, from 1, of `total`: peak * step / warmupSteps while warming
  /// up, then from the peak down to `lowest` at the last step.
  float at(int64_t step, int64_t total) const;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_LEARNINGRATE_H
