#include "tools/zc-run/LearningRateOptions.h"
#include "tools/zc-run/Commands.h"

#include <cmath>

namespace zc {

using Kind = LearningRateSchedule::Kind;

static constexpr const char *kGroup = "Learning rate";

static std::string checkLearningRate(const std::string &text) {
  char *end = nullptr;
  float value = std::strtof(text.c_str(), &end);
  bool sound =
      end != text.c_str() && *end == '\0' && std::isfinite(value) && value >= 0;
  return sound ? ""
               : "expected a number of at least 0 that float32 holds, at most "
                 "3.4e38; found '" +
                     text + "'";
}

static Kind kindOf(const std::string &name) {
  for (const auto &[each, kind] : LearningRateSchedule::kinds())
    if (each == name)
      return kind;
  return Kind::Constant;
}

static void addShapeOptions(CLI::App &app, LearningRateSchedule &schedule) {
  app.add_option(
         "--lr-power", schedule.power,
         "with polynomial: the power of the share of steps that is left")
      ->capture_default_str()
      ->check(isWithin(1e-6, 1e6))
      ->type_name("X")
      ->group(kGroup);
  app.add_option("--lr-step-size", schedule.stepSize,
                 "with step: how many steps a rate lasts; required")
      ->check(checkPositive)
      ->type_name("N")
      ->group(kGroup);
  app.add_option("--lr-factor", schedule.factor,
                 "with step: the factor that the rate is multiplied by then")
      ->capture_default_str()
      ->check(isWithin(0, 1))
      ->type_name("X")
      ->group(kGroup);
  app.add_option("--lr-decay-steps", schedule.decaySteps,
                 "with warmup-stable-decay: the last steps, in which the rate "
                 "falls [a tenth of all]")
      ->check(checkPositive)
      ->type_name("N")
      ->group(kGroup);
}

void addLearningRateOptions(CLI::App &app, LearningRateSchedule &schedule) {
  app.add_option("--lr", schedule.peak, "learning rate")
      ->capture_default_str()
      ->check(checkLearningRate)
      ->type_name("X")
      ->group(kGroup);
  std::vector<std::string> names;
  for (const auto &[name, kind] : LearningRateSchedule::kinds())
    names.push_back(name);
  app.add_option_function<std::string>(
         "--lr-schedule",
         [&](const std::string &name) { schedule.kind = kindOf(name); },
         "how the learning rate falls to --min-lr at the last step: constant, "
         "cosine, linear, polynomial, step, one-cycle (as PyTorch's), "
         "warmup-stable-decay")
      ->default_str("constant")
      ->check(CLI::IsMember(names))
      ->type_name("TEXT")
      ->group(kGroup);
  app.add_option("--warmup-steps", schedule.warmupSteps,
                 "steps in which the learning rate grows to --lr [0; with "
                 "one-cycle 30% of all]")
      ->check(checkSteps)
      ->type_name("N")
      ->group(kGroup);
  app.add_option("--min-lr", schedule.lowest,
                 "where the schedule ends, unless constant [0]")
      ->check(checkLearningRate)
      ->type_name("X")
      ->group(kGroup);
  addShapeOptions(app, schedule);
}

void checkLearningRateOptions(const CLI::App &app,
                              const TrainOptions &options) {
  const LearningRateSchedule &schedule = options.learningRate;
  const std::string &name = LearningRateSchedule::nameOf(schedule.kind);
  auto belongs = [&](const char *option, Kind kind) {
    if (app.count(option) && schedule.kind != kind)
      throw CLI::ValidationError(
          option, "belongs to --lr-schedule " +
                      LearningRateSchedule::nameOf(kind) + ", not to " + name);
  };
  belongs("--lr-power", Kind::Polynomial);
  belongs("--lr-step-size", Kind::Step);
  belongs("--lr-factor", Kind::Step);
  belongs("--lr-decay-steps", Kind::WarmupStableDecay);
  if (schedule.kind == Kind::Step && schedule.stepSize == 0)
    throw CLI::ValidationError("--lr-schedule step", "needs --lr-step-size N");
  if (app.count("--min-lr") && schedule.kind == Kind::Constant)
    throw CLI::ValidationError(
        "--min-lr", "has no effect with --lr-schedule constant, the default; "
                    "choose another schedule");
  if (schedule.lowest && *schedule.lowest > schedule.peak)
    throw CLI::ValidationError("--min-lr", "is above --lr");
  if (schedule.warmupSteps && options.steps &&
      *schedule.warmupSteps > *options.steps)
    throw CLI::ValidationError(
        "--warmup-steps",
        strCat(*schedule.warmupSteps, " is beyond --steps ", *options.steps,
               ": the learning rate would never reach --lr"));
}

} // namespace zc
