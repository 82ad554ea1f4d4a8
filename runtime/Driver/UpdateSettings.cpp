#include "runtime/Driver/UpdateSettings.h"

#include "runtime/Plan/FileTensor.h"

namespace zc {

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
