#include "runtime/Driver/CompiledSettings.h"
#include "runtime/Plan/Order/Versions.h"

#include <algorithm>
#include <cstdlib>

namespace zc {

// How an artifact divides its work and keeps its memory changes no number.
static bool changesNumbers(const std::string &setting) {
  if (setting.rfind("moe.", 0) == 0) // what zc inspect says of experts
    return false;
  for (const char *name :
       {"zero", "unit", "zero-group", "reshard-every", "recompute", "offload",
        "compress-activations", "partition-activations", "memory-budget",
        "logits", "init", "libraries", "cluster", "machine", "stages", "chunks",
        "stage-replicas", "divide-messages"})
    if (setting == name)
      return false;
  return true;
}

/// The meaning of a setting that is not given.
static std::string standardOf(const std::string &setting) {
  if (setting == "reduce-precision")
    return "fp32";
  if (setting == "fp8-scaling") // not recorded by earlier versions
    return "current";
  return setting == "matmul-precision" ? "highest" : "";
}

/// Where one has a setting and the other not, and that says nothing: it belongs
/// to one optimizer or loss, and these differ, or it is the standard.
static bool isNoChange(const std::string &name, const std::string &text) {
  for (const char *belongs : {"momentum", "nesterov", "beta1", "beta2", "eps",
                              "freeze-step", "huber-delta", "moe-group"})
    if (name == belongs)
      return true;
  return text == standardOf(name) ||
         (name == "schedule" && !isWithoutFlush(text));
}

NamedTexts describeCompiled(const plan::Manifest &manifest) {
  NamedTexts texts = {{"loss", manifest.loss()},
                      {"optimizer", manifest.optimizer()}};
  for (const plan::Setting &setting : manifest.settings()) {
    if (!changesNumbers(setting.name()))
      continue;
    // Some settings, such as groups, may be given several times.
    if (texts.back().first == setting.name())
      texts.back().second += " " + setting.value();
    else
      texts.emplace_back(setting.name(), setting.value());
  }
  return texts;
}

const std::string *findText(const NamedTexts &texts, const std::string &name) {
  for (const auto &[each, text] : texts)
    if (each == name)
      return &text;
  return nullptr;
}

void eraseText(NamedTexts &texts, const std::string &name) {
  texts.erase(
      std::remove_if(texts.begin(), texts.end(),
                     [&](const auto &each) { return each.first == name; }),
      texts.end());
}

bool meanTheSame(const std::string &left, const std::string &right) {
  if (left == right)
    return true;
  char *leftEnd = nullptr, *rightEnd = nullptr;
  double leftValue = std::strtod(left.c_str(), &leftEnd);
  double rightValue = std::strtod(right.c_str(), &rightEnd);
  return !left.empty() && !right.empty() && *leftEnd == '\0' &&
         *rightEnd == '\0' && leftValue == rightValue;
}

std::vector<std::string> listCompiledChanges(const TrainState &saved,
                                             const UpdateSettings &replaced,
                                             const Artifact &artifact) {
  std::vector<std::string> changes;
  const NamedTexts now = describeCompiled(artifact.manifest());
  const std::string whose = "'" + artifact.path() + "' was compiled with";
  for (const auto &[name, text] : now) {
    const std::string *before = findText(saved.compiled, name);
    if (replaced.count(name) || saved.compiled.empty())
      continue;
    if (!before && !isNoChange(name, text))
      changes.push_back(strCat(whose, " ", name, " ", text,
                               "; the run so far was trained without"));
    const bool isOrderAlone = name == "schedule" && before &&
                              !isWithoutFlush(*before) && !isWithoutFlush(text);
    if (before && !meanTheSame(*before, text) && !isOrderAlone)
      changes.push_back(strCat(whose, " ", name, " ", text,
                               "; the run so far was trained with ", *before));
  }
  for (const auto &[name, text] : saved.compiled)
    if (!replaced.count(name) && !findText(now, name) &&
        !isNoChange(name, text))
      changes.push_back(strCat(whose, "out ", name,
                               "; the run so far was trained with ", text));
  return changes;
}

} // namespace zc
