//===- SchedDialect.cpp ---------------------------------------------------===//
#include "dialects/Sched/SchedDialect.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace zc::sched;

#include "dialects/Sched/MemoryClass.cpp.inc"
#include "dialects/Sched/SchedDialect.cpp.inc"

#include "dialects/Sched/SchedInterfaces.cpp.inc"

void SchedDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Sched/SchedOps.cpp.inc"
      >();
  registerAttributes();
}

namespace zc::sched {

bool isBufferType(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref && memref.hasStaticShape() && memref.getLayout().isIdentity() &&
         memref.getElementType().isIntOrFloat();
}

Value getRoot(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewOp>())
    buffer = view.getSource();
  return buffer;
}

int64_t getOffset(Value buffer) {
  int64_t elements = 0;
  while (auto view = buffer.getDefiningOp<ViewOp>()) {
    elements += view.getOffset();
    buffer = view.getSource();
  }
  int64_t bits = cast<MemRefType>(buffer.getType())
                     .getElementType()
                     .getIntOrFloatBitWidth();
  return elements * ((bits + 7) / 8);
}

int64_t getByteSize(ShapedType type) {
  int64_t bits = type.getElementType().getIntOrFloatBitWidth();
  return type.getNumElements() * ((bits + 7) / 8);
}

int64_t getByteSize(Value buffer) {
  return getByteSize(cast<ShapedType>(buffer.getType()));
}

MemRefType getBufferType(RankedTensorType type) {
  return MemRefType::get(type.getShape(), type.getElementType());
}

/// Whether it goes to the second memory. Copies beside the main stream go from
/// one memory to the other: an end that is allocated tells, else the state that
/// is written.
static bool isStore(CopyOp copy) {
  Operation *from = getRoot(copy.getSource()).getDefiningOp();
  Operation *to = getRoot(copy.getDestination()).getDefiningOp();
  if (isa_and_nonnull<AllocOp>(to))
    return isOffloadedAlloc(to);
  if (isa_and_nonnull<AllocOp>(from))
    return !isOffloadedAlloc(from);
  auto use = dyn_cast_or_null<StateOp>(to);
  auto state = use ? SymbolTable::lookupNearestSymbolFrom<train::StateOp>(
                         use, use.getStateAttr())
                   : train::StateOp();
  return state && state.getOffloaded();
}

Stream getStream(Operation *instruction) {
  if (auto collective = dyn_cast<CollectiveOp>(instruction))
    return collective.getAsync() ? kCollectiveStream : kMainStream;
  if (auto copy = dyn_cast<CopyOp>(instruction))
    return !copy.getAsync() ? kMainStream
           : isStore(copy)  ? kStoreStream
                            : kFetchStream;
  if (auto launch = dyn_cast<LaunchOp>(instruction))
    return launch.getHost() ? kHostStream : kMainStream;
  return kMainStream;
}

SmallVector<Operation *> UnderWay::step(Operation &op) {
  if (isa<InstructionOpInterface>(op)) {
    if (getStream(&op) != kMainStream)
      instructions.push_back(&op);
    return {};
  }
  auto wait = dyn_cast<WaitOp>(op);
  if (!wait)
    return {};
  auto *awaited = llvm::find_if(instructions, [&](Operation *each) {
    return llvm::is_contained(cast<InstructionOpInterface>(each).getWrites(),
                              wait.getBuffer());
  });
  if (awaited == instructions.end())
    return {};
  SmallVector<Operation *> ended, earlier;
  SmallVector<Operation *> later(awaited + 1, instructions.end());
  Stream stream = getStream(*awaited);
  for (Operation *each : llvm::make_range(instructions.begin(), awaited + 1))
    (getStream(each) == stream ? ended : earlier).push_back(each);
  instructions = std::move(earlier);
  instructions.append(later);
  return ended;
}

/// Whether `a` writes memory that `b` uses.
static bool writesWhatIsUsed(Operation *a, Operation *b) {
  for (Value write : cast<InstructionOpInterface>(a).getWrites())
    for (Value used : b->getOperands())
      if (getRoot(write) == getRoot(used))
        return true;
  return false;
}

bool shareMemory(Operation *a, Operation *b) {
  return writesWhatIsUsed(a, b) || writesWhatIsUsed(b, a);
}

/// Whether its instructions use the second memory.
static bool isOfSecondMemory(Stream stream) {
  return stream == kFetchStream || stream == kStoreStream ||
         stream == kHostStream;
}

SmallVector<Operation *> UnderWay::getAwaitedBy(Operation &op) const {
  const Stream stream = getStream(&op);
  SmallVector<Operation *> awaited;
  if (isOfSecondMemory(stream))
    for (Operation *each : instructions) {
      const Stream other = getStream(each);
      if (other != stream && isOfSecondMemory(other) && shareMemory(&op, each))
        awaited.push_back(each);
    }
  return awaited;
}

bool isOffloadedAlloc(Operation *root) {
  auto alloc = dyn_cast<AllocOp>(root);
  return alloc && alloc.getMemoryClass() == kOffloaded;
}

MemoryClass getMemoryClass(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewOp>()) {
    if (view.getMemoryClass())
      return *view.getMemoryClass();
    buffer = view.getSource();
  }
  if (auto alloc = buffer.getDefiningOp<AllocOp>())
    return alloc.getMemoryClass();
  return kActivations;
}

} // namespace zc::sched
