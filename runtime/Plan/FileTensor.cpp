#include "runtime/Plan/FileTensor.h"
#include "runtime/Plan/Types.h"

#include <algorithm>

namespace zc {

namespace {

/// Consecutive elements of a dim: where they begin in the whole, and in a
/// rank's part.
struct Stretch {
  int64_t begin, place, count;
};

/// A dim of a whole tensor: how much of it a rank's part has room for, and
/// which elements are in there, in ascending order.
struct DimPart {
  int64_t whole, room;
  std::vector<Stretch> stretches;
};

/// The rank's part of every block.
std::vector<Stretch> stretchesOf(const plan::DimSharding &sharding,
                                 int64_t parts, int64_t number) {
  std::vector<Stretch> stretches;
  int64_t begin = 0, place = 0;
  for (int64_t block : sharding.blocks()) {
    int64_t count = block / parts;
    if (count > 0)
      stretches.push_back({begin + number * count, place, count});
    begin += block;
    place += count;
  }
  return stretches;
}

std::vector<DimPart> partOf(const plan::TensorType &type,
                            const plan::Sharding &sharding, const Mesh &mesh,
                            int64_t rank) {
  std::vector<DimPart> dims;
  for (int i = 0; i < type.dims_size(); ++i) {
    int64_t whole = type.dims(i), parts = 1, number = 0;
    if (i < sharding.dims_size()) {
      parts = mesh.groupSize(sharding.dims(i).axes());
      number = mesh.placeInGroup(rank, sharding.dims(i).axes());
    }
    int64_t room = (whole + parts - 1) / parts;
    DimPart &dim = dims.emplace_back(DimPart{whole, room, {}});
    int64_t begin = std::min(number * room, whole);
    int64_t count = std::min(room, whole - begin);
    if (i < sharding.dims_size() && sharding.dims(i).blocks_size() > 0)
      dim.stretches = stretchesOf(sharding.dims(i), parts, number);
    else if (count > 0)
      dim.stretches.push_back({begin, 0, count});
  }
  return dims;
}

/// Dims behind the last divided one are one stretch with it.
void foldInnerDims(std::vector<DimPart> &dims) {
  auto isWhole = [](const DimPart &dim) {
    return dim.room == dim.whole && dim.stretches.size() == 1;
  };
  int64_t inner = 1;
  while (!dims.empty() && isWhole(dims.back())) {
    inner *= dims.back().whole;
    dims.pop_back();
  }
  if (dims.empty())
    dims.push_back({1, 1, {{0, 0, 1}}});
  DimPart &last = dims.back();
  last.whole *= inner;
  last.room *= inner;
  for (Stretch &each : last.stretches)
    each = {each.begin * inner, each.place * inner, each.count * inner};
}

/// Counts through the elements of the dims but the last; false at the end.
class OuterIndex {
public:
  explicit OuterIndex(const std::vector<DimPart> &dims)
      : dims(dims), stretch(dims.size(), 0), index(dims.size(), 0) {}

  const Stretch &of(size_t dim) const {
    return dims[dim].stretches[stretch[dim]];
  }
  int64_t whole(size_t dim) const { return of(dim).begin + index[dim]; }
  int64_t part(size_t dim) const { return of(dim).place + index[dim]; }

  bool next() {
    for (size_t dim = dims.size() - 1; dim > 0; --dim) {
      if (++index[dim - 1] < of(dim - 1).count)
        return true;
      index[dim - 1] = 0;
      if (++stretch[dim - 1] < dims[dim - 1].stretches.size())
        return true;
      stretch[dim - 1] = 0;
    }
    return false;
  }

private:
  const std::vector<DimPart> &dims;
  std::vector<size_t> stretch;
  std::vector<int64_t> index;
};

/// The runs of a part, as places in the whole and in the part.
std::vector<TensorRun> runsOf(std::vector<DimPart> dims) {
  for (const DimPart &dim : dims)
    if (dim.stretches.empty())
      return {};
  foldInnerDims(dims);
  std::vector<TensorRun> runs;
  const DimPart &last = dims.back();
  OuterIndex at(dims);
  do {
    int64_t whole = 0, part = 0;
    for (size_t i = 0; i + 1 < dims.size(); ++i) {
      whole = whole * dims[i].whole + at.whole(i);
      part = part * dims[i].room + at.part(i);
    }
    for (const Stretch &each : last.stretches)
      runs.push_back({uint64_t(whole * last.whole + each.begin),
                      uint64_t(part * last.room + each.place),
                      uint64_t(each.count)});
  } while (at.next());
  return runs;
}

const plan::Sharding &shardingOf(const FileTensor &tensor) {
  return tensor.member ? tensor.member->sharding() : tensor.state->sharding();
}

} // namespace

std::string versionName(const std::string &name, uint32_t age) {
  return age == 0 ? name : strCat("version.", age, ".", name);
}

std::string FileTensor::name() const {
  return versionName(member ? member->name() : state->name(), age);
}

const plan::WeightSource *FileTensor::source() const {
  if (member)
    return member->has_source() ? &member->source() : nullptr;
  return state->has_source() ? &state->source() : nullptr;
}

plan::TensorType FileTensor::storedType() const {
  const plan::WeightSource *from = source();
  return from ? storedTypeOf(*from, type) : type;
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
  // The ranks of another role hold other states.
  if (!mesh.isFirstOfRole(rank))
    return false;
  std::vector<std::string> axes = {mesh.roleAxis()};
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

std::vector<FileTensor> olderVersionsOf(const plan::State &state) {
  std::vector<FileTensor> all;
  for (uint32_t age = 1; age <= state.delay(); ++age)
    for (FileTensor &tensor : fileTensorsOf(state)) {
      tensor.age = age;
      all.push_back(std::move(tensor));
    }
  return all;
}

std::string slotName(const std::string &parameter, const std::string &slot) {
  return "state." + parameter + "." + slot;
}

bool isCoordinate(const plan::State &state) {
  return state.kind() == plan::SCALAR &&
         state.name().rfind(kCoordinatePrefix, 0) == 0;
}

bool isSetting(const plan::State &state) {
  return state.kind() == plan::SCALAR &&
         state.name().rfind(kSettingPrefix, 0) == 0;
}

} // namespace zc
