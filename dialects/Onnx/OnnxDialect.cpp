#include "dialects/Onnx/OnnxDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace zc::onnx;

#include "dialects/Onnx/OnnxDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Onnx/OnnxAttrs.cpp.inc"

void OnnxDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Onnx/OnnxAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Onnx/OnnxOps.cpp.inc"
      >();
}
