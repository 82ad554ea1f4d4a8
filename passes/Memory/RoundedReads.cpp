//===- RoundedReads.cpp - what may be read with few digits ----------------===//
#include "passes/Memory/RoundedReads.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Memory/StepAnalysis.h"
#include "passes/Scheduling/TrainProgram.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

RoundedReads::RoundedReads(func::FuncOp program) {
  StepAnalysis analysis(program);
  DenseSet<Operation *> others; // ops of the backward that run once
  for (FusedOp op : analysis.getBackward())
    if (!op->hasAttr(kRecomputedAttr))
      others.insert(op.getOperation());
  for (FusedOp op : analysis.getBackward())
    if (llvm::none_of(op.getInputs(), [&](Value operand) {
          return others.contains(getTensorRoot(operand).getDefiningOp());
        }))
      ofForward.insert(op.getOperation());
}

namespace {

bool isComparedWithZero(OpOperand &read) {
  auto compare = dyn_cast<CompareOp>(read.getOwner());
  Attribute other;
  return compare &&
         matchPattern(compare->getOperand(1 - read.getOperandNumber()),
                      m_Constant(&other)) &&
         isSplatOf(other, 0);
}

bool isLinearRead(OpOperand &read) {
  auto op = dyn_cast<ShardableOpInterface>(read.getOwner());
  return op && op.getShardingRule().linearity[read.getOperandNumber()] !=
                   Linearity::None;
}

/// Goes from rounded values to what is made of them.
class RoundedValues {
public:
  explicit RoundedValues(const DenseSet<Operation *> &ofForward)
      : ofForward(ofForward) {}

  /// An operand of a fused op.
  void enter(OpOperand &read) {
    Block &body = cast<FusedOp>(read.getOwner()).getBody().front();
    values.insert(body.getArgument(read.getOperandNumber()));
  }

  /// Whether all reads bear it.
  bool areBorne() {
    for (size_t next = 0; next < values.size(); ++next)
      for (OpOperand &read : values[next].getUses())
        if (!follow(read))
          return false;
    return true;
  }

private:
  bool follow(OpOperand &read) {
    Operation *reader = read.getOwner();
    if (isa<FusedOp>(reader)) {
      enter(read);
      return true;
    }
    if (isa<YieldOp>(reader)) {
      if (ofForward.contains(reader->getParentOp()))
        values.insert(
            reader->getParentOp()->getResult(read.getOperandNumber()));
      return true;
    }
    if (isComparedWithZero(read))
      return true;
    values.insert(reader->result_begin(), reader->result_end());
    return isLinearRead(read);
  }

  const DenseSet<Operation *> &ofForward;
  llvm::SetVector<Value> values; // in the order in which they were reached
};

} // namespace

bool RoundedReads::areBorne(ArrayRef<OpOperand *> reads) const {
  RoundedValues values(ofForward);
  for (OpOperand *read : reads)
    values.enter(*read);
  return values.areBorne();
}

} // namespace zc
