//===- DataParallel.cpp - traffic against ZeRO-1's ------------------------===//
#include "compiler/Export/DataParallel.h"

#include "runtime/Plan/Axes.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <optional>
#include <set>

namespace zc {
namespace {

/// Along all others a parameter's gradient is a sum over samples or tokens.
bool dividesModel(const std::string &axis) {
  return axis == axes::kTensor || axis == axes::kRole;
}

uint64_t widthOf(plan::DataType type) {
  plan::TensorType one;
  one.set_dtype(type);
  Result<uint64_t> bytes = byteCount(one);
  return bytes.ok() ? *bytes : 0;
}

/// Axes that divide a parameter before ZeRO does. Those of a parameter in its
/// own shape may be ZeRO's: where experts are divided, ep comes first.
std::set<std::string> axesOf(const plan::Sharding &sharding, bool isMember) {
  std::set<std::string> axes;
  for (const plan::DimSharding &dim : sharding.dims())
    for (int i = 0; i < dim.axes_size(); ++i)
      if (isMember || dividesModel(dim.axes(i)) ||
          (i == 0 && dim.axes(i) == axes::kExpert && dim.axes_size() > 1))
        axes.insert(dim.axes(i));
  return axes;
}

/// Sums up what a rank sends, parameter by parameter.
class ZeroOne {
public:
  ZeroOne(const plan::Manifest &manifest, const plan::Role &role,
          const Mesh &mesh)
      : manifest(manifest), mesh(mesh) {
    for (const plan::Setting &setting : manifest.settings())
      if (setting.name() == "reduce-precision" && setting.value() == "bf16")
        gradientType = plan::BF16;
    for (const plan::State &state : role.states())
      if (state.kind() == plan::COPY)
        copyType = state.type().dtype();
  }

  void add(const plan::State &state) {
    for (const plan::UnitMember &member : state.members())
      add(member.type(), axesOf(member.sharding(), /*isMember=*/true));
    if (state.members_size() > 0)
      return;
    plan::TensorType whole = state.type();
    if (state.whole_dims_size() > 0)
      *whole.mutable_dims() = state.whole_dims();
    add(whole, axesOf(state.sharding(), /*isMember=*/false));
  }

  double bytes() const { return sum; }

private:
  void add(const plan::TensorType &whole, const std::set<std::string> &axes) {
    double elements = 1, ranks = 1;
    for (int64_t size : whole.dims())
      elements *= double(size);
    for (const plan::Setting &axis : manifest.mesh()) {
      AxisNames name;
      name.Add(std::string(axis.name()));
      const auto size = double(mesh.groupSize(name));
      if (axes.count(axis.name()))
        elements /= size;
      else if (!dividesModel(axis.name()))
        ranks *= size;
    }
    const plan::DataType type = copyType.value_or(whole.dtype());
    const uint64_t width = widthOf(type) + widthOf(gradientType);
    sum += elements * double(width) * (ranks - 1) / ranks;
  }

  const plan::Manifest &manifest;
  const Mesh &mesh;
  plan::DataType gradientType = plan::F32;
  std::optional<plan::DataType> copyType; // of what the forward reads
  double sum = 0;
};

} // namespace

bool isOfDataParallel(const plan::CollectiveCall &call) {
  const bool isMeant = call.traffic() == plan::TRAFFIC_GRADIENTS ||
                       call.traffic() == plan::TRAFFIC_PARAMETERS;
  return isMeant && call.holders().empty() &&
         std::none_of(call.axes().begin(), call.axes().end(), dividesModel);
}

double sentByZeroOne(const plan::Manifest &manifest, const plan::Role &role,
                     const Mesh &mesh) {
  ZeroOne traffic(manifest, role, mesh);
  for (const plan::State &state : role.states())
    if (state.kind() == plan::PARAMETER)
      traffic.add(state);
  return traffic.bytes();
}

} // namespace zc
