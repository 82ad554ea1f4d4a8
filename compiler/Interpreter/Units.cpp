//===- Units.cpp - ZeRO's vectors as the parameters they hold -------------===//
#include "compiler/Interpreter/Units.h"

#include "compiler/Interpreter/Ranks.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/StateLookup.h"

#include <map>
#include <set>

using namespace mlir;

namespace zc::interpreter {

static RankedTensorType wholeTypeOf(Operation *state) {
  auto whole = state->getAttrOfType<TypeAttr>(dist::kWholeAttr);
  return whole ? cast<RankedTensorType>(whole.getValue())
               : cast<train::StateOp>(state).getTensorType();
}

static dist::ShardingAttr shardingOf(Operation *state) {
  auto given = state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
  return given ? given
               : dist::getReplicated(state->getContext(),
                                     wholeTypeOf(state).getRank());
}

Units::Units(ModuleOp module) {
  bool hasRoles = false;
  for (auto nested : module.getOps<ModuleOp>())
    if (auto role = nested->getAttrOfType<IntegerAttr>(train::kRoleAttr)) {
      hasRoles = true;
      addModule(nested, ("role" + Twine(role.getInt()) + ".").str());
    }
  if (!hasRoles)
    addModule(module, "");
}

void Units::addModule(ModuleOp module, const std::string &prefix) {
  auto members = module.lookupSymbol<ModuleOp>(dist::kUnitModule);
  if (!members)
    return;
  std::map<std::string, size_t> places;
  for (auto member : members.getOps<train::StateOp>()) {
    FlatSymbolRefAttr name = member.getUnitAttr();
    auto vector = name ? module.lookupSymbol<train::StateOp>(name.getValue())
                       : train::StateOp();
    if (!vector)
      continue;
    auto [place, isNew] =
        places.try_emplace(name.getValue().str(), units.size());
    if (isNew)
      units.push_back({prefix,
                       name.getValue().str(),
                       wholeTypeOf(vector).getNumElements(),
                       dist::getMesh(module),
                       {}});
    units[place->second].members.push_back(
        {member, int64_t(*member.getUnitOffset())});
  }
}

/// The axes that divide a unit's members, all alike.
static ArrayAttr axesOf(Operation *state) {
  SmallVector<Attribute> axes;
  for (ArrayAttr ofDim : shardingOf(state).getDims())
    llvm::append_range(axes, ofDim);
  return ArrayAttr::get(state->getContext(), axes);
}

/// For each share a rank that has it.
SmallVector<int64_t> Units::ranksOfShares(const Unit &unit) {
  return unit.mesh ? groupOf(0, axesOf(unit.members.front().state), unit.mesh)
                   : SmallVector<int64_t>{0};
}

/// The number of a rank's share.
static int64_t shareOf(int64_t rank, ArrayAttr axes, dist::MeshAttr mesh) {
  SmallVector<int64_t> group = groupOf(rank, axes, mesh);
  return llvm::find(group, rank) - group.begin();
}

StringRef Units::nameOf(const Member &member) {
  return cast<train::StateOp>(member.state).getSymName();
}

static Division divisionOf(Operation *state) {
  return {shardingOf(state), cast<train::StateOp>(state)};
}

/// The name of a `slot` of a parameter or a unit; "": their own.
static std::string slotOf(StringRef name, StringRef slot) {
  return slot.empty() ? name.str() : getSlotName(name, slot);
}

std::optional<Tensor> Units::pack(const Unit &unit, StringRef slot,
                                  const llvm::StringMap<Tensor> &values) {
  auto vector = Tensor::ofFloats({unit.numElements},
                                 std::vector<double>(unit.numElements));
  bool found = false;
  const SmallVector<int64_t> ranks = ranksOfShares(unit);
  const int64_t length = unit.numElements / int64_t(ranks.size());
  for (const Member &member : unit.members) {
    auto given = values.find(slotOf(nameOf(member), slot));
    // Histories of a matrix are vectors, and states of their own.
    if (given == values.end() || int64_t(given->second.shape.size()) !=
                                     wholeTypeOf(member.state).getRank())
      continue;
    found = true;
    for (auto [share, rank] : llvm::enumerate(ranks)) {
      const Tensor part =
          unit.mesh ? takePart(given->second, divisionOf(member.state),
                               unit.mesh, rank)
                    : given->second;
      llvm::copy(part.floats,
                 vector.floats.begin() + share * length + member.offset);
    }
  }
  return found ? std::optional<Tensor>(std::move(vector)) : std::nullopt;
}

void Units::pack(llvm::StringMap<Tensor> &values) const {
  std::set<std::string> slots = {""};
  for (const auto &entry : values)
    if (entry.getKey().starts_with("state."))
      slots.insert(entry.getKey().rsplit('.').second.str());
  llvm::StringMap<Tensor> vectors; // a tied parameter may be in two roles'
  for (const Unit &unit : units)
    for (const std::string &slot : slots)
      if (std::optional<Tensor> vector = pack(unit, slot, values))
        vectors[unit.prefix + slotOf(unit.name, slot)] = std::move(*vector);
  for (const Unit &unit : units)
    for (const Member &member : unit.members)
      values.erase(nameOf(member));
  for (auto &entry : vectors)
    values[entry.getKey()] = std::move(entry.second);
}

Tensor Units::join(const Unit &unit, const Member &member,
                   const Tensor &vector) {
  const SmallVector<int64_t> shape(wholeTypeOf(member.state).getShape());
  ArrayAttr axes = axesOf(member.state);
  const int64_t shares = unit.mesh ? dist::getGroupSize(unit.mesh, axes) : 1;
  auto fill = [&](int64_t share, Tensor part) {
    auto first = vector.floats.begin() + share * (unit.numElements / shares) +
                 member.offset;
    std::copy(first, first + part.floats.size(), part.floats.begin());
    return part;
  };
  const auto empty = Tensor::ofFloats(
      shape, std::vector<double>(ShapedType::getNumElements(shape)));
  if (!unit.mesh)
    return fill(0, empty);
  std::vector<Tensor> parts;
  for (int64_t rank = 0; rank < unit.mesh.getNumRanks(); ++rank)
    parts.push_back(
        fill(shareOf(rank, axes, unit.mesh),
             takePart(empty, divisionOf(member.state), unit.mesh, rank)));
  std::string error; // copies are of one vector
  return *joinParts(parts, shape, divisionOf(member.state), unit.mesh, error);
}

LogicalResult Units::unpack(NamedTensors &values, std::string &error) const {
  NamedTensors unpacked;
  llvm::StringMap<size_t> places;
  auto add = [&](std::string name, Tensor tensor) {
    auto [place, isNew] = places.try_emplace(name, unpacked.size());
    if (isNew) {
      unpacked.emplace_back(std::move(name), std::move(tensor));
      return true;
    }
    if (areAlike(unpacked[place->second].second, tensor))
      return true;
    error = ("two" + kOtherInUnit + " of '" + name + "'").str();
    return false;
  };
  for (auto &[name, tensor] : values) {
    const std::string padded = "." + name + ".";
    auto unit = llvm::find_if(units, [&, &name = name](const Unit &each) {
      return StringRef(name).starts_with(each.prefix) &&
             StringRef(padded).contains("." + each.name + ".");
    });
    if (unit == units.end()) {
      add(name, std::move(tensor));
      continue;
    }
    const size_t at = name.find(unit->name, unit->prefix.size());
    for (const Member &member : unit->members) {
      std::string form = name.substr(unit->prefix.size());
      form.replace(at - unit->prefix.size(), unit->name.size(),
                   nameOf(member).str());
      if (!add(std::move(form), join(*unit, member, tensor)))
        return failure();
    }
  }
  values = std::move(unpacked);
  return success();
}

} // namespace zc::interpreter
