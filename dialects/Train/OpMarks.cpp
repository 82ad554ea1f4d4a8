//===- OpMarks.cpp - facts that stand beside tensor ops -------------------===//
#include "dialects/Train/OpMarks.h"

#include "dialects/Train/ProgramBuilder.h"

using namespace mlir;

namespace zc::train {

static constexpr llvm::StringLiteral kResultLists[] = {kGradientsAttr,
                                                       kKeptGradientsAttr};
static constexpr llvm::StringLiteral kUnits[] = {kStagingAttr, kLateAttr,
                                                 kOfOtherRanksAttr};

bool hasOpMarks(Operation *op) {
  auto isOnOp = [&](StringRef name) { return op->hasAttr(name); };
  return llvm::any_of(kResultLists, isOnOp) || llvm::any_of(kUnits, isOnOp);
}

void removeOpMarks(Operation *op) {
  for (StringRef name : kResultLists)
    op->removeAttr(name);
  for (StringRef name : kUnits)
    op->removeAttr(name);
}

bool isListed(OpResult value, StringRef name) {
  auto list = value.getOwner()->getAttrOfType<DenseI64ArrayAttr>(name);
  return list && llvm::is_contained(list.asArrayRef(), value.getResultNumber());
}

/// Takes `result` off the list, and the list away when it is empty.
static void unmarkResult(OpResult result, StringRef name) {
  Operation *op = result.getOwner();
  SmallVector<int64_t> results(
      op->getAttrOfType<DenseI64ArrayAttr>(name).asArrayRef());
  llvm::erase(results, result.getResultNumber());
  if (results.empty())
    op->removeAttr(name);
  else
    op->setAttr(name, DenseI64ArrayAttr::get(op->getContext(), results));
}

void copyMark(Operation *from, Operation *to, StringRef name) {
  if (Attribute mark = from->getAttr(name))
    to->setAttr(name, mark);
}

void copyMarks(Operation *from, Operation *to) {
  to->setDiscardableAttrs(from->getDiscardableAttrDictionary());
}

void addMarks(Operation *from, Operation *to) {
  for (NamedAttribute mark : from->getDiscardableAttrs())
    if (!to->hasAttr(mark.getName()))
      to->setAttr(mark.getName(), mark.getValue());
}

void copyUnitMarks(Operation *from, Operation *to) {
  for (StringRef name : kUnits)
    copyMark(from, to, name);
}

void copyResultMarks(OpResult from, OpResult to) {
  for (StringRef name : kResultLists)
    if (isListed(from, name))
      markResult(to, name);
  copyUnitMarks(from.getOwner(), to.getOwner());
}

void moveResultMarks(OpResult from, OpResult to) {
  copyResultMarks(from, to);
  for (StringRef name : kResultLists)
    if (isListed(from, name))
      unmarkResult(from, name);
  from.getOwner()->removeAttr(kStagingAttr);
}

void replaceMarked(RewriterBase &rewriter, Operation *from, Operation *to) {
  copyResultMarks(from->getResult(0), to->getResult(0));
  rewriter.replaceOp(from, to);
}

} // namespace zc::train
