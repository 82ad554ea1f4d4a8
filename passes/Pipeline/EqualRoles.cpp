//===- EqualRoles.cpp - roles that are compiled once ----------------------===//
#include "passes/Pipeline/EqualRoles.h"

#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "passes/Analysis/Messages.h"
#include "passes/Analysis/Roles.h"
#include "passes/Pipeline/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

/// Attributes of a state's initial value; passes only ask if there is one.
constexpr StringLiteral kStored[] = {"source", "value", "aliases"};

/// Walks over two roles side by side.
class RoleComparer {
public:
  explicit RoleComparer(RoleDifference &difference) : difference(difference) {}

  bool run(ModuleOp role, ModuleOp other) {
    NamedAttrList attributes(role->getAttrDictionary());
    NamedAttrList others(other->getAttrDictionary());
    for (StringRef name : {StringRef("sym_name"), StringRef(kRoleAttr),
                           StringRef(kInFlightAttr)}) {
      attributes.erase(name);
      others.erase(name);
    }
    return attributes.getDictionary(role.getContext()) ==
               others.getDictionary(role.getContext()) &&
           areEqual(role.getBodyRegion(), other.getBodyRegion());
  }

private:
  bool areEqual(Region &region, Region &other) {
    if (region.getBlocks().size() != other.getBlocks().size())
      return false;
    for (auto [block, same] : llvm::zip(region, other)) {
      if (block.getArgumentTypes() != same.getArgumentTypes() ||
          block.getOperations().size() != same.getOperations().size())
        return false;
      for (auto [a, b] : llvm::zip(block.getArguments(), same.getArguments())) {
        values[a] = b;
        if (!areEqual(a.getLoc(), b.getLoc()))
          return false;
      }
      for (auto [a, b] : llvm::zip(block, same))
        if (!areEqual(a, b))
          return false;
    }
    return true;
  }

  static bool isHeldBySeveral(Operation &op) {
    auto state = dyn_cast<StateOp>(op);
    return state && state.getHolders();
  }

  bool areEqual(Operation &op, Operation &other) {
    if (op.getName() != other.getName() ||
        op.getNumOperands() != other.getNumOperands() ||
        op.getResultTypes() != other.getResultTypes() ||
        op.getNumRegions() != other.getNumRegions() || isHeldBySeveral(op) ||
        isHeldBySeveral(other) || !areEqual(op.getLoc(), other.getLoc()))
      return false;
    for (auto [a, b] : llvm::zip(op.getOperands(), other.getOperands()))
      if (values.lookup(a) != b)
        return false;
    for (auto [a, b] : llvm::zip(op.getResults(), other.getResults()))
      values[a] = b;
    NamedAttrList attributes(op.getAttrDictionary());
    NamedAttrList others(other.getAttrDictionary());
    if (auto state = dyn_cast<StateOp>(op);
        state && !takeStored(attributes, others, state))
      return false;
    if (!areEqual(attributes.getDictionary(op.getContext()),
                  others.getDictionary(op.getContext())))
      return false;
    for (auto [a, b] : llvm::zip(op.getRegions(), other.getRegions()))
      if (!areEqual(a, b))
        return false;
    return true;
  }

  /// A constant's value stays: passes may look at it.
  static bool takeStored(NamedAttrList &attributes, NamedAttrList &others,
                         StateOp state) {
    if (state.getKind() == kConstant && attributes.get("value"))
      return true;
    for (StringRef name : kStored)
      if (bool(attributes.erase(name)) != bool(others.erase(name)))
        return false;
    return true;
  }

  bool areEqual(Attribute attribute, Attribute other) {
    if (attribute == other && !attribute)
      return true;
    if (!attribute || !other || attribute.getTypeID() != other.getTypeID())
      return false;
    if (auto text = dyn_cast<StringAttr>(attribute))
      return difference.names.add(text.getValue(),
                                  cast<StringAttr>(other).getValue());
    if (auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute))
      return difference.names.add(symbol.getValue(),
                                  cast<FlatSymbolRefAttr>(other).getValue());
    if (auto list = dyn_cast<ArrayAttr>(attribute)) {
      auto same = cast<ArrayAttr>(other);
      return list.size() == same.size() &&
             llvm::all_of(llvm::zip(list, same), [&](auto pair) {
               return areEqual(std::get<0>(pair), std::get<1>(pair));
             });
    }
    if (auto dictionary = dyn_cast<DictionaryAttr>(attribute))
      return areEqual(dictionary, cast<DictionaryAttr>(other));
    if (auto location = dyn_cast<LocationAttr>(attribute))
      return areEqualPlaces(location, cast<LocationAttr>(other));
    return attribute == other;
  }

  bool areEqual(DictionaryAttr dictionary, DictionaryAttr other) {
    if (dictionary.size() != other.size())
      return false;
    for (auto [a, b] : llvm::zip(dictionary, other)) {
      if (a.getName() != b.getName())
        return false;
      bool isMessage = a.getName() == kSendAttr || a.getName() == kReceiveAttr;
      if (isMessage ? !addMessage(cast<DictionaryAttr>(a.getValue()),
                                  cast<DictionaryAttr>(b.getValue()))
                    : !areEqual(a.getValue(), b.getValue()))
        return false;
    }
    return true;
  }

  /// Both ends of a line order its messages by their numbers.
  bool addMessage(DictionaryAttr attribute, DictionaryAttr otherAttribute) {
    const MessageEnd end = MessageEnd::from(attribute);
    const MessageEnd other = MessageEnd::from(otherAttribute);
    // Replicas hold their parameters together, and are compared no further.
    if (end.peers != other.peers || end.step != other.step)
      return false;
    auto [known, isNew] =
        difference.messages.try_emplace(end.id, other.id, other.peer);
    for (auto &[id, changed] : difference.messages)
      if ((id < end.id) != (changed.first < other.id))
        return false;
    // Messages that share a line here share one there.
    auto [peer, isNewPeer] = peers.try_emplace(end.peer, other.peer);
    return isNew && peer->second == other.peer &&
           end.hasGradient == other.hasGradient &&
           end.isGradient == other.isGradient;
  }

  bool areEqualPlaces(LocationAttr place, LocationAttr other) {
    if (auto named = dyn_cast<NameLoc>(place)) {
      auto same = cast<NameLoc>(other);
      return areEqual(Attribute(named.getName()), Attribute(same.getName())) &&
             areEqual(Attribute(named.getChildLoc()),
                      Attribute(same.getChildLoc()));
    }
    if (auto fused = dyn_cast<FusedLoc>(place)) {
      auto same = cast<FusedLoc>(other);
      if (fused.getLocations().size() != same.getLocations().size() ||
          fused.getMetadata() != same.getMetadata())
        return false;
      for (auto [a, b] : llvm::zip(fused.getLocations(), same.getLocations()))
        if (!areEqual(Attribute(a), Attribute(b)))
          return false;
      return true;
    }
    return place == other;
  }
  bool areEqual(Location place, Location other) {
    return areEqual(Attribute(place), Attribute(other));
  }

  RoleDifference &difference;
  DenseMap<Value, Value> values;
  std::map<int64_t, int64_t> peers;
};

/// Makes of a compiled role the one that `original` would have become.
class RoleMaker {
public:
  RoleMaker(ModuleOp role, ModuleOp original, const RoleDifference &difference)
      : role(role), original(original), difference(difference) {}

  void run() {
    AttrTypeReplacer names;
    names.addReplacement([&](StringAttr text) -> std::optional<Attribute> {
      std::string changed = difference.names.apply(text.getValue());
      return text.getValue() == changed
                 ? text
                 : StringAttr::get(text.getContext(), changed);
    });
    names.recursivelyReplaceElementsIn(role, /*replaceAttrs=*/true,
                                       /*replaceLocs=*/true);
    for (StringRef name : {StringRef("sym_name"), StringRef(kRoleAttr),
                           StringRef(kInFlightAttr)})
      if (Attribute value = original->getAttr(name))
        role->setAttr(name, value);
    role->setLoc(original.getLoc());
    role.walk([&](StateOp state) {
      restore(state);
      changeMessages(state);
    });
  }

private:
  /// States that only passes have made hold what they made them of.
  void restore(StateOp state) {
    auto from = original.lookupSymbol<StateOp>(state.getSymName());
    if (!from)
      return;
    for (StringRef name : kStored)
      if (Attribute value = from->getAttr(name))
        state->setAttr(name, value);
  }

  void changeMessages(StateOp state) {
    ArrayAttr ends = state.getMessagesAttr();
    if (!ends)
      return;
    Builder builder(state.getContext());
    SmallVector<Attribute> changed;
    for (auto end : ends.getAsRange<DictionaryAttr>()) {
      const MessageEnd old = MessageEnd::from(end);
      // The gradient of an activation has the number behind the activation's.
      const int64_t behind = old.isGradient ? 1 : 0;
      auto [id, peer] = difference.messages.at(old.id - behind);
      NamedAttrList list(end);
      list.set("id", builder.getI64IntegerAttr(id + behind));
      list.set("peer", builder.getI64IntegerAttr(peer));
      changed.push_back(list.getDictionary(builder.getContext()));
    }
    state.setMessagesAttr(builder.getArrayAttr(changed));
  }

  ModuleOp role, original;
  const RoleDifference &difference;
};

int64_t getNumber(ModuleOp role) {
  return role->getAttrOfType<IntegerAttr>(kRoleAttr).getInt();
}

} // namespace

std::optional<RoleDifference> compareRoles(ModuleOp role, ModuleOp other) {
  RoleDifference difference;
  difference.names.setRoles(getNumber(role), getNumber(other));
  if (!RoleComparer(difference).run(role, other))
    return std::nullopt;
  return difference;
}

void EqualRoles::takeOut(ModuleOp module) {
  SmallVector<ModuleOp> kept;
  for (ModuleOp role : getRoles(module)) {
    std::optional<RoleDifference> difference;
    auto like = llvm::find_if(kept, [&](ModuleOp other) {
      difference = compareRoles(other, role);
      return difference.has_value();
    });
    if (like == kept.end()) {
      kept.push_back(role);
      continue;
    }
    role->remove();
    taken.push_back({getNumber(*like), OwningOpRef<ModuleOp>(role),
                     std::move(*difference)});
  }
}

void EqualRoles::putBack(ModuleOp module) {
  if (taken.empty())
    return;
  std::map<int64_t, ModuleOp> roles;
  for (ModuleOp role : getRoles(module))
    roles[getNumber(role)] = role;
  for (Taken &each : taken) {
    ModuleOp copy = roles.at(each.like).clone();
    RoleMaker(copy, *each.role, each.difference).run();
    roles[getNumber(copy)] = copy;
  }
  for (auto &[number, role] : roles) {
    if (role->getBlock())
      role->remove();
    module.push_back(role);
  }
  taken.clear();
}

} // namespace zc
