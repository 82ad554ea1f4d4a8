#include "runtime/Driver/Trainer.h"
#include "runtime/Io/RunLog.h"

namespace zc {

template <typename T> static std::string print(const std::optional<T> &value) {
  return value ? std::to_string(*value) : "unset";
}

std::string joinNames(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ",") + name;
  return text;
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
  alike.add("--lr-schedule", LearningRateSchedule::nameOf(rate.kind));
  alike.add("--warmup-steps", print(rate.warmupSteps));
  alike.add("--min-lr", rate.lowest ? exactDecimal(*rate.lowest) : "unset");
  alike.add("--lr-power", std::to_string(rate.power));
  alike.add("--lr-step-size", std::to_string(rate.stepSize));
  alike.add("--lr-factor", std::to_string(rate.factor));
  alike.add("--lr-decay-steps", std::to_string(rate.decaySteps));
  for (const auto &[name, value] : options.settings)
    alike.add("--" + name, exactDecimal(value));
  alike.addGiven("--init-from", options.initFrom);
  alike.add("--save-every", std::to_string(options.checkpoint.saveEvery));
  alike.add("--save-beside", options.checkpoint.beside ? "auto" : "off");
  alike.add("--replicate", std::to_string(options.replicas.saveEvery));
  alike.addGiven("--replica-dir", options.replicas.place);
  alike.add("--eval-every", std::to_string(options.evalEvery));
  alike.add("--metrics", joinNames(options.metrics));
  alike.add("--keep-best", options.keepBest);
  alike.add("--patience", std::to_string(options.patience));
  alike.add("--resume", options.checkpoint.resume ? "on" : "off");
  alike.addGiven("--checkpoint", options.checkpoint.place);
  alike.add("--tune", options.tuningFile ? "on" : "off");
  alike.addGiven("--trace", options.trace);
  alike.add("--trace-steps",
            strCat(options.traceSteps.first, ":", options.traceSteps.last));
  return alike;
}

std::vector<std::string> listDoubts(const TrainOptions &options,
                                    int64_t total) {
  std::vector<std::string> doubts;
  auto add = [&](const std::string &text) {
    if (!text.empty())
      doubts.push_back(text);
  };
  auto addBeyond = [&](const char *option, int64_t every, const char *what) {
    if (every > total)
      add(strCat(option, " ", every, ": the run ends after ", total,
                 total == 1 ? " step, " : " steps, ", what));
  };
  addBeyond("--save-every", options.checkpoint.saveEvery,
            "with its only checkpoint");
  addBeyond("--eval-every", options.evalEvery, "with its only evaluation");
  addBeyond("--log-every", options.logEvery, "of which only the last is told");
  addBeyond("--replicate", options.replicas.saveEvery, "before its first copy");
  // The first evaluation is always the best so far.
  const int64_t evaluations =
      options.evalEvery > 0 ? (total - 1) / options.evalEvery : 0;
  if (options.patience > 0 && options.patience >= evaluations &&
      options.evalEvery <= total)
    add(strCat("--patience ", options.patience, ": the run has ", evaluations,
               evaluations == 1 ? " evaluation" : " evaluations",
               " before its last step, too few to stop it early"));
  add(options.learningRate.doubt(total));
  return doubts;
}

Status checkOutputs(const TrainOptions &options, InputFiles inputs,
                    const DataFile &data, const DataFile *evalData) {
  for (const DataFile *file : {&data, evalData})
    if (file)
      for (const std::string &path : file->files())
        inputs.add(path);
  for (const std::string &place : {options.checkpoint.place, options.initFrom})
    if (auto checkpoint = findCheckpoint(place); checkpoint.ok())
      inputs.addFolder(*checkpoint);
    else
      inputs.add(place);
  if (!options.log.empty() && options.log != kStandardOutput)
    ZC_RETURN_IF_ERROR(inputs.check("--log", options.log));
  return options.trace.empty() ? Status()
                               : inputs.check("--trace", options.trace);
}

} // namespace zc
