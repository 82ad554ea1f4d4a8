//===- SchedOps.cpp - verifiers and the instructions' answers -------------===//
#include "dialects/Sched/SchedDialect.h"
#include "dialects/Train/Tokens.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace zc;
using namespace zc::sched;

#define GET_OP_CLASSES
#include "dialects/Sched/SchedOps.cpp.inc"

//===----------------------------------------------------------------------===//
// sched.kernel
//===----------------------------------------------------------------------===//

static LogicalResult verifySharedPairs(KernelOp kernel) {
  ArrayRef<int64_t> shared = kernel.getShared();
  if (shared.size() % 2 != 0)
    return kernel.emitOpError()
           << "lists " << shared.size() << " numbers as shared pairs";
  int64_t numInputs = kernel.getInputs().size();
  int64_t numOutputs = kernel.getOutputs().size();
  llvm::SmallDenseSet<int64_t> inputs;
  for (size_t i = 0; i < shared.size(); i += 2) {
    int64_t input = shared[i], output = shared[i + 1];
    if (input < 0 || input >= numInputs || output < 0 || output >= numOutputs)
      return kernel.emitOpError() << "shares input " << input << " with output "
                                  << output << ", but has " << numInputs
                                  << " inputs and " << numOutputs << " outputs";
    if (!inputs.insert(input).second)
      return kernel.emitOpError() << "shares input " << input << " twice";
    auto from = cast<ShapedType>(kernel.getInputs()[input].getType());
    auto to = cast<ShapedType>(kernel.getOutputs()[output].getType());
    if (getByteSize(from) != getByteSize(to))
      return kernel.emitOpError()
             << "shares input " << input << " of type " << from
             << " with output " << output << " of type " << to;
  }
  return success();
}

LogicalResult KernelOp::verify() {
  // kernel C1
  if (getBody().front().empty())
    return emitOpError() << "must end in train.yield";
  for (auto [index, input] : llvm::enumerate(getInputs()))
    if (!isa<RankedTensorType>(input.getType()))
      return emitOpError() << "input " << index << " is no tensor but "
                           << input.getType();
  if (!isa<train::YieldOp>(getBody().front().back()))
    return emitOpError() << "must end in train.yield";
  // kernel C2
  if (failed(verifySharedPairs(*this)))
    return failure();
  // kernel C3
  if (getGrid() && *getGrid() < 1)
    return emitOpError() << "has a grid of " << *getGrid();
  return success();
}

//===----------------------------------------------------------------------===//
// sched.program
//===----------------------------------------------------------------------===//

/// A view of a part can only be read (view C2).
static LogicalResult verifyWrites(Operation &op) {
  auto instruction = dyn_cast<InstructionOpInterface>(op);
  if (!instruction)
    return success();
  for (Value write : instruction.getWrites())
    if (getByteSize(write) != getByteSize(getRoot(write)))
      return op.emitOpError("writes a part of a buffer");
  return success();
}

LogicalResult ProgramOp::verify() {
  // program C1
  Block &block = getBody().front();
  if (block.getNumArguments() != 0)
    return emitOpError() << "has block arguments; its inputs are sched.input";
  llvm::StringSet<> inputs, outputs, states;
  for (Operation &op : block) {
    if (op.getDialect() != (*this)->getDialect())
      return op.emitOpError() << "is no part of a sched.program";
    // program C2
    if (auto input = dyn_cast<InputOp>(op)) {
      if (!inputs.insert(input.getName()).second)
        return input.emitOpError() << "'" << input.getName() << "' comes twice";
    } else if (auto output = dyn_cast<OutputOp>(op)) {
      // A metric may be named like an output of the model. An output's kind is
      // not verified yet, so that it may be any string here.
      if (!outputs
               .insert(
                   (output.getKindAttr().getValue() + " " + output.getName())
                       .str())
               .second)
        return output.emitOpError()
               << "'" << output.getName() << "' comes twice";
    } else if (auto state = dyn_cast<sched::StateOp>(op)) {
      if (!states.insert(state.getState()).second)
        return state.emitOpError() << "@" << state.getState() << " comes twice";
    }
  }
  // program C3
  UnderWay underWay;
  for (Operation &op : block)
    if (failed(verifyWrites(op)))
      return failure();
    else if (underWay.step(op).empty() && isa<WaitOp>(op))
      return op.emitOpError("waits for no async instruction that is under way");
  return success();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

LogicalResult sched::StateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // state C1
  auto state =
      symbols.lookupNearestSymbolFrom<train::StateOp>(*this, getStateAttr());
  if (!state)
    return emitOpError() << "@" << getState() << " is no train.state";
  if (getBufferType(state.getTensorType()) != getBuffer().getType())
    return emitOpError() << "is " << getBuffer().getType() << " but @"
                         << getState() << " is " << state.getTensorType();
  return success();
}

static LogicalResult
verifyBatchDim(Operation *op, std::optional<int64_t> batchDim, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (batchDim && (*batchDim < 0 || *batchDim >= type.getRank()))
    return op->emitOpError()
           << "has no dim " << *batchDim << " for its batch_dim: " << type;
  return success();
}

LogicalResult InputOp::verify() {
  // input C1
  if (failed(verifyBatchDim(*this, getBatchDim(), getBuffer())))
    return failure();
  // input C2
  if (!getRange())
    return success();
  if (getRange()->size() != 2 && getRange()->size() != 3)
    return emitOpError() << "has a range of " << getRange()->size()
                         << " numbers; expected min, max[, ignored]";
  auto type = cast<MemRefType>(getBuffer().getType());
  if (!isa<IntegerType>(type.getElementType()))
    return emitOpError() << "has a range but elements of type "
                         << type.getElementType();
  return success();
}

static bool haveSameElements(Value a, Value b) {
  auto first = cast<MemRefType>(a.getType());
  auto second = cast<MemRefType>(b.getType());
  return first.getElementType() == second.getElementType() &&
         first.getNumElements() == second.getNumElements();
}

LogicalResult ViewOp::verify() {
  // view C1
  auto whole = cast<MemRefType>(getSource().getType());
  auto part = cast<MemRefType>(getBuffer().getType());
  int64_t offset = getOffset();
  if (whole.getElementType() != part.getElementType() || offset < 0 ||
      part.getNumElements() > whole.getNumElements() - offset)
    return emitOpError() << "views " << whole << ", from element " << offset
                         << " on, as " << part;
  // view C2
  if (sched::getOffset(getBuffer()) % kAlignment != 0)
    return emitOpError() << "begins at byte " << sched::getOffset(getBuffer())
                         << " of its root, which is no multiple of "
                         << kAlignment;
  return success();
}

LogicalResult AllocOp::verify() {
  // alloc C1
  if (getOffload() && getMemoryClass() == kOffloaded)
    return emitOpError("is to be offloaded, and lies in the second memory "
                       "space already");
  return success();
}

LogicalResult OutputOp::verify() {
  // output C2
  if (getTokenOrder().value_or(kZigzag) != kZigzag)
    return emitOpError("expected tokens in order \"")
           << kZigzag << "\", found " << getTokenOrderAttr();
  // output C1
  return verifyBatchDim(*this, getBatchDim(), getBuffer());
}

//===----------------------------------------------------------------------===//
// sched.launch
//===----------------------------------------------------------------------===//

SmallVector<Value> LaunchOp::getReads() {
  return llvm::to_vector_of<Value>(getInputs());
}

SmallVector<Value> LaunchOp::getWrites() {
  return llvm::to_vector_of<Value>(getOutputs());
}

static bool isSharedPair(KernelOp kernel, unsigned input, unsigned output) {
  ArrayRef<int64_t> shared = kernel.getShared();
  for (size_t i = 0; i + 1 < shared.size(); i += 2)
    if (shared[i] == input && shared[i + 1] == output)
      return true;
  return false;
}

static LogicalResult verifyBuffers(LaunchOp launch, StringRef what,
                                   OperandRange buffers, ValueRange tensors) {
  if (buffers.size() != tensors.size())
    return launch.emitOpError()
           << "has " << buffers.size() << ' ' << what << "s but @"
           << launch.getKernel() << " takes " << tensors.size();
  for (auto [index, pair] : llvm::enumerate(llvm::zip(buffers, tensors))) {
    auto [buffer, tensor] = pair;
    auto type = cast<RankedTensorType>(tensor.getType());
    if (getBufferType(type) != buffer.getType())
      return launch.emitOpError()
             << what << ' ' << index << " is " << buffer.getType() << " but @"
             << launch.getKernel() << " takes " << type;
  }
  return success();
}

static LogicalResult verifySharing(LaunchOp launch, KernelOp kernel) {
  llvm::SmallDenseMap<Value, unsigned> written;
  for (auto [index, output] : llvm::enumerate(launch.getOutputs()))
    if (!written.try_emplace(getRoot(output), index).second)
      return launch.emitOpError() << "outputs " << written[getRoot(output)]
                                  << " and " << index << " are the same memory";
  for (auto [index, input] : llvm::enumerate(launch.getInputs())) {
    auto found = written.find(getRoot(input));
    if (found != written.end() && !isSharedPair(kernel, index, found->second))
      return launch.emitOpError()
             << "input " << index << " and output " << found->second
             << " are the same memory, which @" << launch.getKernel()
             << " does not allow";
  }
  ArrayRef<int64_t> shared = kernel.getShared();
  for (size_t i = 0; i < shared.size(); i += 2)
    if (getRoot(launch.getInputs()[shared[i]]) !=
        getRoot(launch.getOutputs()[shared[i + 1]]))
      return launch.emitOpError()
             << "input " << shared[i] << " and output " << shared[i + 1]
             << " must be the same memory for @" << launch.getKernel();
  return success();
}

/// All that a launch on the host names lies in the second memory.
static LogicalResult verifyPlaces(LaunchOp launch,
                                  SymbolTableCollection &symbols) {
  auto isThere = [&](Value buffer) {
    Operation *root = getRoot(buffer).getDefiningOp();
    auto use = dyn_cast<sched::StateOp>(root);
    if (!use)
      return isOffloadedAlloc(root);
    auto state = symbols.lookupNearestSymbolFrom<train::StateOp>(
        launch, use.getStateAttr());
    return state && state.getOffloaded();
  };
  for (auto [index, operand] : llvm::enumerate(launch->getOperands()))
    if (!isThere(operand))
      return launch.emitOpError() << "runs on the host, but operand " << index
                                  << " is in the device's memory";
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // launch C1
  auto kernel =
      symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "@" << getKernel() << " is no sched.kernel";
  if (failed(verifyBuffers(*this, "input", getInputs(), kernel.getInputs())) ||
      failed(verifyBuffers(*this, "output", getOutputs(), kernel.getOutputs())))
    return failure();
  // launch C2
  if (failed(verifySharing(*this, kernel)))
    return failure();
  // launch C3
  if (getHost() != kernel.getHost())
    return emitOpError() << "runs on the " << (getHost() ? "host" : "device")
                         << ", for which @" << getKernel() << " is not";
  return getHost() ? verifyPlaces(*this, symbols) : success();
}

//===----------------------------------------------------------------------===//
// sched.library_call, sched.copy
//===----------------------------------------------------------------------===//

SmallVector<Value> LibraryCallOp::getReads() {
  return llvm::to_vector_of<Value>(getInputs());
}

SmallVector<Value> LibraryCallOp::getWrites() {
  return llvm::to_vector_of<Value>(getOutputs());
}

Value LibraryCallOp::getScratch() { return getWorkspace(); }

static bool isPair(ArrayRef<int64_t> pairs, int64_t input, int64_t output) {
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (pairs[i] == input && pairs[i + 1] == output)
      return true;
  return false;
}

static LogicalResult verifySharing(LibraryCallOp call) {
  llvm::SmallDenseSet<Value> written;
  if (Value workspace = call.getWorkspace())
    written.insert(getRoot(workspace));
  for (auto [index, output] : llvm::enumerate(call.getOutputs())) {
    bool clash = !written.insert(getRoot(output)).second;
    for (auto [number, input] : llvm::enumerate(call.getInputs())) {
      bool same = getRoot(input) == getRoot(output);
      bool shared = isPair(call.getShared(), number, index);
      clash = clash || (same && !shared);
      if (shared && !same)
        return call.emitOpError() << "input " << number << " and output "
                                  << index << " must be the same memory";
    }
    if (clash)
      return call.emitOpError()
             << "output " << index << " is the same memory as another operand";
  }
  return success();
}

static LogicalResult verifyWorkspace(Operation *op, Value workspace) {
  if (!workspace)
    return success();
  auto type = cast<MemRefType>(workspace.getType());
  if (type.getRank() != 1 || type.getElementTypeBitWidth() != 8)
    return op->emitOpError()
           << "has a workspace of type " << type << "; expected bytes";
  return success();
}

LogicalResult LibraryCallOp::verify() {
  // library_call C1
  if (failed(verifySharing(*this)))
    return failure();
  // library_call C2
  return verifyWorkspace(*this, getWorkspace());
}

SmallVector<Value> CollectiveOp::getReads() { return {getSource()}; }

SmallVector<Value> CollectiveOp::getWrites() { return {getDestination()}; }

Value CollectiveOp::getScratch() { return getWorkspace(); }

LogicalResult CollectiveOp::verify() {
  // collective C1
  auto from = cast<MemRefType>(getSource().getType());
  auto to = cast<MemRefType>(getDestination().getType());
  int64_t sent = from.getNumElements(), received = to.getNumElements();
  using Kind = CollectiveKind;
  bool grows = getKind() == Kind::AllGather || getKind() == Kind::Gather;
  bool shrinks = getKind() == Kind::ReduceScatter || getKind() == Kind::Scatter;
  bool fits = grows     ? received % sent == 0
              : shrinks ? sent % received == 0
                        : sent == received;
  if (from.getElementType() != to.getElementType() || !fits)
    return emitOpError() << "makes " << to << " of " << from;
  bool same = sched::getRoot(getSource()) == sched::getRoot(getDestination());
  if (same && getKind() != Kind::AllReduce && getKind() != Kind::Broadcast)
    return emitOpError() << "writes over its source";
  // collective C2
  if (failed(verifyWorkspace(*this, getWorkspace())))
    return failure();
  if (!getWorkspace())
    return success();
  Value root = sched::getRoot(getWorkspace());
  if (root == sched::getRoot(getSource()) ||
      root == sched::getRoot(getDestination()))
    return emitOpError() << "has its workspace in another operand";
  return success();
}

SmallVector<Value> CopyOp::getReads() { return {getSource()}; }

SmallVector<Value> CopyOp::getWrites() { return {getDestination()}; }

LogicalResult CopyOp::verify() {
  // copy C1
  if (!haveSameElements(getSource(), getDestination()))
    return emitOpError() << "copies " << getSource().getType() << " to "
                         << getDestination().getType();
  if (getRoot(getSource()) == getRoot(getDestination()))
    return emitOpError() << "copies a buffer to itself";
  return success();
}
