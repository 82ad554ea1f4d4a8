//===- RoundedReads.cpp - what may be read with few digits ----------------===//
#include "passes/Memory/RoundedReads.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Analysis/Messages.h"
#include "passes/Memory/StepAnalysis.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

// The gradient of a loss that is made of sums and products is the constant 1,
// which has no mark. Then gradients are not recognised and are asked like
// values, which is safe.
static bool isGradientArgument(func::FuncOp program, unsigned argument) {
  auto state =
      program.getArgAttrOfType<FlatSymbolRefAttr>(argument, kStateAttr);
  auto received = getReceived(program, argument);
  return (state && state.getValue() == kLossScale) ||
         (received && received->isGradient);
}

RoundedReads::RoundedReads(func::FuncOp program) {
  const StepAnalysis analysis(program);
  for (FusedOp op : analysis.getBackward())
    backward.insert(op.getOperation());
  for (BlockArgument argument : program.getArguments())
    if (isGradientArgument(program, argument.getArgNumber()))
      gradients.insert(argument);
  for (Operation &op : program.getBody().front().without_terminator())
    findGradients(op);
}

void RoundedReads::findGradients(Operation &op) {
  auto isGradient = [&](Value value) { return gradients.contains(value); };
  if (auto fused = dyn_cast<FusedOp>(op)) {
    Block &body = fused.getBody().front();
    for (OpOperand &operand : op.getOpOperands())
      if (isGradient(operand.get()))
        gradients.insert(body.getArgument(operand.getOperandNumber()));
    for (Operation &inner : body.without_terminator())
      findGradients(inner);
    for (OpOperand &yielded : body.getTerminator()->getOpOperands())
      if (isGradient(yielded.get()))
        gradients.insert(op.getResult(yielded.getOperandNumber()));
  } else if (isa<SoftmaxCrossEntropyGradOp>(op) ||
             llvm::any_of(op.getOperands(), isGradient)) {
    gradients.insert_range(op.getResults());
  }
}

//===----------------------------------------------------------------------===//
// Reads of rounded values
//===----------------------------------------------------------------------===//

namespace {

bool isComparedWithZero(OpOperand &read) {
  auto compare = dyn_cast<CompareOp>(read.getOwner());
  return compare && isZero(compare->getOperand(1 - read.getOperandNumber()));
}

bool isLinearRead(OpOperand &read) {
  auto op = dyn_cast<ShardableOpInterface>(read.getOwner());
  return op && op.getShardingRule().linearity[read.getOperandNumber()] !=
                   Linearity::None;
}

/// Whether the results have the signs that they would have without rounding. A
/// sum need not: its rounded terms may cancel otherwise.
bool keepsSigns(Operation *reader) {
  return isa<ConvertOp, ReshapeOp, BroadcastOp, TransposeOp>(reader);
}

/// Goes from rounded values to what is made of them.
class RoundedValues {
public:
  RoundedValues(const DenseSet<Operation *> &backward,
                const DenseSet<Value> &gradients)
      : backward(backward), gradients(gradients) {}

  /// An operand of a fused op that is a kept value.
  void start(OpOperand &read) { enter(read, /*hasSigns=*/true); }

  /// Whether all reads may be of few digits.
  bool areBorne() {
    for (size_t next = 0; next < values.size(); ++next)
      for (OpOperand &read : values[next].getUses())
        if (!follow(read))
          return false;
    return true;
  }

private:
  void add(Value value, bool hasSigns) {
    values.insert(value);
    if (hasSigns)
      withSigns.insert(value);
  }

  void enter(OpOperand &read, bool hasSigns) {
    Block &body = cast<FusedOp>(read.getOwner()).getBody().front();
    add(body.getArgument(read.getOperandNumber()), hasSigns);
  }

  bool follow(OpOperand &read) {
    Operation *reader = read.getOwner();
    const bool hasSigns = withSigns.contains(read.get());
    if (isa<YieldOp>(reader)) {
      if (!gradients.contains(read.get()))
        add(reader->getParentOp()->getResult(read.getOperandNumber()),
            hasSigns);
      return true;
    }
    if (isa<FusedOp>(reader)) {
      if (backward.contains(reader))
        enter(read, hasSigns);
      return true;
    }
    if (reader->hasTrait<OpTrait::IsTerminator>() ||
        (hasSigns && isComparedWithZero(read)))
      return true;
    for (Value result : reader->getResults())
      add(result, hasSigns && keepsSigns(reader));
    return isLinearRead(read);
  }

  const DenseSet<Operation *> &backward;
  const DenseSet<Value> &gradients;
  llvm::SetVector<Value> values; // in the order in which they were reached
  DenseSet<Value> withSigns;     // those of `values` that have the kept one's
};

} // namespace

bool RoundedReads::areBorne(ArrayRef<OpOperand *> reads) const {
  RoundedValues values(backward, gradients);
  for (OpOperand *read : reads)
    values.start(*read);
  return values.areBorne();
}

} // namespace zc
