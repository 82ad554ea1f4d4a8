//===- SplitStages.cpp - --zc-split-stages --------------------------------===//
//
// The forward is cut, not the backward: each role then builds the gradients of
// its own part, for which it knows which op belongs to which pass.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Analysis/Messages.h"
#include "passes/Analysis/ProgramParts.h"
#include "passes/Autodiff/ExpertMetrics.h"
#include "passes/Autodiff/LayerMetrics.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipeline/StageCrossings.h"
#include "passes/Sharding/Layout.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_SPLITSTAGESPASS
#include "passes/Pipeline/Passes.h.inc"

namespace {

/// One role's part of one program.
class PartBuilder {
public:
  PartBuilder(func::FuncOp program, ModuleOp role, int64_t number,
              ArrayRef<StagePlace> places, ArrayRef<Crossing> crossings)
      : program(program), number(number), places(places), crossings(crossings),
        builder(OpBuilder::atBlockEnd(role.getBody())),
        mappings(places.size()) {}

  func::FuncOp run() {
    part = func::FuncOp::create(builder, program.getLoc(), program.getSymName(),
                                builder.getFunctionType({}, {}));
    Block *body = part.addEntryBlock();
    builder.setInsertionPointToStart(body);
    func::ReturnOp::create(builder, program.getLoc());
    builder.setInsertionPoint(body->getTerminator());
    Block &block = program.getBody().front();
    for (Operation &op : block.without_terminator())
      if (op.getNumResults() && isOwn(stageOf(op.getResult(0))))
        clone(&op, stageOf(op.getResult(0)));
    takeResults();
    for (const Crossing &crossing : crossings)
      if (isOwn(crossing.from))
        send(crossing);
    return part;
  }

private:
  bool isOwn(int64_t stage) const {
    return stage >= 0 && number >= places[stage].role &&
           number < places[stage].role + places[stage].replicas;
  }
  /// The number of this role among the stage's replicas.
  int64_t turnOf(int64_t stage) const { return number - places[stage].role; }

  /// For an op of `stage`; values without a stage are computed there, too.
  Value resolve(Value value, int64_t stage) {
    if (Value known = mappings[stage].lookupOrNull(value))
      return known;
    Value made;
    if (auto argument = dyn_cast<BlockArgument>(value))
      made = takeArgument(argument);
    else if (stageOf(value) < 0)
      return clone(value.getDefiningOp(), stage)
          ->getResult(cast<OpResult>(value).getResultNumber());
    else
      made = receive(value, stage);
    mappings[stage].map(value, made);
    return made;
  }

  Value takeArgument(BlockArgument argument) {
    Value &made = arguments[argument];
    if (!made)
      made = addArgument(
          part, argument.getType(),
          attributesOf(program.getArgAttrDict(argument.getArgNumber())),
          argument.getLoc());
    return made;
  }

  static ArrayRef<NamedAttribute> attributesOf(DictionaryAttr attributes) {
    return attributes ? attributes.getValue() : ArrayRef<NamedAttribute>();
  }

  Operation *clone(Operation *op, int64_t stage) {
    for (Value operand : op->getOperands())
      (void)resolve(operand, stage);
    Operation *made = builder.clone(*op, mappings[stage]);
    made->removeAttr(kStageAttr);
    return made;
  }

  SmallVector<NamedAttribute> endOf(StringRef name, const MessageEnd &end,
                                    const Crossing &crossing) {
    SmallVector<NamedAttribute> attributes = {
        builder.getNamedAttr(name, end.toAttr(builder.getContext()))};
    if (crossing.batchDim)
      attributes.push_back(builder.getNamedAttr(
          kBatchDimAttr, builder.getI64IntegerAttr(*crossing.batchDim)));
    if (crossing.tokenDim)
      attributes.push_back(builder.getNamedAttr(
          kTokenDimAttr, builder.getI64IntegerAttr(*crossing.tokenDim)));
    return attributes;
  }

  Value receive(Value value, int64_t stage) {
    for (const Crossing &crossing : crossings)
      if (crossing.value == value && crossing.to == stage) {
        const StagePlace &from = places[crossing.from];
        MessageEnd end{crossing.id + 2 * turnOf(stage),
                       from.role,
                       crossing.hasGradient,
                       false,
                       places[stage].chunk,
                       from.replicas,
                       2 * places[stage].replicas};
        return addArgument(part, value.getType(),
                           endOf(kReceiveAttr, end, crossing), value.getLoc());
      }
    llvm_unreachable("a value of a later stage, which checkOrder refuses");
  }

  void send(const Crossing &crossing) {
    const StagePlace &to = places[crossing.to];
    MessageEnd end{crossing.id + 2 * turnOf(crossing.from) * to.replicas,
                   to.role,
                   crossing.hasGradient,
                   false,
                   places[crossing.from].chunk,
                   to.replicas,
                   2};
    addResult(part, resolve(crossing.value, crossing.from),
              endOf(kSendAttr, end, crossing));
  }

  /// Results go with the stage that computes them; those of no stage, as sums
  /// over constants, with the last.
  void takeResults() {
    const int64_t last = places.size() - 1;
    Operation *end = program.getBody().front().getTerminator();
    for (auto [index, value] : llvm::enumerate(end->getOperands())) {
      int64_t stage = stageOf(value) < 0 ? last : stageOf(value);
      if (isOwn(stage))
        addResult(part, resolve(value, stage),
                  attributesOf(program.getResultAttrDict(index)));
    }
  }

  func::FuncOp program, part;
  int64_t number;
  ArrayRef<StagePlace> places; // of stages
  ArrayRef<Crossing> crossings;
  OpBuilder builder;
  std::vector<IRMapping> mappings; // of stages
  DenseMap<Value, Value> arguments;
};

struct SplitStages : public impl::SplitStagesPassBase<SplitStages> {
  using SplitStagesPassBase::SplitStagesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto step = module.lookupSymbol<func::FuncOp>(kStepProgram);
    auto seconds = module->getAttrOfType<DenseF64ArrayAttr>(kStageSecondsAttr);
    if (!step || !seconds) {
      module.emitError("expected @step, with stages from --zc-assign-stages");
      return signalPassFailure();
    }
    int64_t stages = seconds.size(), id = 0;
    if (failed(placeStages(stages)))
      return signalPassFailure();
    programs = llvm::to_vector(module.getOps<func::FuncOp>());
    std::vector<std::vector<Crossing>> crossings;
    llvm::for_each(programs, repeatOps);
    for (func::FuncOp program : programs)
      crossings.push_back(findCrossings(program, places, id));
    for (int64_t role = 0; role < int64_t(chunks.size()); ++role)
      buildRole(role, crossings);
    if (failed(shareStates()))
      return signalPassFailure();
    for (func::FuncOp program : programs)
      program.erase();
    for (auto state : llvm::make_early_inc_range(module.getOps<StateOp>()))
      state.erase();
    if (auto members = module.lookupSymbol<ModuleOp>(dist::kUnitModule))
      members.erase();
  }

private:
  LogicalResult placeStages(int64_t stages) {
    if (!roleOfStage.empty() && int64_t(roleOfStage.size()) != stages)
      return getOperation().emitError("expected the roles of ")
             << stages << " stages, found " << roleOfStage.size();
    if (auto dealt = getOperation()->getAttrOfType<DenseI64ArrayAttr>(
            kStageReplicasAttr))
      replicas = llvm::to_vector(dealt.asArrayRef());
    if (!replicas.empty())
      return placeReplicas(stages);
    for (int64_t stage = 0; stage < stages; ++stage) {
      int64_t role = roleOfStage.empty() ? stage : roleOfStage[stage];
      if (role < 0 || role >= stages)
        return getOperation().emitError("stage ")
               << stage << " has role " << role << " of " << stages;
      if (role >= int64_t(chunks.size()))
        chunks.resize(role + 1, 0);
      places.push_back({role, chunks[role]++});
    }
    for (auto [role, count] : llvm::enumerate(chunks))
      if (count == 0)
        return getOperation().emitError("role ") << role << " has no stage";
    return success();
  }

  /// Each stage has as many roles as `replicas` says, one after another.
  LogicalResult placeReplicas(int64_t stages) {
    if (int64_t(replicas.size()) != stages)
      return getOperation().emitError("expected the replicas of ")
             << stages << " stages, found " << replicas.size();
    for (int64_t count : replicas) {
      if (count < 1)
        return getOperation().emitError("a stage has ") << count << " replicas";
      places.push_back({int64_t(chunks.size()), 0, count});
      chunks.append(count, 1);
    }
    return success();
  }

  /// The role's stage, if several roles have it, or null.
  const StagePlace *findReplicated(int64_t number) const {
    for (const StagePlace &place : places)
      if (place.replicas > 1 && number >= place.role &&
          number < place.role + place.replicas)
        return &place;
    return nullptr;
  }

  void buildRole(int64_t number, ArrayRef<std::vector<Crossing>> crossings) {
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto role = ModuleOp::create(builder, getOperation().getLoc(),
                                 "role" + std::to_string(number));
    role->setAttr(kRoleAttr, builder.getI64IntegerAttr(number));
    listMetrics(role);
    if (number < int64_t(inFlight.size()))
      role->setAttr(kInFlightAttr, builder.getI64IntegerAttr(inFlight[number]));
    if (chunks[number] > 1)
      role->setAttr(kChunksAttr, builder.getI64IntegerAttr(chunks[number]));
    if (splitWeights)
      role->setAttr(kSplitsWeightsAttr, builder.getUnitAttr());
    if (keepWhole && number >= places.back().role && chunks[number] == 1)
      role->setAttr(kKeepWholeAttr, builder.getUnitAttr());
    if (const StagePlace *place = findReplicated(number)) {
      role->setAttr(kTurnAttr, builder.getI64IntegerAttr(number - place->role));
      role->setAttr(kTurnsAttr, builder.getI64IntegerAttr(place->replicas));
    }
    for (NamedAttribute attribute : getOperation()->getDiscardableAttrs())
      if (attribute.getName() != kStageSecondsAttr &&
          attribute.getName() != kStageReplicasAttr)
        role->setAttr(attribute.getName(), attribute.getValue());
    for (auto [program, crossing] : llvm::zip(programs, crossings)) {
      // Copies follow the parameters that the step reads.
      if (program.getNumArguments() && isOfStates(program))
        continue;
      PartBuilder(program, role, number, places, crossing).run();
    }
    cloneStates(role);
    for (func::FuncOp program : programs)
      if (program.getNumArguments() && isOfStates(program))
        cloneForStates(program, role);
    roles.push_back(role);
  }

  /// Metrics of layers have the type of the table of all layers.
  void listMetrics(ModuleOp role) {
    NamedAttrList types;
    SmallVector<int64_t> roleOfLayer;
    auto step = getOperation().lookupSymbol<func::FuncOp>(kStepProgram);
    Operation *end = step.getBody().front().getTerminator();
    for (unsigned i = 0; i < step.getNumResults(); ++i) {
      auto name = step.getResultAttrOfType<StringAttr>(i, kMetricAttr);
      if (!name)
        continue;
      Type type = step.getResultTypes()[i];
      StringRef ofLayer = findLayerMetric(name);
      if (ofLayer == kExpertTokens) {
        int64_t stage = stageOf(end->getOperand(i));
        roleOfLayer.push_back((stage < 0 ? places.back() : places[stage]).role);
        auto row = cast<RankedTensorType>(type);
        type = RankedTensorType::get(
            {int64_t(roleOfLayer.size()), row.getDimSize(1)},
            row.getElementType());
      }
      types.set(ofLayer.empty() ? name.getValue() : ofLayer,
                TypeAttr::get(type));
    }
    role->setAttr(kMetricTypesAttr, types.getDictionary(&getContext()));
    if (!roleOfLayer.empty())
      role->setAttr(kLayerRolesAttr,
                    DenseI64ArrayAttr::get(&getContext(), roleOfLayer));
  }

  static bool isOfStates(func::FuncOp program) {
    return llvm::all_of(program.getArguments(), [](BlockArgument argument) {
      return bool(findState(argument));
    });
  }

  // --- States

  void cloneStates(ModuleOp role) {
    llvm::DenseSet<Attribute> used;
    for (auto program : role.getOps<func::FuncOp>()) {
      for (unsigned i = 0; i < program.getNumArguments(); ++i)
        if (Attribute state = program.getArgAttr(i, kStateAttr))
          used.insert(state);
      for (unsigned i = 0; i < program.getNumResults(); ++i)
        if (Attribute state = program.getResultAttr(i, kStateAttr))
          used.insert(state);
    }
    OpBuilder builder = OpBuilder::atBlockBegin(role.getBody());
    for (auto state : getOperation().getOps<StateOp>()) {
      auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
      // Copies are named by what reads them; their parameter goes along.
      bool isMaster = state.getKind() == kParameter && findCopy(state) &&
                      used.contains(FlatSymbolRefAttr::get(
                          findCopy(state).getSymNameAttr()));
      if (used.contains(symbol) || isMaster || isScalar(state)) {
        builder.clone(*state);
        cloneMembers(state, role);
      }
    }
  }

  /// Clones the members of a ZeRO vector: files know tensors by them.
  void cloneMembers(StateOp vector, ModuleOp role) {
    auto members = dist::getUnitMembers(getOperation(), vector.getSymName());
    if (members.empty())
      return;
    OpBuilder builder = OpBuilder::atBlockEnd(role.getBody());
    auto nested = role.lookupSymbol<ModuleOp>(dist::kUnitModule);
    if (!nested)
      nested = ModuleOp::create(builder, role.getLoc(), dist::kUnitModule);
    builder.setInsertionPointToEnd(nested.getBody());
    for (StateOp member : members)
      builder.clone(*member);
  }

  /// The loss scale, counters: every role updates its own, all alike.
  static bool isScalar(StateOp state) { return state.getKind() == kScalar; }

  /// A program that makes some states of others: of the role's alone.
  void cloneForStates(func::FuncOp program, ModuleOp role) {
    OpBuilder builder = OpBuilder::atBlockEnd(role.getBody());
    auto part = cast<func::FuncOp>(builder.clone(*program));
    for (unsigned i = part.getNumResults(); i > 0; --i) {
      auto symbol =
          part.getResultAttrOfType<FlatSymbolRefAttr>(i - 1, kStateAttr);
      if (symbol && !role.lookupSymbol(symbol.getValue()))
        eraseResult(part, i - 1);
    }
    eraseDeadOps(part);
    eraseUnusedArguments(part);
    if (part.getNumResults() == 0)
      part.erase();
  }

  /// Whether a program of the role reads the state, or the copy of it that
  /// 16-bit programs read.
  bool isRead(ModuleOp role, StateOp state, StringRef name) {
    auto program = role.lookupSymbol<func::FuncOp>(name);
    if (!program)
      return false;
    StateOp copy =
        findCopy(getOperation().lookupSymbol<StateOp>(state.getSymName()));
    return findStateArgument(program, state.getSymName()) ||
           (copy && findStateArgument(program, copy.getSymName()));
  }

  /// Whether a program of the role gives the state a new value.
  static bool isUpdated(ModuleOp role, StateOp state) {
    auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
    return llvm::any_of(role.getOps<func::FuncOp>(), [&](func::FuncOp program) {
      for (unsigned i = 0; i < program.getNumResults(); ++i)
        if (program.getResultAttr(i, kStateAttr) == symbol)
          return true;
      return false;
    });
  }

  /// Says which roles hold a parameter together. A role evaluates with the
  /// parameters that it trains.
  LogicalResult shareStates() {
    llvm::MapVector<StringAttr, SmallVector<int64_t>> holders;
    llvm::DenseSet<Attribute> statistics;
    for (auto [number, role] : llvm::enumerate(roles))
      for (auto state : role.getOps<StateOp>()) {
        if (state.getKind() == kParameter)
          holders[state.getSymNameAttr()].push_back(number);
        if (state.getKind() == kStatistic && isUpdated(role, state) &&
            !statistics.insert(state.getSymNameAttr()).second)
          return state.emitError("'")
                 << state.getSymName() << "' is a running statistic of several "
                 << "stages, which would each update a copy; give its nodes "
                 << "one stage with --stages, and no replicas, or freeze it "
                 << "with --batchnorm frozen";
        bool isTrained =
            state.getKind() == kParameter || state.getKind() == kStatistic;
        if (isTrained && isRead(role, state, kEvalProgram) &&
            !isRead(role, state, kStepProgram) && isTrainedElsewhere(state))
          return state.emitError("'")
                 << state.getSymName() << "' is read by the evaluation in role "
                 << number << ", which does not train it; give its nodes one "
                 << "stage with --stages";
      }
    for (auto &[name, numbers] : holders)
      if (numbers.size() > 1)
        for (int64_t number : numbers)
          roles[number].lookupSymbol<StateOp>(name).setHolders(numbers);
    return success();
  }

  bool isTrainedElsewhere(StateOp state) {
    return llvm::any_of(roles, [&](ModuleOp role) {
      return isRead(role, state, kStepProgram);
    });
  }

  SmallVector<func::FuncOp> programs;
  SmallVector<ModuleOp> roles;
  SmallVector<StagePlace> places; // of stages
  SmallVector<int64_t> chunks;    // how many stages a role has
};

} // namespace
} // namespace zc
