#include "runtime/Plan/FileTensor.h"

#include <algorithm>

namespace zc {

namespace {

/// A dim of a whole tensor: how much of it a rank's part has room for, and
/// which elements are in there.
struct DimPart {
  int64_t whole, room, begin, count;
};

std::vector<DimPart> partOf(const plan::TensorType &type,
                            const plan::Sharding &sharding, const Mesh &mesh,
                            int64_t rank) {
  std::vector<DimPart> dims;
  for (int i = 0; i < type.dims_size(); ++i) {
    int64_t whole = type.dims(i), parts = 1, place = 0;
    if (i < sharding.dims_size()) {
      parts = mesh.groupSize(sharding.dims(i).axes());
      place = mesh.placeInGroup(rank, sharding.dims(i).axes());
    }
    int64_t room = (whole + parts - 1) / parts;
    int64_t begin = std::min(place * room, whole);
    dims.push_back({whole, room, begin, std::min(room, whole - begin)});
  }
  return dims;
}

/// Dims behind the last divided one are one stretch with it.
void foldInnerDims(std::vector<DimPart> &dims) {
  auto isWhole = [](const DimPart &dim) { return dim.room == dim.whole; };
  int64_t inner = 1;
  while (!dims.empty() && isWhole(dims.back())) {
    inner *= dims.back().whole;
    dims.pop_back();
  }
  if (dims.empty())
    dims.push_back({1, 1, 0, 1});
  DimPart &last = dims.back();
  last = {last.whole * inner, last.room * inner, last.begin * inner,
          last.count * inner};
}

/// The runs of a part, as places in the whole and in the part.
std::vector<TensorRun> runsOf(std::vector<DimPart> dims) {
  for (const DimPart &dim : dims)
    if (dim.count <= 0)
      return {};
  foldInnerDims(dims);
  std::vector<TensorRun> runs;
  std::vector<int64_t> index(dims.size(), 0);
  const DimPart &last = dims.back();
  while (true) {
    int64_t whole = 0, part = 0;
    for (size_t i = 0; i < dims.size(); ++i) {
      whole = whole * dims[i].whole + dims[i].begin + index[i];
      part = part * dims[i].room + index[i];
    }
    runs.push_back({uint64_t(whole), uint64_t(part), uint64_t(last.count)});
    size_t dim = dims.size() - 1; // the last one is a run's own
    while (dim > 0 && ++index[dim - 1] == dims[dim - 1].count)
      index[--dim] = 0;
    if (dim == 0)
      return runs;
  }
}

const plan::Sharding &shardingOf(const FileTensor &tensor) {
  return tensor.member ? tensor.member->sharding() : tensor.state->sharding();
}

} // namespace

const plan::WeightSource *FileTensor::source() const {
  if (member)
    return member->has_source() ? &member->source() : nullptr;
  return state->has_source() ? &state->source() : nullptr;
}

std::vector<TensorRun> FileTensor::runs(const Mesh &mesh, int64_t rank) const {
  std::vector<DimPart> dims = partOf(type, shardingOf(*this), mesh, rank);
  std::vector<TensorRun> runs = runsOf(dims);
  if (!member)
    return runs;
  // The member's part lies in the unit's vector, of which a rank has a window.
  uint64_t length = uint64_t(state->type().dims(0)), place = 0;
  if (state->sharding().dims_size() > 0)
    place = uint64_t(mesh.placeInGroup(rank, state->sharding().dims(0).axes()));
  const uint64_t begin = place * length, end = begin + length;
  std::vector<TensorRun> inWindow;
  for (const TensorRun &run : runs) {
    uint64_t at = member->offset() + run.state;
    uint64_t from = std::max(at, begin);
    uint64_t to = std::min(at + run.count, end);
    if (from < to)
      inWindow.push_back({run.whole + (from - at), from - begin, to - from});
  }
  return inWindow;
}

bool FileTensor::isOwner(const Mesh &mesh, int64_t rank) const {
  std::vector<std::string> axes;
  auto add = [&](const plan::Sharding &sharding) {
    for (const plan::DimSharding &dim : sharding.dims())
      axes.insert(axes.end(), dim.axes().begin(), dim.axes().end());
  };
  add(state->sharding());
  if (member)
    add(member->sharding());
  return mesh.isFirstBut(rank, axes);
}

std::vector<FileTensor> fileTensorsOf(const plan::State &state) {
  std::vector<FileTensor> tensors;
  for (const plan::UnitMember &member : state.members())
    tensors.push_back({&state, &member, member.type()});
  if (!tensors.empty())
    return tensors;
  plan::TensorType type = state.type();
  if (state.whole_dims_size() > 0)
    *type.mutable_dims() = state.whole_dims();
  tensors.push_back({&state, nullptr, type});
  return tensors;
}

bool isCoordinate(const plan::State &state) {
  return state.kind() == plan::SCALAR &&
         state.name().rfind(kCoordinatePrefix, 0) == 0;
}

} // namespace zc
