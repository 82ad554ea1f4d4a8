//===- ApplyPlan.cpp - compute again what is not kept ---------------------===//
#include "passes/Memory/ApplyPlan.h"

#include "mlir/IR/IRMapping.h"
#include "passes/Analysis/Views.h"
#include "passes/Memory/JoinTurns.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

/// Clones are made where the backward first needs them and serve all that
/// comes after, so nothing runs more than twice.
class Recomputer {
public:
  Recomputer(const StepAnalysis &analysis, const llvm::BitVector &kept)
      : analysis(analysis), kept(kept) {}

  void rewriteOperands(FusedOp op) {
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands())
      operand.set(again(builder, operand.get()));
  }

  unsigned getNumClones() const { return numClones; }

private:
  bool isKept(Value value) const {
    Operation *op = value.getDefiningOp();
    return !op || !analysis.isForward(op) || !isa<FusedOp>(op) ||
           kept.test(analysis.getIndex(value));
  }

  /// The value that the backward reads in place of `value`.
  Value again(OpBuilder &builder, Value value) {
    if (Value known = clones.lookupOrNull(value))
      return known;
    Operation *view = value.getDefiningOp();
    if (Value viewed = view ? getViewed(view) : Value()) {
      Value source = again(builder, viewed);
      if (source == viewed)
        return value;
      clones.map(viewed, source);
      return builder.clone(*view, clones)->getResult(0);
    }
    if (isKept(value))
      return value;
    auto producer = value.getDefiningOp<FusedOp>();
    if (FusedOp gather = analysis.findGatherAgain(producer)) {
      if (builder.getInsertionPoint()->isBeforeInBlock(gather))
        gather->moveBefore(&*builder.getInsertionPoint());
      clones.map(value, gather.getResult(0));
    } else {
      cloneProducer(builder, producer);
    }
    return clones.lookup(value);
  }

  void cloneProducer(OpBuilder &builder, FusedOp op) {
    IRMapping operands;
    const std::optional<Turn> turn =
        joinTurns(op, [&](Value value) { return isKept(value); });
    for (Value operand : op.getInputs())
      operands.map(operand, again(builder, turn ? turn->begin : operand));
    auto clone = cast<FusedOp>(builder.clone(*op, operands));
    if (turn)
      setShift(clone, turn->shift);
    clone.setGradients({});
    clone.setRecomputed(true);
    ++numClones;
    for (auto [result, copy] : llvm::zip(op.getResults(), clone->getResults()))
      if (!isKept(result))
        clones.map(result, copy);
  }

  const StepAnalysis &analysis;
  const llvm::BitVector &kept;
  IRMapping clones;
  unsigned numClones = 0;
};

} // namespace

unsigned applyPlan(func::FuncOp program, const llvm::BitVector &kept) {
  StepAnalysis analysis(program);
  Recomputer recomputer(analysis, kept);
  for (FusedOp op : analysis.getBackward())
    recomputer.rewriteOperands(op);
  return recomputer.getNumClones();
}

} // namespace zc
