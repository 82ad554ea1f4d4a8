//===- ApplyPlan.cpp - compute again what is not kept ---------------------===//
#include "passes/Memory/ApplyPlan.h"

#include "dialects/Dist/DistDialect.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Analysis/Views.h"
#include "passes/Scheduling/TrainProgram.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

/// The gather that makes all of the result; null for other ops.
static dist::AllGatherOp getGather(FusedOp op) {
  if (op.getInputs().size() != 1 || op.getNumResults() != 1)
    return nullptr;
  return dyn_cast<dist::AllGatherOp>(op.getBody().front().front());
}

/// Whether both gather the same, if for another pass.
static bool gatherTheSame(FusedOp op, FusedOp other) {
  auto own = getGather(op), theirs = getGather(other);
  if (!own || !theirs || op.getInputs() != other.getInputs() ||
      op.getResultTypes() != other.getResultTypes())
    return false;
  NamedAttrList attributes(own->getAttrs()), others(theirs->getAttrs());
  attributes.erase(dist::kPassAttr);
  others.erase(dist::kPassAttr);
  return attributes == others;
}

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

  /// What stands for `value` in the backward.
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
    if (FusedOp gather = findGather(producer)) {
      if (builder.getInsertionPoint()->isBeforeInBlock(gather))
        gather->moveBefore(&*builder.getInsertionPoint());
      clones.map(value, gather.getResult(0));
    } else {
      cloneProducer(builder, producer);
    }
    return clones.lookup(value);
  }

  /// The backward's own gather of parameters that a forward op gathers: what
  /// is computed again reads the same.
  FusedOp findGather(FusedOp op) const {
    if (!getGather(op) || op.getInputs()[0].getDefiningOp())
      return nullptr;
    for (Operation *user : op.getInputs()[0].getUsers())
      if (auto other = dyn_cast<FusedOp>(user))
        if (!analysis.isForward(other) && gatherTheSame(op, other))
          return other;
    return nullptr;
  }

  void cloneProducer(OpBuilder &builder, FusedOp op) {
    IRMapping operands;
    for (Value operand : op.getInputs())
      operands.map(operand, again(builder, operand));
    Operation *clone = builder.clone(*op, operands);
    clone->removeAttr(kGradientsAttr);
    clone->setAttr(kRecomputedAttr, builder.getUnitAttr());
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
