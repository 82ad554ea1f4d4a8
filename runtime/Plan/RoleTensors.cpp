#include "runtime/Plan/RoleTensors.h"

#include <map>

namespace zc {

std::vector<HeldTensor> tensorsOfRoles(const plan::Manifest &manifest,
                                       bool (*holds)(const plan::State &)) {
  auto tensorsOf = [&](const plan::State &state) {
    return holds(state) ? fileTensorsOf(state) : std::vector<FileTensor>();
  };
  return tensorsOfRoles(
      manifest,
      std::function<std::vector<FileTensor>(const plan::State &)>(tensorsOf));
}

std::vector<HeldTensor>
tensorsOfRoles(const plan::Manifest &manifest,
               const std::function<std::vector<FileTensor>(const plan::State &)>
                   &tensorsOf) {
  std::vector<HeldTensor> all;
  std::map<std::string, size_t> places;
  for (int role = 0; role < manifest.roles_size(); ++role)
    for (const plan::State &state : manifest.roles(role).states())
      for (FileTensor &tensor : tensorsOf(state)) {
        auto [place, isNew] = places.emplace(tensor.name(), all.size());
        if (isNew)
          all.push_back({std::move(tensor), {}});
        all[place->second].roles.push_back(role);
      }
  return all;
}

} // namespace zc
