//===- Compare.cpp - train.compare --------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

// Both predicates of one comparison, for floats and for signed integers.
static std::pair<arith::CmpFPredicate, arith::CmpIPredicate>
toArith(Predicate predicate) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  switch (predicate) {
  case Predicate::Eq:
    return {F::OEQ, I::eq};
  case Predicate::Ne:
    return {F::UNE, I::ne};
  case Predicate::Lt:
    return {F::OLT, I::slt};
  case Predicate::Le:
    return {F::OLE, I::sle};
  case Predicate::Gt:
    return {F::OGT, I::sgt};
  case Predicate::Ge:
    return {F::OGE, I::sge};
  }
  llvm_unreachable("all predicates have theirs");
}

LogicalResult CompareOp::verify() {
  if (getLhs().getType() != getRhs().getType())
    return emitOpError("operands have different types: ")
           << getLhs().getType() << " and " << getRhs().getType();
  return success();
}

Value CompareOp::buildScalar(OpBuilder &builder, Location loc,
                             ValueRange operands) {
  auto predicate = toArith(getPredicate());
  if (isa<FloatType>(operands[0].getType()))
    return arith::CmpFOp::create(builder, loc, predicate.first, operands[0],
                                 operands[1]);
  return arith::CmpIOp::create(builder, loc, predicate.second, operands[0],
                               operands[1]);
}

} // namespace zc::train
