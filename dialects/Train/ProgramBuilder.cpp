//===- ProgramBuilder.cpp - growing a program -----------------------------===//
#include "dialects/Train/ProgramBuilder.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace zc {

Value addArgument(func::FuncOp program, Type type,
                  ArrayRef<NamedAttribute> attributes, Location loc) {
  unsigned index = program.getNumArguments();
  auto dictionary = DictionaryAttr::get(program.getContext(), attributes);
  (void)program.insertArgument(index, type, dictionary, loc);
  return program.getArgument(index);
}

void addResult(func::FuncOp program, Value value,
               ArrayRef<NamedAttribute> attributes) {
  unsigned index = program.getNumResults();
  auto dictionary = DictionaryAttr::get(program.getContext(), attributes);
  (void)program.insertResult(index, value.getType(), dictionary);
  Operation *terminator = program.getBody().front().getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), value);
}

ProgramGrowth::ProgramGrowth(func::FuncOp program) : program(program) {
  for (BlockArgument argument : program.getArguments()) {
    if (FlatSymbolRefAttr state = stateOf(argument))
      arguments[state] = argument;
    argumentAttributes.push_back(
        program.getArgAttrDict(argument.getArgNumber()));
  }
  for (unsigned i = 0; i < program.getNumResults(); ++i)
    resultAttributes.push_back(program.getResultAttrDict(i));
}

ProgramGrowth::~ProgramGrowth() {
  Block &block = program.getBody().front();
  Operation *terminator = block.getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), results);
  program.setType(FunctionType::get(program.getContext(),
                                    block.getArgumentTypes(),
                                    terminator->getOperandTypes()));
  auto isNone = [](Attribute each) {
    return !each || cast<DictionaryAttr>(each).empty();
  };
  auto none = DictionaryAttr::get(program.getContext());
  auto set = [&](StringAttr name, SmallVector<Attribute> &attributes) {
    if (llvm::all_of(attributes, isNone))
      return;
    for (Attribute &each : attributes)
      each = each ? each : none;
    program->setAttr(name, ArrayAttr::get(program.getContext(), attributes));
  };
  set(program.getArgAttrsAttrName(), argumentAttributes);
  set(program.getResAttrsAttrName(), resultAttributes);
}

Value ProgramGrowth::getStateArgument(train::StateOp state) {
  NamedAttribute binding = bindTo(state);
  Value &argument = arguments[binding.getValue()];
  if (!argument) {
    argument =
        program.getBody().front().addArgument(state.getType(), state.getLoc());
    argumentAttributes.push_back(
        DictionaryAttr::get(program.getContext(), binding));
  }
  return argument;
}

void ProgramGrowth::addResult(Value value,
                              ArrayRef<NamedAttribute> attributes) {
  results.push_back(value);
  resultAttributes.push_back(
      DictionaryAttr::get(program.getContext(), attributes));
}

SmallVector<Gradient> takeGradients(func::FuncOp program) {
  SymbolTable symbols(program->getParentOfType<ModuleOp>());
  SmallVector<Gradient> gradients;
  Operation *terminator = program.getBody().front().getTerminator();
  llvm::BitVector taken(program.getNumResults());
  for (unsigned i = 0; i < program.getNumResults(); ++i) {
    auto name =
        program.getResultAttrOfType<FlatSymbolRefAttr>(i, train::kGradientAttr);
    if (!name)
      continue;
    auto parameter = symbols.lookup<train::StateOp>(name.getValue());
    gradients.push_back({parameter, terminator->getOperand(i)});
    taken.set(i);
  }
  (void)program.eraseResults(taken);
  terminator->eraseOperands(taken);
  return gradients;
}

std::string getSlotName(StringRef parameter, StringRef slot) {
  return ("state." + parameter + "." + slot).str();
}

NamedAttribute bindTo(train::StateOp state) {
  return NamedAttribute(StringAttr::get(state.getContext(), train::kStateAttr),
                        FlatSymbolRefAttr::get(state.getSymNameAttr()));
}

void eraseResult(func::FuncOp program, unsigned index) {
  (void)program.eraseResult(index);
  program.getBody().front().getTerminator()->eraseOperand(index);
}

void eraseDeadOps(func::FuncOp program) {
  Block &block = program.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

void eraseUnusedArguments(func::FuncOp program) {
  llvm::BitVector unused(program.getNumArguments());
  for (BlockArgument argument : program.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  (void)program.eraseArguments(unused);
}

Value findStateArgument(func::FuncOp program, StringRef name) {
  for (BlockArgument argument : program.getArguments()) {
    auto state = stateOf(argument);
    if (state && state.getValue() == name)
      return argument;
  }
  return nullptr;
}

Value getStateArgument(func::FuncOp program, train::StateOp state) {
  if (Value found = findStateArgument(program, state.getSymName()))
    return found;
  Builder builder(program.getContext());
  NamedAttribute binding = builder.getNamedAttr(
      train::kStateAttr, FlatSymbolRefAttr::get(state.getSymNameAttr()));
  return addArgument(program, state.getType(), binding, state.getLoc());
}

FlatSymbolRefAttr stateOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto program =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : func::FuncOp();
  if (!program)
    return nullptr;
  return program.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(),
                                                     train::kStateAttr);
}

StringRef nameOf(BlockArgument argument) {
  if (FlatSymbolRefAttr state = stateOf(argument))
    return state.getValue();
  auto program = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto input = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                    train::kInputAttr);
  return input ? input.getValue() : StringRef();
}

train::StateOp addState(ModuleOp module, StringRef name, Type type,
                        train::StateKind kind, Location loc) {
  OpBuilder builder(module.getContext());
  // From the end: behind the states are only programs.
  auto last =
      llvm::find_if(llvm::reverse(*module.getBody()),
                    [](Operation &op) { return isa<train::StateOp>(op); });
  if (last != module.getBody()->rend())
    builder.setInsertionPointAfter(&*last);
  else
    builder.setInsertionPointToStart(module.getBody());
  OperationState state(loc, train::StateOp::getOperationName());
  state.addAttribute("sym_name", builder.getStringAttr(name));
  state.addAttribute("type", TypeAttr::get(type));
  state.addAttribute("kind",
                     builder.getStringAttr(train::stringifyStateKind(kind)));
  return cast<train::StateOp>(builder.create(state));
}

std::optional<unsigned> findMetric(func::FuncOp program, StringRef name) {
  for (unsigned i = 0; i < program.getNumResults(); ++i) {
    auto metric =
        program.getResultAttrOfType<StringAttr>(i, train::kMetricAttr);
    if (metric && metric.getValue() == name)
      return i;
  }
  return std::nullopt;
}

void markResult(OpResult result, StringRef attribute) {
  Operation *producer = result.getOwner();
  SmallVector<int64_t> results;
  if (auto old = producer->getAttrOfType<DenseI64ArrayAttr>(attribute))
    results.append(old.asArrayRef().begin(), old.asArrayRef().end());
  if (llvm::is_contained(results, result.getResultNumber()))
    return;
  results.push_back(result.getResultNumber());
  producer->setAttr(attribute,
                    DenseI64ArrayAttr::get(producer->getContext(), results));
}

LogicalResult refuseName(Operation *taken, StringRef name) {
  return emitError(taken->getLoc())
         << "has the name that zc gives to a state of its own, '" << name
         << "'; rename it";
}

train::StateOp findCopy(train::StateOp parameter) {
  auto module = cast<ModuleOp>(parameter->getParentOp());
  for (auto state : module.getOps<train::StateOp>())
    if (state.getKind() == train::kCopy &&
        state.getParameter() == parameter.getSymName())
      return state;
  return nullptr;
}

FailureOr<train::StateOp> getScalarState(ModuleOp module, StringRef name,
                                         Type type) {
  Operation *found = module.lookupSymbol(name);
  auto state = dyn_cast_or_null<train::StateOp>(found);
  if (state && state.getKind() == train::kScalar)
    return state;
  if (found)
    return refuseName(found, name);
  return addState(module, name, type, train::kScalar,
                  NameLoc::get(StringAttr::get(module.getContext(), name)));
}

} // namespace zc
