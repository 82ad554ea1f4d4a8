#include "runtime/Driver/LearningRate.h"

#include <algorithm>
#include <cmath>

namespace zc {

const std::vector<std::pair<std::string, LearningRateSchedule::Kind>> &
LearningRateSchedule::kinds() {
  static const std::vector<std::pair<std::string, Kind>> all = {
      {"constant", Kind::Constant},
      {"cosine", Kind::Cosine},
      {"linear", Kind::Linear},
      {"polynomial", Kind::Polynomial},
      {"step", Kind::Step},
      {"one-cycle", Kind::OneCycle},
      {"warmup-stable-decay", Kind::WarmupStableDecay}};
  return all;
}

const std::string &LearningRateSchedule::nameOf(Kind kind) {
  for (const auto &[name, each] : kinds())
    if (each == kind)
      return name;
  return kinds().front().first;
}

static constexpr double kPi = 3.14159265358979323846;

static double cosine(double from, double to, double share) {
  return to + (from - to) * 0.5 * (1 + std::cos(kPi * share));
}

/// PyTorch's OneCycleLR, whose steps count from 0: up from a 25th of the peak,
/// down to a 10,000th of that.
double LearningRateSchedule::cycleAt(int64_t step, int64_t total) const {
  constexpr double kBegin = 25, kEnd = 1e4, kRise = 0.3;
  const double begin = double(peak) / kBegin;
  const double end = lowest ? double(*lowest) : begin / kEnd;
  const double top =
      (warmupSteps ? double(*warmupSteps) : kRise * double(total)) - 1;
  const double at = double(step - 1), last = double(total - 1);
  if (at <= top)
    return cosine(begin, peak, top > 0 ? at / top : 1);
  return cosine(peak, end, (at - top) / (last - top));
}

/// The share, from 1 at the peak to 0 at the lowest rate, after the warm-up.
double LearningRateSchedule::shareLeft(int64_t step, int64_t total) const {
  const int64_t warmup = warmupSteps.value_or(0);
  const double done = double(step - warmup) / double(total - warmup);
  switch (kind) {
  case Kind::Linear:
    return 1 - done;
  case Kind::Polynomial:
    return std::pow(1 - done, power);
  case Kind::Cosine:
    return 0.5 * (1 + std::cos(kPi * done));
  case Kind::WarmupStableDecay: {
    const int64_t decay =
        decaySteps > 0 ? decaySteps : std::max<int64_t>(1, total / 10);
    return std::min(1.0, double(total - step) / double(decay));
  }
  default:
    return 1;
  }
}

Status LearningRateSchedule::check(int64_t total) const {
  const int64_t warmup = warmupSteps.value_or(0);
  if (warmup > total)
    return makeError(StatusCode::InvalidArgument, "--warmup-steps ", warmup,
                     ": the run has ", total,
                     " steps, in which the learning rate would never reach "
                     "--lr; expected at most ",
                     total);
  if (decaySteps > total - warmup)
    return makeError(StatusCode::InvalidArgument, "--lr-decay-steps ",
                     decaySteps, ": the run has ", total - warmup,
                     " steps behind those of --warmup-steps, so that the "
                     "learning rate would begin to fall before them; expected "
                     "at most ",
                     total - warmup);
  return Status();
}

std::string LearningRateSchedule::doubt(int64_t total) const {
  const int64_t rest = total - warmupSteps.value_or(0);
  if (kind != Kind::Step || stepSize < rest)
    return "";
  return strCat("--lr-step-size ", stepSize, ": the run ends after ", total,
                " steps, before the learning rate falls");
}

float LearningRateSchedule::at(int64_t step, int64_t total) const {
  if (kind == Kind::OneCycle)
    return static_cast<float>(cycleAt(step, total));
  const int64_t warmup = warmupSteps.value_or(0);
  if (step <= warmup)
    return static_cast<float>(double(peak) * double(step) / double(warmup));
  if (kind == Kind::Constant)
    return peak;
  if (kind == Kind::Step) {
    const double falls = double((step - 1 - warmup) / stepSize);
    return static_cast<float>(std::max(double(lowest.value_or(0)),
                                       double(peak) * std::pow(factor, falls)));
  }
  const double low = double(lowest.value_or(0));
  return static_cast<float>(low +
                            (double(peak) - low) * shareLeft(step, total));
}

} // namespace zc
