#include "runtime/Simulate/Cluster.h"

namespace zc {

/// Files of tools/clusters, by their names; in alphabetical order.
static constexpr struct {
  const char *name, *text;
} kPresets[] = {
#include "Presets.inc"
};

const char *findPreset(std::string_view name) {
  for (const auto &preset : kPresets)
    if (preset.name == name)
      return preset.text;
  return nullptr;
}

std::vector<std::string> listPresets() {
  std::vector<std::string> names;
  for (const auto &preset : kPresets)
    names.push_back(preset.name);
  return names;
}

} // namespace zc
