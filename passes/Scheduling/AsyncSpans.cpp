//===- AsyncSpans.cpp - when async collectives have ended -----------------===//
#include "passes/Scheduling/AsyncSpans.h"
#include "passes/Scheduling/TrainProgram.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

AsyncSpans::AsyncSpans(func::FuncOp program) {
  SmallVector<FusedOp> underWay;
  unsigned position = 0;
  for (FusedOp op : program.getOps<FusedOp>()) {
    if (op.getAsync()) {
      underWay.push_back(op);
      ++position;
      continue;
    }
    size_t numEnded = 0;
    for (Value operand : op.getInputs()) {
      Operation *producer = getTensorRoot(operand).getDefiningOp();
      for (size_t i = numEnded; i < underWay.size(); ++i)
        if (underWay[i] == producer)
          numEnded = i + 1;
    }
    for (FusedOp ended : ArrayRef(underWay).take_front(numEnded)) {
      ends[ended] = position;
      awaited[op] = ended;
    }
    underWay.erase(underWay.begin(), underWay.begin() + numEnded);
    ++position;
  }
  for (FusedOp last : underWay)
    ends[last] = position;
}

} // namespace zc
