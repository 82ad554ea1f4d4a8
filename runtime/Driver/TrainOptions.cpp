#include "runtime/Driver/Trainer.h"
#include "runtime/Io/RunLog.h"

namespace zc {

template <typename T> static std::string print(const std::optional<T> &value) {
  return value ? std::to_string(*value) : "unset";
}

Alike listAlike(const TrainOptions &options, const DataFile &data,
                const DataFile *evalData) {
  const LearningRateSchedule &rate = options.learningRate;
  Alike alike;
  alike.addData("--data", &data);
  alike.addData("--eval-data", evalData);
  alike.add("--steps", print(options.steps));
  alike.add("--epochs", print(options.epochs));
  alike.add("--seed", print(options.seed));
  alike.add("--shuffle", print(options.shuffle));
  alike.add("--lr", exactDecimal(rate.peak));
  alike.add("--lr-schedule", rate.name());
  alike.add("--warmup-steps", std::to_string(rate.warmupSteps));
  alike.add("--min-lr", exactDecimal(rate.lowest));
  alike.add("--save-every", std::to_string(options.saveEvery));
  alike.add("--eval-every", std::to_string(options.evalEvery));
  alike.add("--resume", options.resume ? "on" : "off");
  alike.addGiven("--checkpoint", options.checkpoint);
  alike.addGiven("--trace", options.trace);
  return alike;
}

} // namespace zc
