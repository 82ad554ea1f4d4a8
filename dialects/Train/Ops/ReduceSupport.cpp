//===- ReduceSupport.cpp - reduce and scatter_reduce ----------------------===//
#include "dialects/Train/Ops/ReduceSupport.h"

using namespace mlir;

namespace zc::train {

Value buildCombination(OpBuilder &builder, Location loc, StringRef kind,
                       Value a, Value b) {
  bool isSum = kind == "sum" || kind == "sum_square";
  if (isa<FloatType>(a.getType())) {
    ScalarBuilder s(builder, loc);
    return isSum           ? s.add(a, b)
           : kind == "max" ? s.max(a, b)
           : kind == "min" ? s.min(a, b)
                           : s.mul(a, b);
  }
  if (isSum)
    return arith::AddIOp::create(builder, loc, a, b);
  if (a.getType().isInteger(1) && kind == "max")
    return arith::OrIOp::create(builder, loc, a, b);
  if (a.getType().isInteger(1))
    return arith::AndIOp::create(builder, loc, a, b);
  if (kind == "max")
    return arith::MaxSIOp::create(builder, loc, a, b);
  if (kind == "min")
    return arith::MinSIOp::create(builder, loc, a, b);
  return arith::MulIOp::create(builder, loc, a, b);
}

} // namespace zc::train
