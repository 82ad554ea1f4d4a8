#include "runtime/Plan/RoleTensors.h"

#include <map>

namespace zc {

std::vector<HeldTensor> tensorsOfRoles(const plan::Manifest &manifest,
                                       bool (*holds)(const plan::State &)) {
  std::vector<HeldTensor> all;
  std::map<std::string, size_t> places;
  for (int role = 0; role < manifest.roles_size(); ++role)
    for (const plan::State &state : manifest.roles(role).states()) {
      if (!holds(state))
        continue;
      for (FileTensor &tensor : fileTensorsOf(state)) {
        auto [place, isNew] = places.emplace(tensor.name(), all.size());
        if (isNew)
          all.push_back({std::move(tensor), {}});
        all[place->second].roles.push_back(role);
      }
    }
  return all;
}

} // namespace zc
