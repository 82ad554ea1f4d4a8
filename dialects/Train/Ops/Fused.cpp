//===- Fused.cpp - train.fused ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

static LogicalResult verifyShared(FusedOp op) {
  ArrayRef<int64_t> pairs = op.getSharedBuffers();
  if (pairs.size() % 2 != 0)
    return op.emitOpError("shared_buffers are pairs (operand, result)");
  for (size_t i = 0; i < pairs.size(); i += 2) {
    int64_t operand = pairs[i], result = pairs[i + 1];
    if (operand < 0 || operand >= op.getNumOperands() || result < 0 ||
        result >= op.getNumResults())
      return op.emitOpError("shared_buffers names no operand or result");
    if (op.getOperand(operand).getType() != op.getResult(result).getType())
      return op.emitOpError("operand ")
             << operand << " and result " << result
             << " have different types and cannot share a buffer";
  }
  return success();
}

static LogicalResult verifyResults(FusedOp op, ArrayRef<int64_t> results,
                                   StringRef what) {
  for (int64_t result : results)
    if (result < 0 || result >= op.getNumResults())
      return op.emitOpError(what)
             << " result " << result << " of " << op.getNumResults();
  return success();
}

static LogicalResult verifyProperties(FusedOp op) {
  if ((op.getAsync() || op.getPrefetched()) &&
      op.getLibrary() != kCollectiveLibrary)
    return op.emitOpError("is async or prefetched, and no collective");
  if (op.getJoined() && !op.getLibrary())
    return op.emitOpError("joins ops for a library, and names none");
  for (NamedAttribute each : op.getJoinedAttr()
                                 ? op.getJoinedAttr()
                                 : DictionaryAttr::get(op.getContext()))
    if (!isa<DictionaryAttr>(each.getValue()))
      return op.emitOpError("joins ")
             << each.getName() << " = " << each.getValue()
             << "; expected a dictionary";
  return failure(
      failed(verifyResults(op, op.getOffloaded(), "offloads")) ||
      failed(verifyResults(op, op.getGradients(), "lists among gradients")) ||
      failed(verifyResults(op, op.getKeptGradients(),
                           "lists among kept_gradients")));
}

void FusedOp::takeFactsOf(FusedOp other) {
  setGradients(other.getGradients());
  setKeptGradients(other.getKeptGradients());
  setStaging(other.getStaging());
  setLate(other.getLate());
  setOfOtherRanks(other.getOfOtherRanks());
  setRunningSum(other.getRunningSum());
}

void FusedOp::takeMarksOf(Operation *op) {
  if (op->hasAttr(kStagingAttr))
    setStaging(true);
  if (op->hasAttr(kLateAttr))
    setLate(true);
  if (op->hasAttr(kOfOtherRanksAttr))
    setOfOtherRanks(true);
  if (auto sum = dyn_cast<AddOp>(op); sum && sum.getRunningSum())
    setRunningSum(true);
}

DictionaryAttr FusedOp::getJoined(StringRef kind) {
  DictionaryAttr joined = getJoinedAttr();
  return joined ? joined.getAs<DictionaryAttr>(kind) : DictionaryAttr();
}

void FusedOp::join(StringRef kind, DictionaryAttr what) {
  NamedAttrList joined(getJoinedAttr());
  joined.set(kind, what);
  setJoinedAttr(joined.getDictionary(getContext()));
}

LogicalResult FusedOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getOperandTypes())
    return emitOpError("block arguments do not have the operands' types");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError("does not yield values of the results' types");
  return failed(verifyShared(*this)) ? failure() : verifyProperties(*this);
}

} // namespace zc::train
