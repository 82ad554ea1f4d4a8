//===- ProgramExport.cpp - one program as plan messages -------------------===//
#include "compiler/Export/ProgramExport.h"

#include "compiler/Export/ExportTypes.h"
#include "compiler/Export/LibraryCalls.h"
#include "dialects/Train/Gathered.h"
#include "dialects/Train/Tokens.h"
#include "dialects/Train/Versions.h"

#include <algorithm>

using namespace mlir;
using namespace zc::sched;

namespace zc {

static plan::MemoryClass getStateClass(train::StateKind kind) {
  switch (kind) {
  case train::kParameter:
  case train::kConstant:
  case train::kCopy:
    return plan::PARAMETERS;
  case train::kOptimizer:
    return plan::OPTIMIZER_STATE;
  case train::kAccumulator:
    return plan::GRADIENTS;
  case train::kGathered:
    return plan::COMMUNICATION;
  case train::kStatistic:
  case train::kScalar:
  case train::kFlight:
    return plan::ACTIVATIONS;
  }
  llvm_unreachable("kinds are verified");
}

static plan::MemoryClass getTransientClass(MemoryClass memoryClass) {
  switch (memoryClass) {
  case kGradients:
    return plan::GRADIENTS;
  case kCommunication:
    return plan::COMMUNICATION;
  case kWorkspace:
    return plan::WORKSPACE;
  case kActivations:
  case kOffloaded:
    return plan::ACTIVATIONS;
  }
  llvm_unreachable("memory classes are verified");
}

Result<plan::Program> ProgramExport::run() {
  program.set_name(source.getSymName().str());
  if (!source.getTransientBytes())
    return makeError(StatusCode::Internal, "program '", program.name(),
                     "' has no offsets");
  program.set_transient_bytes(*source.getTransientBytes());
  addBuffers();
  for (Operation &op : source.getBody().front()) {
    if (auto input = dyn_cast<InputOp>(op))
      addInput(input);
    else if (auto output = dyn_cast<OutputOp>(op))
      addOutput(output);
    else if (isa<InstructionOpInterface>(op))
      ZC_RETURN_IF_ERROR(addInstruction(op));
    // They end in the order of their beginnings: the last stands for all.
    if (SmallVector<Operation *> ended = underWay.step(op); !ended.empty())
      for (auto &ofStream : awaited)
        ofStream[getStream(ended.back())] = numbers.lookup(ended.back());
  }
  setLiveRanges();
  return std::move(program);
}

// Adds the buffers that instructions or the host touch; a view that stands only
// for another view is no buffer.
void ProgramExport::addBuffers() {
  for (Operation &op : source.getBody().front()) {
    if (isa<InputOp>(op))
      addBuffer(op.getResult(0));
    else if (isa<OutputOp, InstructionOpInterface>(op))
      for (Value operand : op.getOperands())
        addBuffer(operand);
  }
}

void ProgramExport::addBuffer(Value value) {
  if (!indices.try_emplace(value, program.buffers_size()).second)
    return;
  plan::Buffer &buffer = *program.add_buffers();
  *buffer.mutable_type() = getTensorType(cast<MemRefType>(value.getType()));
  buffer.set_memory_class(getTransientClass(getMemoryClass(value)));
  placeBuffer(getRoot(value), buffer);
  buffer.set_offset(buffer.offset() + static_cast<uint64_t>(getOffset(value)));
}

void ProgramExport::placeInRing(train::StateOp state, plan::Buffer &buffer) {
  buffer.set_space(plan::FLIGHT);
  buffer.set_name(state.getSymName().str());
  buffer.set_ring(getRingIndex(state));
  buffer.set_offloaded(state.getOffloaded());
  buffer.set_offset(*state.getOffset());
}

void ProgramExport::placeBuffer(Value root, plan::Buffer &buffer) {
  buffer.set_space(plan::TRANSIENT);
  if (auto input = root.getDefiningOp<InputOp>()) {
    buffer.set_name(input.getName().str());
    buffer.set_offset(input.getOffset().value_or(0));
  } else if (auto alloc = root.getDefiningOp<AllocOp>()) {
    buffer.set_offset(alloc.getOffset().value_or(0));
    if (isOffloadedAlloc(alloc))
      buffer.set_space(plan::OFFLOADED);
  } else {
    StringRef name = root.getDefiningOp<StateOp>().getState();
    auto state = symbols.lookup<train::StateOp>(name);
    if (state.getKind() == train::kFlight)
      return placeInRing(state, buffer);
    buffer.set_space(state.getOffloaded() ? plan::OFFLOADED : plan::PERSISTENT);
    buffer.set_name(name.str());
    if (std::optional<StringRef> of = state.getVersionOf())
      buffer.set_name(of->str());
    buffer.set_versioned(train::isVersionOfOther(state) ||
                         train::getDelay(state) > 0);
    if (std::optional<int64_t> age = state.getVersionAge())
      buffer.set_age(int32_t(*age));
    buffer.set_offset(*state.getOffset());
    buffer.set_memory_class(getStateClass(state.getKind()));
  }
}

// A read through a view keeps the value alive that was written under another
// name.
void ProgramExport::extend(Value buffer, uint32_t instruction) {
  while (true) {
    auto index = indices.find(buffer);
    if (index != indices.end()) {
      plan::Buffer &message = *program.mutable_buffers(index->second);
      message.set_first_use(std::min(message.first_use(), instruction));
      message.set_last_use(std::max(message.last_use(), instruction));
    }
    auto view = buffer.getDefiningOp<ViewOp>();
    if (!view || written.contains(buffer))
      return;
    buffer = view.getSource();
  }
}

void ProgramExport::setLiveRanges() {
  for (plan::Buffer &buffer : *program.mutable_buffers())
    buffer.set_first_use(UINT32_MAX);
  for (auto op : source.getOps<InstructionOpInterface>())
    for (Value write : op.getWrites())
      written.insert(write);
  uint32_t instruction = 0;
  UnderWay underWay;
  auto extendAll = [&](Operation *op, uint32_t last) {
    for (Value operand : op->getOperands())
      extend(operand, last);
  };
  for (Operation &op : source.getBody().front()) {
    for (Operation *ended : underWay.step(op))
      extendAll(ended, instruction - 1);
    if (isa<InputOp>(op))
      extend(op.getResult(0), 0);
    if (!isa<InstructionOpInterface>(op))
      continue;
    extendAll(&op, instruction);
    ++instruction;
  }
  for (Operation *last : underWay.get())
    extendAll(last, std::max(1u, instruction) - 1);
  for (auto output : source.getOps<OutputOp>())
    extend(output.getBuffer(), std::max(1u, instruction) - 1);
}

// The batch dim is told apart: the host picks the samples.
template <typename Op, typename Message>
static void setHostDivision(Op op, Message &message) {
  if (!setDivision(op, message) || !op.getBatchDim())
    return;
  auto &axes = *message.mutable_sharding()
                    ->mutable_dims(static_cast<int>(*op.getBatchDim()))
                    ->mutable_axes();
  message.mutable_batch_axes()->Swap(&axes);
}

void ProgramExport::addInput(InputOp op) {
  plan::Input &input = *program.add_inputs();
  input.set_name(op.getName().str());
  input.set_buffer(getIndex(op));
  input.set_batch_dim(static_cast<int32_t>(op.getBatchDim().value_or(-1)));
  input.set_is_label(op.getLabel());
  input.set_is_sample_weight(op.getSampleWeight());
  setHostDivision(op, input);
  if (!op.getRange())
    return;
  ArrayRef<int64_t> range = *op.getRange();
  input.mutable_range()->set_min(range[0]);
  input.mutable_range()->set_max(range[1]);
  if (range.size() > 2) {
    input.mutable_range()->set_has_ignored(true);
    input.mutable_range()->set_ignored(range[2]);
  }
}

void ProgramExport::addOutput(OutputOp op) {
  plan::Output &output = *program.add_outputs();
  output.set_name(op.getName().str());
  output.set_buffer(getIndex(op.getBuffer()));
  output.set_kind(op.getKind() == kMetric ? plan::METRIC : plan::OUTPUT);
  output.set_batch_dim(static_cast<int32_t>(op.getBatchDim().value_or(-1)));
  setHostDivision(op, output);
  output.set_zigzag(op.getTokenOrder().has_value());
}

template <typename Op>
static void setCosts(Op op, plan::Instruction &instruction) {
  if (op.getLabel())
    instruction.set_label(op.getLabel()->str());
  instruction.set_flops(op.getFlops().convertToDouble());
  instruction.set_bytes(op.getBytes().convertToDouble());
}

/// An async instruction begins when all in front of it on the main stream has
/// ended; a wait holds for all that follows it on other streams.
void ProgramExport::setStream(Operation &op, plan::Instruction &instruction) {
  uint32_t number = uint32_t(program.instructions_size()) - 1;
  numbers[&op] = number;
  Stream stream = getStream(&op);
  instruction.set_stream(stream);
  if (stream != kMainStream && lastOnMain)
    instruction.add_waits(*lastOnMain);
  for (unsigned other = 0; other < kNumStreams; ++other) {
    std::optional<uint32_t> &last = awaited[stream][other];
    if (last && other != stream)
      instruction.add_waits(*last);
    last.reset();
  }
  addHostWaits(op, instruction);
  if (stream == kMainStream)
    lastOnMain = number;
}

/// Waits for the last instruction of each stream that a host's kernel, or a
/// copy, begins behind.
void ProgramExport::addHostWaits(Operation &op,
                                 plan::Instruction &instruction) const {
  std::optional<uint32_t> last[kNumStreams];
  for (Operation *each : underWay.getAwaitedBy(op))
    last[getStream(each)] = numbers.lookup(each);
  for (std::optional<uint32_t> each : last)
    if (each && !llvm::is_contained(instruction.waits(), *each))
      instruction.add_waits(*each);
}

Status ProgramExport::addInstruction(Operation &op) {
  plan::Instruction &instruction = *program.add_instructions();
  setStream(op, instruction);
  Status status;
  if (auto launch = dyn_cast<LaunchOp>(op)) {
    setCosts(launch, instruction);
    status = addKernelCall(launch, instruction);
  } else if (auto call = dyn_cast<LibraryCallOp>(op)) {
    setCosts(call, instruction);
    status = exportLibraryCall(call, *this, *instruction.mutable_library());
  } else if (auto collective = dyn_cast<CollectiveOp>(op)) {
    setCosts(collective, instruction);
    addCollective(collective, instruction);
  } else {
    auto copy = cast<CopyOp>(op);
    setCosts(copy, instruction);
    instruction.mutable_copy()->set_source(getIndex(copy.getSource()));
    instruction.mutable_copy()->set_destination(
        getIndex(copy.getDestination()));
  }
  // A buffer is called after what writes it.
  for (Value write : cast<InstructionOpInterface>(op).getWrites()) {
    plan::Buffer &buffer = *program.mutable_buffers(getIndex(write));
    if (buffer.name().empty())
      buffer.set_name(instruction.label());
  }
  return status;
}

Status ProgramExport::addKernelCall(LaunchOp op,
                                    plan::Instruction &instruction) {
  auto kernel = symbols.lookup<KernelOp>(op.getKernel());
  if (!kernel.getGrid() && needsCode)
    return makeError(StatusCode::Internal, "kernel '", op.getKernel().str(),
                     "' has no code");
  plan::KernelCall &call = *instruction.mutable_kernel();
  call.set_symbol(kernel.getFunctionName().str());
  call.set_grid(kernel.getGrid().value_or(1));
  call.set_num_inputs(op.getInputs().size());
  for (Value operand : op->getOperands())
    call.add_buffers(getIndex(operand));
  return Status();
}

} // namespace zc
