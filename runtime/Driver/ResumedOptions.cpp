#include "runtime/Driver/ResumedOptions.h"
#include "runtime/Driver/CompiledSettings.h"

#include <filesystem>

namespace zc {

/// Where a run writes, and where it ends, does not change how it trains.
static bool isOfTraining(const std::string &option,
                         const LearningRateSchedule &schedule) {
  if (option == "steps" || option == "epochs")
    return schedule.dependsOnTotal();
  return option != "log" && option != "tensorboard" && option != "log-every" &&
         option != "folder";
}

/// Whether two runs name one file, each as seen from its own folder.
static bool isSamePlace(const NamedTexts &saved, const std::string &before,
                        const NamedTexts &given, const std::string &now) {
  const std::string *from = findText(saved, "folder");
  const std::string *here = findText(given, "folder");
  if (!from || !here)
    return false;
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path one = fs::path(*from) / before, other = fs::path(*here) / now;
  return one == other || fs::equivalent(one, other, error);
}

/// Lists changes for which a resumed run's samples come in another order from
/// here on.
static void addSampleChanges(const TrainState &saved, const TrainState &now,
                             const TrainOptions &options,
                             std::vector<std::string> &changes) {
  if (saved.samples != now.samples)
    changes.push_back(strCat("'", options.data, "' has ", now.samples,
                             " samples; the run so far had ", saved.samples));
  if (options.seed.value_or(saved.seed) != saved.seed)
    changes.push_back(strCat("--seed ", *options.seed,
                             ": the run so far had seed ", saved.seed,
                             "; from here on samples come in another order"));
  if (options.shuffle.value_or(saved.shuffle) != saved.shuffle)
    changes.push_back(strCat(
        *options.shuffle ? "--shuffle" : "--no-shuffle", ": the run so far ",
        saved.shuffle ? "shuffled its samples" : "took its samples in order"));
  if (saved.batch != now.batch)
    changes.push_back(strCat("'", options.artifact, "' takes ", now.batch,
                             " samples a step; the run so far took ",
                             saved.batch,
                             "; steps are counted on as they are"));
}

static bool isOfSchedule(const std::string &option) {
  return option == "warmup-steps" || option == "min-lr" ||
         option.rfind("lr-", 0) == 0;
}

/// The value in the run so far of an option that `zc run` was not given: a
/// number of the update was as compiled, a schedule's is as good as zero; null:
/// that cannot be compared.
static const std::string *findUnset(const TrainState &saved,
                                    const TrainOptions &options,
                                    const std::string &name,
                                    const std::string &text) {
  static const std::string kZero = "0", kNone = "none";
  if (options.settings.count(name))
    return findText(saved.compiled, name);
  if (!isOfSchedule(name))
    return nullptr;
  return meanTheSame(text, "0") ? &kZero : &kNone;
}

std::vector<std::string> listChanges(const TrainState &saved,
                                     const TrainState &now,
                                     const TrainOptions &options) {
  std::vector<std::string> changes;
  addSampleChanges(saved, now, options, changes);
  for (const auto &[name, text] : options.record) {
    const std::string *before = findText(saved.options, name);
    if (!before)
      before = findUnset(saved, options, name, text);
    if (!saved.options.empty() && isOfTraining(name, options.learningRate) &&
        before && !meanTheSame(*before, text) &&
        !isSamePlace(saved.options, *before, options.record, text))
      changes.push_back(
          strCat("--", name, " ", text, ": the run so far had ", *before));
  }
  return changes;
}

} // namespace zc
