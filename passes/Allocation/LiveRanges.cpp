//===- LiveRanges.cpp - from first use to last ----------------------------===//
#include "passes/Allocation/LiveRanges.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>

using namespace mlir;
using namespace zc::sched;

namespace zc {

namespace {

class Builder {
public:
  std::vector<LiveRange> run(ProgramOp program) {
    for (Operation &op : program.getBody().front()) {
      // An asynchronous instruction may use its buffers up to the instruction
      // before its wait.
      for (Operation *ended : underWay.step(op))
        touchAll(ended, numInstructions - 1);
      visit(op);
    }
    for (Operation *last : underWay.get())
      touchAll(last, kUnused);
    unsigned end = numInstructions == 0 ? 0 : numInstructions - 1;
    for (LiveRange &range : ranges) {
      if (range.first == kUnused)
        range.first = range.last = 0;
      range.last = std::min(range.last, end);
    }
    return std::move(ranges);
  }

private:
  static constexpr unsigned kUnused = ~0u;

  void visit(Operation &op) {
    if (isa<InputOp, AllocOp>(op)) {
      // The host writes an input before instruction 0.
      unsigned first = isa<InputOp>(op) ? 0 : kUnused;
      indices[op.getResult(0)] = ranges.size();
      ranges.push_back({&op, getByteSize(op.getResult(0)), first, 0});
    } else if (auto output = dyn_cast<OutputOp>(op)) {
      touch(output.getBuffer(), kUnused);
    } else if (isa<InstructionOpInterface>(op)) {
      touchAll(&op, numInstructions);
      ++numInstructions;
    }
  }

  void touchAll(Operation *op, unsigned instruction) {
    for (Value operand : op->getOperands())
      touch(operand, instruction);
  }

  void touch(Value buffer, unsigned instruction) {
    auto index = indices.find(getRoot(buffer));
    if (index == indices.end())
      return; // a state
    LiveRange &range = ranges[index->second];
    range.first = std::min(range.first, instruction);
    range.last = std::max(range.last, instruction);
  }

  std::vector<LiveRange> ranges;
  llvm::DenseMap<Value, size_t> indices; // by root
  UnderWay underWay;
  unsigned numInstructions = 0;
};

} // namespace

std::vector<LiveRange> computeLiveRanges(ProgramOp program) {
  return Builder().run(program);
}

} // namespace zc
