//===- Registration.cpp - all dialects of zc ----------------------------===//
#include "compiler/Driver/Registration.h"

#include "compiler/Driver/WorkspaceBounds.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "passes/Target/Target.h"

namespace zc {

void registerDialects(mlir::DialectRegistry &registry) {
  insertDialects(registry);
  mlir::func::registerInlinerExtension(registry);
  registerTargets(registry, {getWorkspaceBound, getCudaWorkspaceBound});
  // The conversion to NVVM converts these dialects along with the gpu dialect.
  mlir::arith::registerConvertArithToLLVMInterface(registry);
  mlir::cf::registerConvertControlFlowToLLVMInterface(registry);
  mlir::index::registerConvertIndexToLLVMInterface(registry);
  mlir::registerConvertMemRefToLLVMInterface(registry);
  mlir::ub::registerConvertUBToLLVMInterface(registry);
}

} // namespace zc
