//===- CutProgram.cpp - one program of a role becomes several -------------===//
#include "passes/Pipeline/CutProgram.h"

#include "dialects/Sched/SchedDialect.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/RolePrograms.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Analysis/ProgramParts.h"
#include "passes/Analysis/Rings.h"
#include "passes/Analysis/Views.h"
#include "passes/Pipeline/FlightStates.h"
#include "passes/Scheduling/TrainProgram.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

#include <set>

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

/// One part of the program while it is built.
struct Part {
  func::FuncOp program;
  IRMapping mapping;
  std::optional<OpBuilder> builder; // in front of the program's end
};

class ProgramCutter {
public:
  ProgramCutter(func::FuncOp whole)
      : whole(whole), block(whole.getBody().front()),
        isEval(whole.getSymName() == kEvalProgram), parts(whole, !isEval),
        states(cast<ModuleOp>(whole->getParentOp())),
        built(parts.getParts().size()) {}

  FailureOr<unsigned> run() {
    if (auto result = parts.findTooEarly()) {
      Operation *op =
          block.getTerminator()->getOperand(*result).getDefiningOp();
      return op->emitError("is needed by the forward, but reads a gradient");
    }
    for (unsigned i = 0; i < whole.getNumResults(); ++i)
      partOfResults.push_back(parts.partOfResult(i));
    joinLocalMessages();
    bindMessages();
    findHomes();
    for (unsigned part = 1; part < built.size(); ++part)
      build(part);
    trimFirst();
    namePrograms();
    placeStates();
    return stashed;
  }

private:
  // --- Messages

  /// Removes messages between two stages of this role.
  void joinLocalMessages() {
    auto role = whole->getParentOp()->getAttrOfType<IntegerAttr>(kRoleAttr);
    for (unsigned argument = 0; argument < whole.getNumArguments();) {
      auto end = getReceived(whole, argument);
      std::optional<unsigned> result = end && role && end->peer == role.getInt()
                                           ? findSent(end->id)
                                           : std::nullopt;
      if (!result) {
        ++argument;
        continue;
      }
      whole.getArgument(argument).replaceAllUsesWith(
          block.getTerminator()->getOperand(*result));
      drop(*result);
      (void)whole.eraseArgument(argument);
    }
  }

  std::optional<unsigned> findSent(int64_t id) {
    for (unsigned result = 0; result < whole.getNumResults(); ++result)
      if (auto end = getSent(whole, result); end && end->id == id)
        return result;
    return std::nullopt;
  }

  void drop(unsigned result) {
    eraseResult(whole, result);
    partOfResults.erase(partOfResults.begin() + result);
  }

  /// A value that several roles read lies in one place.
  void bindMessages() {
    for (unsigned i = 0; i < whole.getNumArguments(); ++i)
      if (auto end = getReceived(whole, i))
        states.receive(whole, i, *end);
    llvm::MapVector<std::pair<Value, unsigned>, StateOp> sent;
    for (unsigned i = 0; i < whole.getNumResults();) {
      auto end = getSent(whole, i);
      if (!end) {
        ++i;
        continue;
      }
      Value value = block.getTerminator()->getOperand(i);
      StateOp &state = sent[{value, partOfResults[i]}];
      if (!state)
        state = states.add(value);
      states.send(state, *end);
      drop(i);
    }
    for (auto &[key, state] : sent) {
      auto [value, part] = key;
      addResult(whole, value, bindTo(state));
      partOfResults.push_back(part);
      // Views of a message are read from the message's memory.
      Value root = getTensorRoot(value);
      Operation *op = root.getDefiningOp();
      if (op && parts.partOf(op) == part && !isPart(value))
        places.try_emplace(root, state);
    }
  }

  // --- Where values are

  /// The part in which an argument has its value first, and where a state that
  /// is updated has its old value last.
  void findHomes() {
    for (auto [index, part] : llvm::enumerate(partOfResults))
      if (FlatSymbolRefAttr state = getResultState(whole, index))
        updatedIn[state] = part;
    for (BlockArgument argument : whole.getArguments()) {
      unsigned first = built.size() - 1;
      for (OpOperand &use : argument.getUses()) {
        Operation *user = use.getOwner();
        first = std::min(first, user->hasTrait<OpTrait::IsTerminator>()
                                    ? partOfResults[use.getOperandNumber()]
                                    : parts.partOf(user));
      }
      // Samples are fed to forwards.
      if (!isEval)
        first = std::min<unsigned>(first, countForwards() - 1);
      homes[argument] = first;
    }
  }

  unsigned countForwards() {
    return llvm::count_if(parts.getParts(), [](const ProgramPart &part) {
      return part.kind == PartKind::Forward;
    });
  }

  unsigned homeOf(Value value) {
    if (Operation *op = value.getDefiningOp())
      return parts.partOf(op);
    auto argument = cast<BlockArgument>(value);
    FlatSymbolRefAttr state = getArgumentState(argument);
    return state ? updatedIn.at(state) : homes.at(argument);
  }

  /// The program's argument for a state that no part in front of `part`
  /// updates, or for an input that is fed to it; null for others.
  Value takeArgument(BlockArgument argument, unsigned part) {
    func::FuncOp program = built[part].program;
    if (FlatSymbolRefAttr state = getArgumentState(argument)) {
      auto updated = updatedIn.find(state);
      if (updated != updatedIn.end() && updated->second < part)
        return nullptr;
      return part ? getStateArgument(program, findState(argument)) : argument;
    }
    if (homes.at(argument) != part)
      return nullptr;
    if (part == 0)
      return argument;
    DictionaryAttr attributes = whole.getArgAttrDict(argument.getArgNumber());
    return addArgument(program, argument.getType(),
                       attributes ? attributes.getValue()
                                  : ArrayRef<NamedAttribute>(),
                       argument.getLoc());
  }

  /// Whether it follows from states alone: gathered parameters, tables.
  bool isOfStates(Operation *op) {
    auto [found, isNew] = ofStates.try_emplace(op, false);
    if (!isNew)
      return found->second;
    bool all = llvm::all_of(op->getOperands(), [&](Value operand) {
      auto argument = dyn_cast<BlockArgument>(operand);
      if (!argument)
        return isOfStates(operand.getDefiningOp());
      FlatSymbolRefAttr state = getArgumentState(argument);
      return state && !updatedIn.contains(state) &&
             findState(argument).getKind() != kFlight;
    });
    return ofStates[op] = all;
  }

  /// Whether it is a view of a value that has a place, or of all of its root.
  bool viewsKept(Operation *op) {
    if (!getViewed(op))
      return false;
    Value root = getTensorRoot(op->getResult(0));
    return !isPart(op->getResult(0)) || places.contains(root);
  }

  // --- Building

  void build(unsigned part) {
    Part &made = built[part];
    OpBuilder builder(whole);
    builder.setInsertionPointAfter(part == 1 ? whole : built[part - 1].program);
    made.program = func::FuncOp::create(builder, whole.getLoc(),
                                        "part." + std::to_string(part),
                                        builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(made.program.addEntryBlock());
    made.builder.emplace(func::ReturnOp::create(builder, whole.getLoc()));
    for (Operation &op : block.without_terminator())
      if (parts.partOf(&op) == part)
        clone(&op, part);
    for (auto [index, owner] : llvm::enumerate(partOfResults))
      if (owner == part)
        addResult(made.program,
                  resolve(block.getTerminator()->getOperand(index), part),
                  whole.getResultAttrDict(index).getValue());
  }

  /// Views may stand behind what reads them once messages are joined.
  Operation *clone(Operation *op, unsigned part) {
    Part &made = built[part];
    if (op->getNumResults() && made.mapping.contains(op->getResult(0)))
      return made.mapping.lookup(op->getResult(0)).getDefiningOp();
    for (Value operand : op->getOperands())
      (void)resolve(operand, part);
    return made.builder->clone(*op, made.mapping);
  }

  Value resolve(Value value, unsigned part) {
    IRMapping &mapping = built[part].mapping;
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Value made;
    Operation *op = value.getDefiningOp();
    if (op && (parts.partOf(op) == part || isOfStates(op) || viewsKept(op)))
      return clone(op, part)->getResult(
          cast<OpResult>(value).getResultNumber());
    if (auto argument = dyn_cast<BlockArgument>(value))
      made = takeArgument(argument, part);
    if (!made)
      made = readStash(value, part);
    mapping.map(value, made);
    return made;
  }

  /// Whether it lies in the second memory until a later part reads it.
  static bool isOffloaded(Value value) {
    auto root = dyn_cast<OpResult>(getTensorRoot(value));
    auto region = root ? dyn_cast<FusedOp>(root.getOwner()) : FusedOp();
    return region && llvm::is_contained(region.getOffloaded(),
                                        int64_t(root.getResultNumber()));
  }

  /// The part's argument for what an earlier one has.
  Value readStash(Value value, unsigned part) {
    StateOp state = places.lookup(value);
    if (!state) {
      places[value] = state = states.add(value);
      state.setOffloaded(isOffloaded(value));
      kept.push_back({value, state, homeOf(value)});
      ++stashed;
    }
    Part &made = built[part];
    Value argument = getStateArgument(made.program, state);
    if (argument.getType() == value.getType())
      return argument;
    return ReshapeOp::create(*made.builder, value.getLoc(), value.getType(),
                             argument);
  }

  /// The first part stays where the whole was.
  void trimFirst() {
    built[0].program = whole;
    // A part writes what it finds out to be read: of earlier parts, which may
    // in turn ask earlier ones.
    for (size_t i = 0; i < kept.size(); ++i) {
      Kept each = kept[i];
      if (each.home > 0)
        addResult(built[each.home].program, resolve(each.value, each.home),
                  bindTo(each.state));
    }
    for (unsigned i = whole.getNumResults(); i > 0; --i)
      if (partOfResults[i - 1] != 0)
        drop(i - 1);
    for (const Kept &each : kept)
      if (each.home == 0)
        addResult(whole, each.value, bindTo(each.state));
    if (built.size() == 1)
      return;
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      if (parts.partOf(&op) != 0) {
        op.dropAllUses();
        op.erase();
      }
    eraseUnusedArguments(whole);
  }

  // --- Names

  static bool isEmpty(func::FuncOp program) {
    return program.getNumResults() == 0;
  }

  void namePrograms() {
    for (auto [index, part] : llvm::enumerate(parts.getParts())) {
      func::FuncOp program = built[index].program;
      if (isEmpty(program)) {
        program.erase();
        built[index].program = nullptr;
        continue;
      }
      StringRef name = isEval ? StringRef(kEvalProgram)
                       : part.kind == PartKind::Forward
                           ? StringRef(kForwardProgram)
                           : StringRef(kBackwardProgram);
      // Where no gradient is sent on, there is nothing to split off.
      if (part.kind == PartKind::Weights && built[index - 1].program)
        name = kWeightsProgram;
      program.setSymName(countChunks(program->getParentOp()) == 1
                             ? name.str()
                             : (name + "." + Twine(part.chunk)).str());
    }
  }

  /// The rings follow from who uses what.
  void placeStates() {
    llvm::DenseMap<Attribute, std::set<unsigned>> users;
    for (auto [index, part] : llvm::enumerate(built)) {
      if (!part.program)
        continue;
      for (BlockArgument argument : part.program.getArguments())
        if (FlatSymbolRefAttr state = getArgumentState(argument))
          users[state].insert(index);
      for (unsigned i = 0; i < part.program.getNumResults(); ++i)
        if (FlatSymbolRefAttr state = getResultState(part.program, i))
          users[state].insert(index);
    }
    for (FlightStates::Flight &flight : states.getAll()) {
      const std::set<unsigned> &own =
          users[FlatSymbolRefAttr::get(flight.state.getSymNameAttr())];
      StringRef space = flight.state.getOffloaded() ? kOffloadedRing : "";
      setRing(flight.state, space + kindOf(flight, own) + suffixOf(own));
    }
  }

  StringRef kindOf(const FlightStates::Flight &flight,
                   const std::set<unsigned> &users) {
    const bool crossesAlone = flight.isMessage && users.size() <= 1;
    const bool arrives = flight.isMessage && !flight.isSent;
    if (isEval)
      return crossesAlone ? (arrives ? kEvalIn : kEvalOut)
                          : (arrives ? kEvalKept : kEvalStash);
    const bool isGradient =
        flight.isMessage
            ? flight.isGradient
            : !users.empty() &&
                  parts.getParts()[*users.begin()].kind != PartKind::Forward;
    if (isGradient)
      return crossesAlone ? (arrives ? kGradientsIn : kGradientsOut)
                          : (arrives ? kGradientsKept : kGradientStash);
    return crossesAlone ? (arrives ? kActivationsIn : kActivationsOut)
                        : (arrives ? kActivationsKept : kStash);
  }

  /// None where a role has one stage, and a forward and a backward of it.
  std::string suffixOf(const std::set<unsigned> &users) {
    const int64_t chunks = countChunks(whole->getParentOp());
    std::string suffix;
    bool splits = false;
    for (unsigned user : users) {
      const ProgramPart &part = parts.getParts()[user];
      suffix += "fbw"[int(part.kind)];
      if (chunks > 1)
        suffix += std::to_string(part.chunk);
      splits |= part.kind == PartKind::Weights;
    }
    return chunks > 1 || splits ? "." + suffix : "";
  }

  struct Kept {
    Value value;
    StateOp state;
    unsigned home;
  };

  func::FuncOp whole;
  Block &block;
  const bool isEval;
  ProgramParts parts;
  FlightStates states;
  std::vector<Part> built;
  SmallVector<unsigned> partOfResults;
  DenseMap<Value, unsigned> homes;         // of arguments
  DenseMap<Attribute, unsigned> updatedIn; // states
  DenseMap<Operation *, bool> ofStates;
  DenseMap<Value, StateOp> places; // of roots that outlive their part
  SmallVector<Kept> kept;
  unsigned stashed = 0;
};

} // namespace

FailureOr<unsigned> cutProgram(func::FuncOp program) {
  return ProgramCutter(program).run();
}

void bindMessages(func::FuncOp program) {
  FlightStates states(cast<ModuleOp>(program->getParentOp()));
  for (unsigned i = 0; i < program.getNumArguments(); ++i)
    if (auto end = getReceived(program, i))
      setRing(states.receive(program, i, *end), kActivationsIn);
  llvm::MapVector<Value, StateOp> sent;
  for (unsigned i = 0; i < program.getNumResults();) {
    auto end = getSent(program, i);
    if (!end) {
      ++i;
      continue;
    }
    StateOp &state =
        sent[program.getBody().front().getTerminator()->getOperand(i)];
    if (!state)
      setRing(state = states.add(
                  program.getBody().front().getTerminator()->getOperand(i)),
              kGradientsOut);
    states.send(state, *end);
    eraseResult(program, i);
  }
  for (auto &[value, state] : sent)
    addResult(program, value, bindTo(state));
}

} // namespace zc
