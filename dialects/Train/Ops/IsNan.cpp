//===- IsNan.cpp - train.is_nan -------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value IsNanOp::buildScalar(OpBuilder &builder, Location loc,
                           ValueRange operands) {
  return ScalarBuilder(builder, loc)
      .compare(arith::CmpFPredicate::UNO, operands[0], operands[0]);
}

} // namespace zc::train
