#include "compiler/Driver/MeshOptions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace zc;

// From the axis whose neighbours are furthest apart to that whose are nearest.
static constexpr const char *kAxes[] = {"pp", "dp", "ep", "sp", "tp"};
// Those that passes divide something over.
static constexpr const char *kBuiltAxes[] = {"dp"};

static constexpr int64_t kMostRanks = 1 << 20;

static llvm::SmallVector<llvm::StringRef> split(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> axes;
  text.split(axes, ',');
  return axes;
}

static std::string checkAxis(llvm::StringRef axis,
                             std::vector<std::string> &seen, int64_t &ranks) {
  auto [name, value] = axis.split('=');
  std::string text = axis.str();
  if (!llvm::is_contained(kAxes, name))
    return "expected axes pp, dp, ep, sp and tp with their sizes, as in "
           "dp=4,tp=2; found '" +
           text + "'";
  int64_t size;
  if (value.getAsInteger(10, size) || size < 1)
    return "expected AXIS=SIZE with a size of at least 1, found '" + text + "'";
  if (llvm::is_contained(seen, name))
    return "axis '" + name.str() + "' comes twice";
  seen.push_back(name.str());
  if (size > kMostRanks / ranks)
    return "more than " + std::to_string(kMostRanks) + " ranks";
  ranks *= size;
  if (size > 1 && !llvm::is_contained(kBuiltAxes, name))
    return "'" + text + "': this axis is not built yet; leave it at 1";
  return "";
}

static std::string checkMesh(const std::string &text) {
  std::vector<std::string> seen;
  int64_t ranks = 1;
  for (llvm::StringRef axis : split(text))
    if (std::string wrong = checkAxis(axis, seen, ranks); !wrong.empty())
      return wrong;
  return "";
}

void zc::addMeshOptions(CLI::App &command, std::string &mesh) {
  command
      .add_option("--mesh", mesh,
                  "axes pp, dp, ep, sp, tp with sizes, as in dp=4: the ranks a "
                  "step is divided among; by default one")
      ->check(checkMesh)
      ->type_name("AXIS=SIZE,...")
      ->default_str("");
}

std::vector<MeshAxis> zc::parseMesh(const std::string &text) {
  std::vector<MeshAxis> mesh;
  for (const char *name : kAxes)
    for (llvm::StringRef axis : split(text)) {
      auto [written, value] = axis.split('=');
      int64_t size = 1;
      if (written == name && !value.getAsInteger(10, size))
        mesh.push_back({name, size});
    }
  return mesh;
}

std::string zc::printMesh(const CompileOptions &options) {
  std::string text;
  for (const MeshAxis &axis : options.mesh)
    text +=
        (text.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
  return text;
}

int64_t CompileOptions::getAxisSize(const std::string &name) const {
  for (const MeshAxis &axis : mesh)
    if (axis.name == name)
      return axis.size;
  return 1;
}

int64_t CompileOptions::getNumRanks() const {
  int64_t ranks = 1;
  for (const MeshAxis &axis : mesh)
    ranks *= axis.size;
  return ranks;
}
