//===- Compare.cpp - train.compare --------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

// Both predicates of one comparison, for floats and for signed integers.
static std::optional<std::pair<arith::CmpFPredicate, arith::CmpIPredicate>>
parsePredicate(StringRef name) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  return llvm::StringSwitch<std::optional<std::pair<F, I>>>(name)
      .Case("eq", std::pair{F::OEQ, I::eq})
      .Case("ne", std::pair{F::UNE, I::ne})
      .Case("lt", std::pair{F::OLT, I::slt})
      .Case("le", std::pair{F::OLE, I::sle})
      .Case("gt", std::pair{F::OGT, I::sgt})
      .Case("ge", std::pair{F::OGE, I::sge})
      .Default(std::nullopt);
}

LogicalResult CompareOp::verify() {
  if (getLhs().getType() != getRhs().getType())
    return emitOpError("operands have different types: ")
           << getLhs().getType() << " and " << getRhs().getType();
  if (!parsePredicate(getPredicate()))
    return emitOpError("unknown predicate \"")
           << getPredicate() << "\"; expected eq, ne, lt, le, gt or ge";
  return success();
}

Value CompareOp::buildScalar(OpBuilder &builder, Location loc,
                             ValueRange operands) {
  auto predicate = *parsePredicate(getPredicate());
  if (isa<FloatType>(operands[0].getType()))
    return arith::CmpFOp::create(builder, loc, predicate.first, operands[0],
                                 operands[1]);
  return arith::CmpIOp::create(builder, loc, predicate.second, operands[0],
                               operands[1]);
}

} // namespace zc::train
