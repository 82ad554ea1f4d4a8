//===- Replicas.cpp - the roles that compute one micro-batch --------------===//
#include "compiler/Interpreter/Replicas.h"

#include "compiler/Interpreter/Turns.h"
#include "dialects/Train/TrainDialect.h"
#include "passes/Analysis/Messages.h"

#include <map>
#include <numeric>

using namespace mlir;

namespace zc::interpreter {

static int64_t numberOf(ModuleOp role, StringRef name, int64_t otherwise) {
  auto number = role->getAttrOfType<IntegerAttr>(name);
  return number ? number.getInt() : otherwise;
}

FailureOr<int64_t> countTurns(ModuleOp module) {
  constexpr StringLiteral kCount = "micro_batch";
  int64_t turns = 1;
  for (ModuleOp role : module.getOps<ModuleOp>()) {
    const int64_t own = numberOf(role, kTurnsAttr, 1);
    if (own > 1 && role.lookupSymbol<train::StateOp>(kCount))
      return role.emitOpError("draws numbers by the micro-batch, which "
                              "replicas of a stage count each for itself; the "
                              "interpreter counts them together");
    turns = std::lcm(turns, own);
  }
  return turns;
}

/// Both ends of a message, between roles that are numbered anew.
static DictionaryAttr renumber(DictionaryAttr attribute, int64_t number,
                               const std::map<int64_t, int64_t> &places) {
  MessageEnd end = MessageEnd::from(attribute);
  const int64_t turn = number % end.peers;
  end.id += turn * end.step;
  end.peer = places.at(end.peer + turn);
  end.peers = 1;
  return end.toAttr(attribute.getContext());
}

static void renumberMessages(func::FuncOp program, int64_t number,
                             const std::map<int64_t, int64_t> &places) {
  for (unsigned i = 0; i < program.getNumArguments(); ++i)
    if (auto end =
            program.getArgAttrOfType<DictionaryAttr>(i, train::kReceiveAttr))
      program.setArgAttr(i, train::kReceiveAttr, renumber(end, number, places));
  for (unsigned i = 0; i < program.getNumResults(); ++i)
    if (auto end =
            program.getResultAttrOfType<DictionaryAttr>(i, train::kSendAttr))
      program.setResultAttr(i, train::kSendAttr, renumber(end, number, places));
}

/// The mesh with so many roles.
static dist::MeshAttr withRoles(dist::MeshAttr mesh, int64_t roles) {
  SmallVector<int64_t> sizes(mesh.getSizes());
  sizes[mesh.findAxis(kRoleAxis)] = roles;
  return dist::MeshAttr::get(mesh.getContext(), mesh.getNames(), sizes);
}

OwningOpRef<ModuleOp> takeActiveRoles(ModuleOp module, int64_t number) {
  OwningOpRef<ModuleOp> active = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(active->getBody());
  std::map<int64_t, int64_t> places; // of roles among these
  SmallVector<ModuleOp> roles;
  for (ModuleOp role : module.getOps<ModuleOp>()) {
    if (!role->hasAttr(train::kRoleAttr) ||
        number % numberOf(role, kTurnsAttr, 1) != numberOf(role, kTurnAttr, 0))
      continue;
    places[numberOf(role, train::kRoleAttr, 0)] = int64_t(roles.size());
    roles.push_back(cast<ModuleOp>(builder.clone(*role)));
  }
  for (ModuleOp role : roles) {
    role->setAttr(dist::kMeshAttr,
                  withRoles(dist::getMesh(role), roles.size()));
    for (auto program :
         llvm::make_early_inc_range(role.getOps<func::FuncOp>())) {
      if (program.getSymName() == train::kMicroProgram)
        renumberMessages(program, number, places);
      else
        program.erase();
    }
  }
  return active;
}

} // namespace zc::interpreter
