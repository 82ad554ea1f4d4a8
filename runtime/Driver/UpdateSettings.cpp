#include "runtime/Driver/UpdateSettings.h"

#include "runtime/Plan/FileTensor.h"

#include <cmath>

namespace zc {

namespace {

enum class Range {
  Share,  // from 0 on, below 1
  Amount, // from 0 on
  Limit   // above 0, and float32 holds it, for gradients are compared with it
};

const std::map<std::string, Range> &ranges() {
  static const std::map<std::string, Range> all = {
      {"weight-decay", Range::Amount}, {"momentum", Range::Amount},
      {"beta1", Range::Share},         {"beta2", Range::Share},
      {"clip-norm", Range::Limit},     {"clip-value", Range::Limit}};
  return all;
}

} // namespace

const std::vector<std::string> &updateSettingNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (const auto &[name, range] : ranges())
      made.push_back(name);
    return made;
  }();
  return names;
}

std::string whyNoSetting(const std::string &name, double value) {
  const Range range = ranges().at(name);
  const bool isShare = range == Range::Share;
  if (!std::isfinite(value) || value < 0 || (isShare && value >= 1))
    return strCat("expected a number of at least 0",
                  isShare ? " and below 1" : "");
  const float limit = float(value);
  if (range == Range::Limit && !(limit > 0 && std::isfinite(limit)))
    return "expected a number above 0 that float32 holds";
  return "";
}

const std::string *compiledSetting(const plan::Manifest &manifest,
                                   const std::string &name) {
  for (const plan::Setting &setting : manifest.settings())
    if (setting.name() == name)
      return &setting.value();
  return nullptr;
}

static const plan::State *findSetting(const plan::Role &role,
                                      const std::string &name) {
  for (const plan::State &state : role.states())
    if (isSetting(state) && state.name() == kSettingPrefix + name)
      return &state;
  return nullptr;
}

// Others may train nothing.
bool hasSetting(const plan::Manifest &manifest, const std::string &name) {
  for (const plan::Role &role : manifest.roles())
    if (findSetting(role, name))
      return true;
  return false;
}

Status checkSettings(const Artifact &artifact, const UpdateSettings &settings) {
  const plan::Manifest &manifest = artifact.manifest();
  for (const auto &[name, value] : settings) {
    if (hasSetting(manifest, name))
      continue;
    const std::string *compiled = compiledSetting(manifest, name);
    return makeError(
        StatusCode::InvalidArgument, "--", name, ": '", artifact.path(),
        "' was compiled with --optimizer ", manifest.optimizer(),
        compiled ? " --" : " and no --", name,
        compiled ? " " + *compiled : std::string(),
        ", and has no such number that a run could change; give --", name,
        " to zc compile");
  }
  return Status();
}

Status writeSettings(Executor &executor, const UpdateSettings &settings) {
  for (const auto &[name, value] : settings)
    if (const plan::State *state = findSetting(executor.role(), name))
      ZC_RETURN_IF_ERROR(executor.writeState(*state, 0, &value, sizeof(value)));
  return Status();
}

} // namespace zc
