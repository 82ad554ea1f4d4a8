//===- RingExport.cpp - what micro-batches keep, as plan messages ---------===//
#include "compiler/Export/RingExport.h"

#include "compiler/Export/ExportTypes.h"
#include "dialects/Onnx/Location.h"
#include "dialects/Sched/SchedDialect.h"
#include "passes/Analysis/Messages.h"
#include "passes/Analysis/Rings.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

using namespace mlir;

namespace zc {

static DictionaryAttr getRings(ModuleOp role) {
  return role->getAttrOfType<DictionaryAttr>(sched::kRingsAttr);
}

uint32_t getRingIndex(train::StateOp state) {
  StringAttr name = state.getRingAttr();
  DictionaryAttr rings = getRings(state->getParentOfType<ModuleOp>());
  for (auto [index, ring] : llvm::enumerate(rings))
    if (ring.getName() == name)
      return uint32_t(index);
  llvm_unreachable("a flight state whose ring has no place");
}

/// Rings of tensors in transit are communication; others are activations.
static plan::MemoryClass getRingClass(StringRef name) {
  return isTransitRing(name) ? plan::COMMUNICATION : plan::ACTIVATIONS;
}

/// The node that computes the value, for people.
static std::string getValueName(train::StateOp state) {
  auto origin = onnx::getOrigin(state.getLoc());
  return origin ? origin->node.str() : state.getSymName().str();
}

/// The message with one of the end's peers.
static void addMessage(train::StateOp state, DictionaryAttr attribute,
                       int64_t peer, plan::Role &role) {
  const MessageEnd end = MessageEnd::from(attribute);
  plan::Message &message = *role.add_messages();
  message.set_id(uint32_t(end.id + peer * end.step));
  message.set_peer(uint32_t(end.peer + peer));
  message.set_sends(attribute.contains(kSendsKey));
  message.set_gradient(end.isGradient);
  StringRef ring = *state.getRing();
  message.set_eval(isEvalRing(ring));
  message.set_chunk(uint32_t(end.chunk));
  message.set_name(getValueName(state));
  message.set_ring(getRingIndex(state));
  message.set_offset(*state.getOffset());
  *message.mutable_type() = getTensorType(state.getTensorType());
}

/// A role and a replica of another stage meet where they compute one
/// micro-batch.
static void addMessages(train::StateOp state, DictionaryAttr attribute,
                        plan::Role &role) {
  const int64_t peers = MessageEnd::from(attribute).peers;
  const int64_t turns = std::max(1u, role.turns());
  for (int64_t peer = 0; peer < peers; ++peer)
    if ((peer - int64_t(role.turn())) % std::gcd(peers, turns) == 0)
      addMessage(state, attribute, peer, role);
}

void addRingsAndMessages(ModuleOp role, plan::Role &message) {
  if (auto turns = role->getAttrOfType<IntegerAttr>(kTurnsAttr)) {
    message.set_turns(uint32_t(turns.getInt()));
    message.set_turn(
        uint32_t(role->getAttrOfType<IntegerAttr>(kTurnAttr).getInt()));
  }
  if (DictionaryAttr rings = getRings(role))
    for (NamedAttribute ring : rings) {
      plan::Ring &added = *message.add_rings();
      added.set_name(ring.getName().str());
      added.set_slot_bytes(cast<IntegerAttr>(ring.getValue()).getInt());
      added.set_offloaded(isOffloadedRing(ring.getName().getValue()));
      added.set_memory_class(getRingClass(ring.getName().getValue()));
    }
  for (train::StateOp state : role.getOps<train::StateOp>())
    if (ArrayAttr ends = state.getMessagesAttr())
      for (auto end : ends.getAsRange<DictionaryAttr>())
        addMessages(state, end, message);
  // Both ends have a line's messages in one order.
  std::sort(message.mutable_messages()->begin(),
            message.mutable_messages()->end(),
            [](const plan::Message &a, const plan::Message &b) {
              return a.id() < b.id();
            });
}

void nameMessages(plan::Manifest &manifest) {
  std::map<uint32_t, std::string> values; // by the number of the activation
  for (const plan::Role &role : manifest.roles())
    for (const plan::Message &message : role.messages())
      if (!message.gradient() && !message.sends())
        values[message.id()] = message.name();
  for (plan::Role &role : *manifest.mutable_roles())
    for (plan::Message &message : *role.mutable_messages())
      if (auto value = values.find(message.id() - message.gradient());
          value != values.end())
        message.set_name(value->second);
}

void numberLines(plan::Manifest &manifest) {
  // From, to, gradient, and which stages of the roles.
  using Key = std::tuple<uint32_t, uint32_t, bool, uint32_t, uint32_t>;
  std::map<Key, uint32_t> lines;
  std::map<uint32_t, Key> keys; // by message
  for (int role = 0; role < manifest.roles_size(); ++role)
    for (const plan::Message &message : manifest.roles(role).messages()) {
      Key &key = keys[message.id()];
      if (message.sends())
        key = {uint32_t(role), message.peer(), message.gradient(),
               message.chunk(), std::get<4>(key)};
      else
        std::get<4>(key) = message.chunk();
    }
  for (const auto &[message, key] : keys)
    lines.try_emplace(key, 0);
  uint32_t count = 0;
  for (auto &[key, line] : lines)
    line = count++;
  for (plan::Role &role : *manifest.mutable_roles())
    for (plan::Message &message : *role.mutable_messages())
      message.set_line(lines.at(keys.at(message.id())));
}

} // namespace zc
