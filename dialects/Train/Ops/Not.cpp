//===- Not.cpp - train.not ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value NotOp::buildScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  Value one =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  return arith::XOrIOp::create(builder, loc, operands[0], one);
}

} // namespace zc::train
