//===- ReduceSupport.cpp - reduce and scatter_reduce ----------------------===//
#include "dialects/Train/Ops/ReduceSupport.h"

using namespace mlir;

namespace zc::train {

bool isAddition(ReduceKind kind) {
  return kind == ReduceKind::Sum || kind == ReduceKind::SumSquare;
}

Value buildCombination(OpBuilder &builder, Location loc, ReduceKind kind,
                       Value a, Value b) {
  const bool isSum = isAddition(kind);
  if (isa<FloatType>(a.getType())) {
    ScalarBuilder s(builder, loc);
    return isSum                     ? s.add(a, b)
           : kind == ReduceKind::Max ? s.max(a, b)
           : kind == ReduceKind::Min ? s.min(a, b)
                                     : s.mul(a, b);
  }
  if (isSum)
    return arith::AddIOp::create(builder, loc, a, b);
  if (a.getType().isInteger(1) && kind == ReduceKind::Max)
    return arith::OrIOp::create(builder, loc, a, b);
  if (a.getType().isInteger(1))
    return arith::AndIOp::create(builder, loc, a, b);
  if (kind == ReduceKind::Max)
    return arith::MaxSIOp::create(builder, loc, a, b);
  if (kind == ReduceKind::Min)
    return arith::MinSIOp::create(builder, loc, a, b);
  return arith::MulIOp::create(builder, loc, a, b);
}

} // namespace zc::train
