//===- SchedDialect.cpp ---------------------------------------------------===//
#include "dialects/Sched/SchedDialect.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace zc::sched;

#include "dialects/Sched/SchedDialect.cpp.inc"

#include "dialects/Sched/SchedInterfaces.cpp.inc"

void SchedDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Sched/SchedOps.cpp.inc"
      >();
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

SmallVector<CollectiveOp> UnderWay::step(Operation &op) {
  if (auto collective = dyn_cast<CollectiveOp>(op)) {
    if (collective.getAsync())
      collectives.push_back(collective);
    return {};
  }
  auto wait = dyn_cast<WaitOp>(op);
  if (!wait)
    return {};
  auto *awaited = llvm::find_if(collectives, [&](CollectiveOp each) {
    return each.getDestination() == wait.getBuffer();
  });
  if (awaited == collectives.end())
    return {};
  SmallVector<CollectiveOp> ended(collectives.begin(), awaited + 1);
  collectives.erase(collectives.begin(), awaited + 1);
  return ended;
}

StringRef getMemoryClass(Value buffer) {
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
