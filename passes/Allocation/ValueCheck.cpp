//===- ValueCheck.cpp - nobody reads what is gone -------------------------===//
//
// A root holds one value at a time. Values are told apart by the buffer through
// which they were written; a view that nobody writes through is a name for the
// value of what it views.
//
//===----------------------------------------------------------------------===//
#include "passes/Allocation/ValueCheck.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace zc::sched;

namespace zc {

namespace {

class ValueCheck {
public:
  LogicalResult run(ProgramOp program) {
    for (auto op : program.getOps<InstructionOpInterface>())
      for (Value write : op.getWrites())
        written.insert(write);
    for (Operation &op : program.getBody().front()) {
      // An instruction is not under way in front of itself.
      if (isa<WaitOp>(op))
        underWay.step(op);
      if (failed(visit(op)))
        return failure();
      if (!isa<WaitOp>(op))
        underWay.step(op);
    }
    for (auto output : program.getOps<OutputOp>())
      if (failed(checkRead(output, output.getBuffer())))
        return failure();
    return success();
  }

private:
  LogicalResult visit(Operation &op) {
    if (isa<StateOp, InputOp>(op)) {
      current[op.getResult(0)] = op.getResult(0);
    } else if (auto instruction = dyn_cast<InstructionOpInterface>(op)) {
      if (failed(execute(instruction)))
        return failure();
    }
    return success();
  }

  /// Instructions of one stream run one after another; any other must wait for
  /// what it reads, and leave alone what is being read.
  LogicalResult checkUnderWay(InstructionOpInterface op) {
    auto refuse = [&](StringRef what, Operation *other) {
      StringRef kind = isa<CollectiveOp>(other) ? "collective"
                       : isa<CopyOp>(other)     ? "copy"
                                                : "launch on the host";
      InFlightDiagnostic error = op->emitOpError()
                                 << what << " an async " << kind
                                 << " under way, which nothing has waited for";
      error.attachNote(other->getLoc()) << "the " << kind << " is here";
      return error;
    };
    SmallVector<Value> writes = op.getWrites();
    if (Value scratch = op.getScratch())
      writes.push_back(scratch);
    const SmallVector<Operation *> awaited = underWay.getAwaitedBy(*op);
    for (Operation *other : underWay.get()) {
      if (getStream(other) == getStream(op) ||
          llvm::is_contained(awaited, other))
        continue;
      for (Value read : op.getReads())
        for (Value written : cast<InstructionOpInterface>(other).getWrites())
          if (getRoot(read) == getRoot(written))
            return refuse("reads what is written by", other);
      for (Value write : writes)
        for (Value used : other->getOperands())
          if (getRoot(write) == getRoot(used))
            return refuse("writes what is used by", other);
    }
    return success();
  }

  LogicalResult execute(InstructionOpInterface op) {
    if (failed(checkUnderWay(op)))
      return failure();
    for (Value read : op.getReads())
      if (failed(checkRead(op, read)))
        return failure();
    if (Value scratch = op.getScratch())
      current.erase(getRoot(scratch));
    for (Value write : op.getWrites()) {
      if (!done.insert(write).second ||
          isa<InputOp, StateOp>(write.getDefiningOp()))
        return op->emitOpError("writes a buffer that holds a value already; "
                               "a new value needs a new view");
      current[getRoot(write)] = write;
    }
    return success();
  }

  LogicalResult checkRead(Operation *op, Value buffer) {
    Value value = buffer;
    while (!written.contains(value)) {
      auto view = value.getDefiningOp<ViewOp>();
      if (!view)
        break;
      value = view.getSource();
    }
    Value held = current.lookup(getRoot(buffer));
    if (!held)
      return op->emitOpError("reads a buffer that nothing has written");
    if (held != value)
      return op->emitOpError("reads a value that has been overwritten");
    return success();
  }

  UnderWay underWay;
  llvm::DenseSet<Value> written;        // by some instruction
  llvm::DenseSet<Value> done;           // by one that has run
  llvm::DenseMap<Value, Value> current; // by root
};

} // namespace

LogicalResult checkValues(ProgramOp program) {
  return ValueCheck().run(program);
}

} // namespace zc
