#include "runtime/Driver/CompiledSettings.h"

#include <cstdlib>

namespace zc {

// How an artifact divides its work and keeps its memory changes no number.
static bool changesNumbers(const std::string &setting) {
  if (setting.rfind("moe.", 0) == 0) // what zc inspect says of experts
    return false;
  for (const char *name : {"zero", "unit", "zero-group", "recompute", "offload",
                           "compress-activations", "partition-activations",
                           "memory-budget", "logits", "init"})
    if (setting == name)
      return false;
  return true;
}

NamedTexts describeCompiled(const plan::Manifest &manifest) {
  NamedTexts texts = {{"loss", manifest.loss()},
                      {"optimizer", manifest.optimizer()}};
  for (const plan::Setting &setting : manifest.settings())
    if (changesNumbers(setting.name()))
      texts.emplace_back(setting.name(), setting.value());
  return texts;
}

const std::string *findText(const NamedTexts &texts, const std::string &name) {
  for (const auto &[each, text] : texts)
    if (each == name)
      return &text;
  return nullptr;
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
  for (const auto &[name, text] : describeCompiled(artifact.manifest())) {
    const std::string *before = findText(saved.compiled, name);
    if (before && !replaced.count(name) && !meanTheSame(*before, text))
      changes.push_back(strCat("'", artifact.path(), "' was compiled with ",
                               name, " ", text,
                               "; the run so far was trained with ", *before));
  }
  return changes;
}

} // namespace zc
