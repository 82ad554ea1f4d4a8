//===- SplitPasses.cpp - --zc-split-passes --------------------------------===//
//
// Behind recomputation, so that what is kept is known; in front of scheduling,
// so that each pass gets an order and memory of its own. What outlives a
// program is a state already; what outlives it for one micro-batch is a state
// of kind flight, of which there is one in each slot of a ring.
//
//===----------------------------------------------------------------------===//
#include "dialects/Sched/SchedDialect.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Analysis/ForwardOps.h"
#include "passes/Analysis/Messages.h"
#include "passes/Analysis/Views.h"
#include "passes/Autodiff/ProgramBuilder.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Scheduling/TrainProgram.h"

#include "mlir/IR/IRMapping.h"

#include <algorithm>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_SPLITPASSESPASS
#include "passes/Pipeline/Passes.h.inc"

namespace {

// Rings: what lies in one is written and read by the same programs.
constexpr StringLiteral kStash = "stash";
constexpr StringLiteral kActivationsIn = "activations.in";
constexpr StringLiteral kActivationsKept = "activations.kept";
constexpr StringLiteral kActivationsOut = "activations.out";
constexpr StringLiteral kGradientsIn = "gradients.in";
constexpr StringLiteral kGradientsOut = "gradients.out";
constexpr StringLiteral kEvalIn = "eval.in";
constexpr StringLiteral kEvalOut = "eval.out";

/// Makes states of what micro-batches keep.
class FlightStates {
public:
  explicit FlightStates(ModuleOp module) : module(module) {}

  StateOp add(Value value, StringRef ring) {
    StateOp state = addState(module, "flight." + std::to_string(number++),
                             value.getType(), kFlight, value.getLoc());
    state->setAttr(kRingAttr, StringAttr::get(module.getContext(), ring));
    return state;
  }

  static void addMessage(StateOp state, const MessageEnd &end, bool sends) {
    Builder builder(state.getContext());
    NamedAttrList list(end.toAttr(builder.getContext()));
    if (sends)
      list.set(kSendsKey, builder.getUnitAttr());
    SmallVector<Attribute> all;
    if (auto old = state->getAttrOfType<ArrayAttr>(kMessageAttr))
      llvm::append_range(all, old);
    all.push_back(list.getDictionary(builder.getContext()));
    state->setAttr(kMessageAttr, builder.getArrayAttr(all));
  }

private:
  ModuleOp module;
  unsigned number = 0;
};

void moveToState(func::FuncOp program, unsigned argument, StateOp state) {
  program.setArgAttr(argument, kStateAttr,
                     FlatSymbolRefAttr::get(state.getSymNameAttr()));
  program.removeArgAttr(argument,
                        StringAttr::get(program.getContext(), kReceiveAttr));
  program.removeArgAttr(argument,
                        StringAttr::get(program.getContext(), kBatchDimAttr));
}

/// Messages of a program become states. `ringOf` says where each end lies; a
/// value that several roles read lies in one place.
class MessageBinder {
public:
  MessageBinder(func::FuncOp program, FlightStates &states)
      : program(program), states(states) {}

  void
  run(llvm::function_ref<StringRef(const MessageEnd &, Value, bool)> ringOf) {
    for (unsigned i = 0; i < program.getNumArguments(); ++i)
      if (auto end = getReceived(program, i)) {
        Value value = program.getArgument(i);
        StateOp state = states.add(value, ringOf(*end, value, false));
        FlightStates::addMessage(state, *end, /*sends=*/false);
        moveToState(program, i, state);
      }
    llvm::MapVector<Value, StateOp> sent;
    for (unsigned i = 0; i < program.getNumResults();) {
      auto end = getSent(program, i);
      if (!end) {
        ++i;
        continue;
      }
      Value value = program.getBody().front().getTerminator()->getOperand(i);
      StateOp &state = sent[value];
      if (!state)
        state = states.add(value, ringOf(*end, value, true));
      FlightStates::addMessage(state, *end, /*sends=*/true);
      eraseResult(program, i);
    }
    for (auto &[value, state] : sent)
      addResult(program, value, bindTo(state));
  }

private:
  func::FuncOp program;
  FlightStates &states;
};

/// One role's @micro as @forward and @backward.
class PassSplitter {
public:
  PassSplitter(func::FuncOp micro, FlightStates &states)
      : micro(micro), block(micro.getBody().front()), states(states) {}

  /// How many values are stashed.
  FailureOr<unsigned> run() {
    findPasses();
    if (failed(checkForward()))
      return failure();
    bindMessages();
    buildBackward();
    trimForward();
    return unsigned(stashed.size());
  }

private:
  // --- Which op is of which pass

  void findPasses() {
    for (unsigned index = 0; index < micro.getNumResults(); ++index)
      if (FlatSymbolRefAttr state = getResultState(micro, index);
          state && !endsBackward(micro, index))
        updated.insert(state);
    forward = findForwardPass(micro);
    for (Operation &op : block.without_terminator())
      if (!forward.contains(&op))
        backward.push_back(&op);
  }

  /// A kernel that computes something of both passes would wait for itself.
  LogicalResult checkForward() {
    for (Operation *op : forward)
      for (Value operand : op->getOperands()) {
        auto argument = dyn_cast<BlockArgument>(operand);
        auto end = argument ? getReceived(micro, argument.getArgNumber())
                            : std::nullopt;
        if (end && end->isGradient)
          return op->emitError(
              "is needed by the forward, but reads a gradient");
      }
    return success();
  }

  bool isReadByBackward(Value value) {
    Value root = getTensorRoot(value);
    return llvm::any_of(micro.getBody().front().getOperations(),
                        [&](Operation &op) {
                          return !forward.contains(&op) &&
                                 !op.hasTrait<OpTrait::IsTerminator>() &&
                                 llvm::any_of(op.getOperands(), [&](Value use) {
                                   return getTensorRoot(use) == root;
                                 });
                        });
  }

  void bindMessages() {
    MessageBinder(micro, states)
        .run([&](const MessageEnd &end, Value value, bool sends) -> StringRef {
          if (end.isGradient)
            return sends ? kGradientsOut : kGradientsIn;
          if (isReadByBackward(value))
            return sends ? kStash : kActivationsKept;
          return sends ? kActivationsOut : kActivationsIn;
        });
    // What is sent and read again lies in its message's place.
    for (unsigned i = 0; i < micro.getNumResults(); ++i) {
      StateOp state = findState(micro, getResultState(micro, i));
      if (!state || state.getKind() != kFlight || endsBackwardNow(i))
        continue;
      Value value = block.getTerminator()->getOperand(i);
      if (!isPart(value))
        places.try_emplace(getTensorRoot(value), state);
    }
  }

  /// As endsBackward(), once messages are states.
  bool endsBackwardNow(unsigned result) {
    if (isGradientSum(micro, result))
      return true;
    StateOp state = findState(micro, getResultState(micro, result));
    auto ring = state ? state->getAttrOfType<StringAttr>(kRingAttr) : nullptr;
    return ring && ring.getValue() == kGradientsOut;
  }

  // --- The backward

  void buildBackward() {
    OpBuilder builder(micro);
    builder.setInsertionPointAfter(micro);
    program = func::FuncOp::create(builder, micro.getLoc(), kBackwardProgram,
                                   builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(program.addEntryBlock());
    auto end = func::ReturnOp::create(builder, micro.getLoc());
    copy.emplace(end);
    for (Operation *op : backward)
      clone(op);
    for (unsigned i = 0; i < micro.getNumResults(); ++i)
      if (endsBackwardNow(i))
        addResult(program, resolve(block.getTerminator()->getOperand(i)),
                  micro.getResultAttrDict(i).getValue());
  }

  Operation *clone(Operation *op) {
    for (Value operand : op->getOperands())
      (void)resolve(operand);
    return copy->clone(*op, mapping);
  }

  Value resolve(Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Value made;
    Operation *op = value.getDefiningOp();
    if (op && (isOfStates(op) || viewsKept(op)))
      return clone(op)->getResult(cast<OpResult>(value).getResultNumber());
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && isState(argument))
      made = getStateArgument(program, findState(argument));
    else
      made = readStash(value);
    mapping.map(value, made);
    return made;
  }

  /// A state that the forward leaves as it is.
  bool isState(BlockArgument argument) {
    FlatSymbolRefAttr state = getArgumentState(argument);
    return state && !updated.contains(state);
  }

  /// Whether it follows from such states alone: gathered parameters, tables.
  bool isOfStates(Operation *op) {
    auto [found, isNew] = ofStates.try_emplace(op, false);
    if (!isNew)
      return found->second;
    bool all = llvm::all_of(op->getOperands(), [&](Value operand) {
      auto argument = dyn_cast<BlockArgument>(operand);
      if (!argument)
        return isOfStates(operand.getDefiningOp());
      StateOp state = findState(argument);
      return isState(argument) && state.getKind() != kFlight;
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

  /// The backward's argument for what the forward computes.
  Value readStash(Value value) {
    StateOp &state = places[value];
    if (!state) {
      state = states.add(value, kStash);
      stashed.push_back({value, state});
    }
    Value kept = getStateArgument(program, state);
    if (kept.getType() == value.getType())
      return kept;
    return ReshapeOp::create(*copy, value.getLoc(), value.getType(), kept);
  }

  // --- The forward

  void trimForward() {
    for (unsigned i = micro.getNumResults(); i > 0; --i)
      if (endsBackwardNow(i - 1))
        eraseResult(micro, i - 1);
    for (auto &[value, state] : stashed)
      addResult(micro, value, bindTo(state));
    for (Operation *op : llvm::reverse(backward))
      op->erase();
    eraseUnusedArguments(micro);
    micro.setSymName(kForwardProgram);
  }

  func::FuncOp micro, program; // that becomes the forward; the backward
  Block &block;
  FlightStates &states;
  DenseSet<Operation *> forward;
  SmallVector<Operation *> backward;
  DenseSet<Attribute> updated; // states, by the forward
  DenseMap<Operation *, bool> ofStates;
  DenseMap<Value, StateOp> places; // of roots that outlive the forward
  SmallVector<std::pair<Value, StateOp>> stashed;
  IRMapping mapping;
  std::optional<OpBuilder> copy; // into the backward
};

struct SplitPasses : public impl::SplitPassesPassBase<SplitPasses> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module->hasAttr(kRoleAttr))
      return;
    FlightStates states(module);
    if (auto eval = module.lookupSymbol<func::FuncOp>(kEvalProgram))
      MessageBinder(eval, states)
          .run([](const MessageEnd &, Value, bool sends) -> StringRef {
            return sends ? kEvalOut : kEvalIn;
          });
    auto micro = module.lookupSymbol<func::FuncOp>(kMicroProgram);
    if (!micro) {
      module.emitError("expected @micro, from --zc-accumulate-gradients");
      return signalPassFailure();
    }
    if (module->hasAttr(kKeepWholeAttr)) {
      MessageBinder(micro, states)
          .run([](const MessageEnd &, Value, bool sends) -> StringRef {
            return sends ? kGradientsOut : kActivationsIn;
          });
      return;
    }
    FailureOr<unsigned> stashed = PassSplitter(micro, states).run();
    if (failed(stashed))
      return signalPassFailure();
    numStashed += *stashed;
  }
};

} // namespace

/// How many slots a ring has; see countFlightBytes().
static int64_t countSlots(ModuleOp role, StringAttr ring) {
  auto known = role->getAttrOfType<DictionaryAttr>(kRingSlotsAttr);
  if (auto slots = known ? known.getAs<IntegerAttr>(ring) : IntegerAttr())
    return slots.getInt();
  auto inFlight = role->getAttrOfType<IntegerAttr>(kInFlightAttr);
  if (inFlight && ring == kStash)
    return inFlight.getInt();
  if (inFlight && ring == kActivationsKept)
    return inFlight.getInt() + 1;
  return 2;
}

int64_t countFlightBytes(ModuleOp role) {
  auto rings = role->getAttrOfType<DictionaryAttr>(sched::kRingsAttr);
  if (!rings)
    return 0;
  // The rings of evaluation lie where those of training do.
  int64_t training = 0, evaluation = 0;
  for (NamedAttribute ring : rings) {
    int64_t bytes = countSlots(role, ring.getName()) *
                    cast<IntegerAttr>(ring.getValue()).getInt();
    (ring.getName() == kEvalIn || ring.getName() == kEvalOut ? evaluation
                                                             : training) +=
        bytes;
  }
  return std::max(training, evaluation);
}

} // namespace zc
