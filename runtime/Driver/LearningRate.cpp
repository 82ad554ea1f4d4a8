#include "runtime/Driver/LearningRate.h"

#include <cmath>

namespace zc {

float LearningRateSchedule::at(int64_t step, int64_t total) const {
  constexpr double kPi = 3.14159265358979323846;
  if (step <= warmupSteps)
    return static_cast<float>(double(peak) * double(step) /
                              double(warmupSteps));
  if (kind == Kind::Constant)
    return peak;
  double done = double(step - warmupSteps) / double(total - warmupSteps);
  double share =
      kind == Kind::Linear ? 1 - done : 0.5 * (1 + std::cos(kPi * done));
  return static_cast<float>(lowest + (double(peak) - lowest) * share);
}

} // namespace zc
