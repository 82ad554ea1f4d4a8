//===- TrainDialect.cpp ---------------------------------------------------===//
#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/GradientOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace zc::train;

#include "dialects/Train/OpKinds.cpp.inc"
#include "dialects/Train/StateKind.cpp.inc"
#include "dialects/Train/TrainDialect.cpp.inc"

void TrainDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Train/TrainOps.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/Train/GradientOps.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/Train/ExpertOps.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/Train/Float8Ops.cpp.inc"
      >();
}

Operation *TrainDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}
