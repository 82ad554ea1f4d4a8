#include "runtime/Plan/Mesh.h"

#include <algorithm>

namespace zc {

// More ranks than anyone has; keeps products of axes far from overflow.
static constexpr int64_t kMaxRanks = int64_t(1) << 24;

// An outline of roles without a mesh, as the planner of rings makes it, says
// nothing of ranks: it is of a pipeline's roles. Axes may have one rank.
bool hasParameterServer(const plan::Manifest &manifest) {
  std::string served, stages = "1";
  for (const plan::Setting &axis : manifest.mesh()) {
    if (axis.name() == axes::kSample)
      served = axis.value();
    if (axis.name() == axes::kRole)
      stages = axis.value();
  }
  return manifest.roles_size() == 2 && stages == "1" && !served.empty() &&
         served != "1";
}

Result<Mesh> Mesh::of(const plan::Manifest &manifest) {
  Mesh mesh;
  for (const plan::Setting &axis : manifest.mesh()) {
    const std::string &size = axis.value();
    bool sound = !axis.name().empty() && !mesh.has(axis.name()) &&
                 !size.empty() && size.size() < 8 &&
                 std::all_of(size.begin(), size.end(),
                             [](char c) { return c >= '0' && c <= '9'; }) &&
                 std::stol(size) > 0 &&
                 mesh.theRanks * std::stol(size) <= kMaxRanks;
    if (!sound)
      return makeError(StatusCode::Corrupt, "mesh axis '", axis.name(),
                       "' has size '", size, "' or is there twice");
    for (Axis &slower : mesh.axes)
      slower.stride *= std::stol(size);
    mesh.axes.push_back({axis.name(), std::stol(size), 1});
    mesh.theRanks *= std::stol(size);
  }
  mesh.hasServer = hasParameterServer(manifest);
  const int64_t served = mesh.extent(axes::kSample);
  if (mesh.hasServer && served != mesh.theRanks)
    return makeError(StatusCode::Corrupt, "a parameter server among ",
                     mesh.theRanks, " ranks, ", served,
                     " of them along dp; expected no other axis");
  return mesh;
}

const Mesh::Axis *Mesh::find(const std::string &name) const {
  auto found = std::find_if(axes.begin(), axes.end(), [&](const Axis &axis) {
    return axis.name == name;
  });
  return found == axes.end() ? nullptr : &*found;
}

int64_t Mesh::coordinate(int64_t rank, const std::string &axis) const {
  const Axis *found = find(axis);
  return found ? rank / found->stride % found->size : 0;
}

int64_t Mesh::extent(const std::string &name) const {
  const Axis *axis = find(name);
  return axis ? axis->size : 1;
}

int64_t Mesh::roles() const { return hasServer ? 2 : extent(axes::kRole); }

int Mesh::firstOf(int role) const {
  const Axis *axis = find(roleAxis());
  return axis ? int(role * axis->stride) : 0;
}

int64_t Mesh::groupSize(const AxisNames &names) const {
  int64_t size = 1;
  for (const std::string &name : names)
    if (const Axis *axis = find(name))
      size *= axis->size;
  return size;
}

int64_t Mesh::placeInGroup(int64_t rank, const AxisNames &names) const {
  int64_t place = 0;
  for (const std::string &name : names)
    if (const Axis *axis = find(name))
      place = place * axis->size + coordinate(rank, name);
  return place;
}

std::vector<int> Mesh::group(int64_t rank, const AxisNames &names) const {
  for (const std::string &name : names)
    if (const Axis *axis = find(name))
      rank -= coordinate(rank, name) * axis->stride;
  std::vector<int> ranks = {int(rank)};
  for (const std::string &name : names) {
    const Axis *axis = find(name);
    std::vector<int> more;
    for (int first : ranks)
      for (int64_t i = 0; axis && i < axis->size; ++i)
        more.push_back(first + int(i * axis->stride));
    ranks = more;
  }
  return ranks;
}

bool Mesh::isFirstBut(int64_t rank,
                      const std::vector<std::string> &names) const {
  return std::all_of(axes.begin(), axes.end(), [&](const Axis &axis) {
    return coordinate(rank, axis.name) == 0 ||
           std::find(names.begin(), names.end(), axis.name) != names.end();
  });
}

} // namespace zc
