//===- And.cpp - train.and ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value AndOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  return arith::AndIOp::create(builder, loc, operands[0], operands[1]);
}

} // namespace zc::train
