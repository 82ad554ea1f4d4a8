//===- DistDialect.cpp ----------------------------------------------------===//
#include "dialects/Dist/DistDialect.h"

using namespace mlir;
using namespace zc::dist;

#include "dialects/Dist/DistDialect.cpp.inc"

#include "dialects/Dist/DistInterfaces.cpp.inc"

void DistDialect::initialize() {
  registerAttrs();
  addOperations<
#define GET_OP_LIST
#include "dialects/Dist/DistOps.cpp.inc"
      >();
}
