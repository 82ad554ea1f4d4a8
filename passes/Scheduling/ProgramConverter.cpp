//===- ProgramConverter.cpp - one program as instructions -----------------===//
#include "passes/Scheduling/ProgramConverter.h"

#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/Tokens.h"
#include "passes/Analysis/LoopNests.h"
#include "passes/Analysis/Views.h"
#include "passes/Scheduling/Label.h"
#include "passes/Scheduling/TrainProgram.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

static_assert(kPartAlignment % sched::kAlignment == 0);

static MemRefType bufferTypeOf(Value tensor) {
  return sched::getBufferType(cast<RankedTensorType>(tensor.getType()));
}

ProgramConverter::ProgramConverter(func::FuncOp source, KernelTable &kernels)
    : source(source), kernels(kernels), plan(source),
      builder(source.getContext()) {}

sched::ProgramOp ProgramConverter::convert() {
  builder.setInsertionPoint(source);
  auto program = sched::ProgramOp::create(
      builder, source.getLoc(), source.getSymName(), /*transient_bytes=*/{});
  builder.createBlock(&program.getBody());
  declareStates();
  convertArguments();
  saveOldValues();
  for (Operation &op : source.getBody().front()) {
    if (auto fused = dyn_cast<FusedOp>(op)) {
      if (FusedOp awaited = plan.getAsyncSpans().getAwaited(fused))
        waitFor(awaited);
      convertFused(fused);
    } else if (Value viewed = getViewed(&op)) {
      Value view = op.getResult(0);
      buffers[view] = sched::ViewOp::create(
          builder, op.getLoc(), bufferTypeOf(view), buffers.at(viewed),
          /*memory_class=*/nullptr, getViewOffset(&op));
    }
  }
  copyNewValues();
  convertOutputs();
  eraseUnused();
  return program;
}

// States in the order of the arguments, then those that are only written.
void ProgramConverter::declareStates() {
  auto declare = [&](FlatSymbolRefAttr state, Location loc, Type type) {
    if (state && !states.count(state))
      states[state] = sched::StateOp::create(
          builder, loc, sched::getBufferType(cast<RankedTensorType>(type)),
          state);
  };
  for (BlockArgument argument : source.getArguments())
    declare(getArgumentState(argument), argument.getLoc(), argument.getType());
  for (auto [index, type] : llvm::enumerate(source.getResultTypes()))
    declare(getResultState(source, index), source.getLoc(), type);
}

/// How an argument or result is divided among ranks.
static void copyDivision(DictionaryAttr from, Operation *to) {
  if (!from)
    return;
  for (StringRef name : {dist::kShardingAttr, dist::kWholeAttr})
    if (Attribute value = from.get(name))
      to->setAttr(name, value);
}

void ProgramConverter::convertArguments() {
  for (BlockArgument argument : source.getArguments()) {
    if (FlatSymbolRefAttr state = getArgumentState(argument)) {
      buffers[argument] = states[state];
      continue;
    }
    unsigned index = argument.getArgNumber();
    auto input = sched::InputOp::create(
        builder, argument.getLoc(), bufferTypeOf(argument),
        source.getArgAttrOfType<StringAttr>(index, kInputAttr),
        source.getArgAttrOfType<IntegerAttr>(index, kBatchDimAttr),
        source.getArgAttrOfType<DenseI64ArrayAttr>(index, kRangeAttr),
        source.getArgAttrOfType<UnitAttr>(index, kLabelAttr),
        source.getArgAttrOfType<UnitAttr>(index, kSampleWeightAttr),
        /*offset=*/nullptr);
    copyDivision(source.getArgAttrDict(index), input);
    buffers[argument] = input;
  }
}

static void copyBuffer(OpBuilder &builder, Location loc, Value from, Value to,
                       StringRef what) {
  double bytes = 2.0 * static_cast<double>(sched::getByteSize(from));
  sched::CopyOp::create(builder, loc, from, to, /*async=*/UnitAttr(),
                        builder.getStringAttr("copy " + what),
                        builder.getF64FloatAttr(0),
                        builder.getF64FloatAttr(bytes));
}

// A returned old value of a state that gets a new one would be overwritten.
void ProgramConverter::saveOldValues() {
  llvm::DenseMap<Value, Value> copies; // several results may return one state
  for (unsigned index : plan.getSavedValues()) {
    Value tensor = getReturn(source).getOperand(index);
    Value old = getTensorRoot(tensor);
    Value &copy = copies[old];
    if (!copy) {
      copy = sched::AllocOp::create(builder, old.getLoc(), bufferTypeOf(old),
                                    sched::kActivations,
                                    /*offset=*/nullptr);
      copyBuffer(builder, old.getLoc(), buffers.at(old), copy,
                 getArgumentState(old).getValue());
    }
    saved[index] =
        sched::ViewOp::create(builder, old.getLoc(), bufferTypeOf(tensor), copy,
                              /*memory_class=*/nullptr, getRootOffset(tensor));
  }
}

static bool isGradient(FusedOp op, unsigned result) {
  return llvm::is_contained(op.getGradients(), int64_t(result));
}

/// On the way to or from other ranks.
static bool isStaging(FusedOp op) {
  if (op.getStaging())
    return true;
  auto collective =
      dyn_cast<dist::CollectiveOpInterface>(op.getBody().front().front());
  return collective && collective.getWhatIsSent() == dist::kParameters;
}

Value ProgramConverter::makeResult(FusedOp op, OpResult result) {
  Value buffer = placeResult(op, result);
  auto alloc = sched::getRoot(buffer).getDefiningOp<sched::AllocOp>();
  if (alloc &&
      llvm::is_contained(op.getOffloaded(), int64_t(result.getResultNumber())))
    alloc.setOffload(true);
  return buffer;
}

Value ProgramConverter::placeResult(FusedOp op, OpResult result) {
  const Home &home = plan.getHome(result);
  MemRefType type = bufferTypeOf(result);
  const sched::MemoryClass memoryClass =
      isGradient(op, result.getResultNumber()) ? sched::kGradients
      : isStaging(op)                          ? sched::kCommunication
                                               : sched::kActivations;
  switch (home.kind) {
  case Home::InState:
    return sched::ViewOp::create(builder, op.getLoc(), type, states[home.state],
                                 /*memory_class=*/nullptr);
  case Home::InOperand: {
    Value operand = buffers.at(op.getInputs()[home.operands.front()]);
    StringAttr newClass;
    if (sched::getMemoryClass(operand) != memoryClass)
      newClass = builder.getStringAttr(stringifyMemoryClass(memoryClass));
    return sched::ViewOp::create(builder, op.getLoc(), type, operand, newClass);
  }
  case Home::Fresh:
    break;
  }
  return sched::AllocOp::create(builder, op.getLoc(), type, memoryClass,
                                /*offset=*/nullptr);
}

std::string ProgramConverter::labelOf(FusedOp op) const {
  for (Value result : op.getResults())
    if (plan.getHome(result).kind == Home::InState)
      return makeLabel(op, plan.getHome(result).state.getValue());
  return makeLabel(op, "");
}

void ProgramConverter::waitFor(FusedOp collective) {
  sched::WaitOp::create(builder, collective.getLoc(),
                        buffers.at(collective.getResult(0)));
  underWay.erase(underWay.begin(), llvm::find(underWay, collective) + 1);
}

void ProgramConverter::convertFused(FusedOp op) {
  SmallVector<Value> inputs, outputs;
  SmallVector<int64_t> shared;
  for (Value operand : op.getInputs())
    inputs.push_back(buffers.at(operand));
  for (OpResult result : op->getResults()) {
    outputs.push_back(makeResult(op, result));
    for (unsigned operand : plan.getHome(result).operands)
      shared.append({operand, result.getResultNumber()});
    buffers[result] = outputs.back();
  }
  if (op.getLibrary())
    return convertLibraryCall(op, outputs);
  sched::LaunchOp::create(
      builder, op.getLoc(),
      FlatSymbolRefAttr::get(kernels.get(op, shared).getSymNameAttr()), inputs,
      outputs, builder.getStringAttr(labelOf(op)),
      builder.getF64FloatAttr(getFlops(op)),
      builder.getF64FloatAttr(operandAndResultBytes(op)), /*host=*/nullptr);
}

Value ProgramConverter::makeWorkspace(FusedOp op) {
  if (op.getWorkspaceBytes() == 0)
    return {};
  auto bytes = MemRefType::get({static_cast<int64_t>(op.getWorkspaceBytes())},
                               builder.getIntegerType(8, /*isSigned=*/false));
  return sched::AllocOp::create(builder, op.getLoc(), bytes,
                                isCollective(op) ? sched::kCommunication
                                                 : sched::kWorkspace,
                                /*offset=*/nullptr);
}

void ProgramConverter::convertCollective(Operation *inner, FusedOp op,
                                         Value output, Value workspace) {
  auto collective = cast<dist::CollectiveOpInterface>(inner);
  sched::CollectiveOp::create(
      builder, op.getLoc(),
      builder.getStringAttr(inner->getName().stripDialect()),
      collective.getAxes(),
      builder.getStringAttr(stringifyTraffic(*collective.getWhatIsSent())),
      buffers.at(op.getInputs().front()), output, workspace, op.getAsyncAttr(),
      builder.getI64IntegerAttr(collective.getRootNumber()),
      builder.getI64IntegerAttr(collective.getDistance()),
      inner->getAttrOfType<DenseI64ArrayAttr>("holders"),
      builder.getStringAttr(labelOf(op)), builder.getF64FloatAttr(0),
      builder.getF64FloatAttr(operandAndResultBytes(op)));
  if (op.getAsync())
    underWay.push_back(op);
}

/// Where a library works in place on an operand that others still need, or that
/// lies elsewhere, it works on a copy.
void ProgramConverter::copySharedOperands(FusedOp op,
                                          MutableArrayRef<Value> inputs,
                                          MutableArrayRef<Value> outputs) {
  ArrayRef<int64_t> pairs = op.getSharedBuffers();
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    OpResult result = op->getResult(pairs[i + 1]);
    Value &input = inputs[pairs[i]], &output = outputs[pairs[i + 1]];
    if (llvm::is_contained(plan.getHome(result).operands, pairs[i]))
      continue;
    copyBuffer(builder, op.getLoc(), input, output, labelOf(op));
    input = output;
    output = sched::ViewOp::create(builder, op.getLoc(), bufferTypeOf(result),
                                   input, /*memory_class=*/nullptr);
    buffers[result] = output;
  }
}

/// The attributes of the op that a region is for, and what is joined to it: a
/// dictionary, "train.norm", that no op has.
static DictionaryAttr configOf(FusedOp op) {
  NamedAttrList config(findCalled(op.getBody().front()).getAttrDictionary());
  if (DictionaryAttr joined = op.getJoinedAttr())
    for (NamedAttribute each : joined)
      config.set(("train." + each.getName().getValue()).str(), each.getValue());
  return config.getDictionary(op.getContext());
}

// The call takes the operands of the one op in the region, in its order; of
// joined ones, those of the region.
void ProgramConverter::convertLibraryCall(FusedOp op,
                                          SmallVector<Value> outputs) {
  Operation &inner = findCalled(op.getBody().front());
  SmallVector<Value> inputs;
  if (op.getJoined())
    for (Value operand : op.getInputs())
      inputs.push_back(buffers.at(operand));
  else
    for (Value operand : inner.getOperands())
      inputs.push_back(buffers.at(
          op.getInputs()[cast<BlockArgument>(operand).getArgNumber()]));
  Value workspace = makeWorkspace(op);
  if (isa<dist::CollectiveOpInterface>(inner))
    return convertCollective(&inner, op, outputs.front(), workspace);
  copySharedOperands(op, inputs, outputs);
  sched::LibraryCallOp::create(
      builder, op.getLoc(), op.getLibraryAttr(),
      builder.getStringAttr(inner.getName().getStringRef()), configOf(op),
      op.getSharedBuffersAttr(), inputs, outputs, workspace,
      builder.getStringAttr(labelOf(op)), builder.getF64FloatAttr(getFlops(op)),
      builder.getF64FloatAttr(operandAndResultBytes(op)));
}

Value ProgramConverter::getReturned(unsigned result) {
  if (Value copy = saved.lookup(result))
    return copy;
  return buffers.at(getReturn(source).getOperand(result));
}

/// Makes a constant that several states get once more, in the place of one that
/// lies in the second memory: of a copy the device would hold both. Returns
/// whether it did.
bool ProgramConverter::fillOffloaded(Value tensor, FlatSymbolRefAttr state,
                                     Value place) {
  auto op = getTensorRoot(tensor).getDefiningOp<FusedOp>();
  if (!op || op.getLibrary() || !op.getInputs().empty() ||
      op->getNumResults() != 1 || !isElementwise(op.getBody().front()) ||
      bufferTypeOf(op.getResult(0)) != place.getType() ||
      !SymbolTable::lookupNearestSymbolFrom<StateOp>(source, state)
           .getOffloaded())
    return false;
  sched::LaunchOp::create(
      builder, op.getLoc(),
      FlatSymbolRefAttr::get(kernels.get(op, {}).getSymNameAttr()),
      ValueRange(), place,
      builder.getStringAttr("fill " + state.getValue().str()),
      builder.getF64FloatAttr(getFlops(op)),
      builder.getF64FloatAttr(operandAndResultBytes(op)), /*host=*/nullptr);
  return true;
}

void ProgramConverter::copyNewValues() {
  if (!plan.getFinalCopies().empty() && !underWay.empty())
    waitFor(underWay.back());
  for (unsigned index : plan.getFinalCopies()) {
    Value tensor = getReturn(source).getOperand(index);
    FlatSymbolRefAttr state = getResultState(source, index);
    Value place = sched::ViewOp::create(builder, source.getLoc(),
                                        bufferTypeOf(tensor), states[state],
                                        /*memory_class=*/nullptr);
    if (!fillOffloaded(tensor, state, place))
      copyBuffer(builder, source.getLoc(), getReturned(index), place,
                 state.getValue());
  }
}

void ProgramConverter::convertOutputs() {
  for (unsigned index = 0; index < source.getNumResults(); ++index) {
    if (getResultState(source, index))
      continue;
    auto name = source.getResultAttrOfType<StringAttr>(index, kOutputAttr);
    const sched::OutputKind kind = name ? sched::kOutput : sched::kMetric;
    if (!name)
      name = source.getResultAttrOfType<StringAttr>(index, kMetricAttr);
    auto output = sched::OutputOp::create(
        builder, source.getLoc(), name, getReturned(index), kind,
        source.getResultAttrOfType<IntegerAttr>(index, kBatchDimAttr),
        source.getResultAttrOfType<StringAttr>(index, kTokenOrderAttr));
    copyDivision(source.getResultAttrDict(index), output);
  }
}

void ProgramConverter::eraseUnused() {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(*builder.getInsertionBlock())))
    if (isa<sched::ViewOp, sched::StateOp>(op) && op.use_empty())
      op.erase();
}

} // namespace zc
