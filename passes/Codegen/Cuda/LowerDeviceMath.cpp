//===- LowerDeviceMath.cpp - math that PTX has instructions for -----------===//
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Codegen/Passes.h"

using namespace mlir;

namespace zc {
#define GEN_PASS_DEF_LOWERDEVICEMATHPASS
#include "passes/Codegen/Passes.h.inc"

namespace {

/// Calls, not LLVM's own ops: the conversion to NVVM would make these calls of
/// libdevice again.
StringRef intrinsicOf(StringRef op) {
  return llvm::StringSwitch<StringRef>(op)
      .Case("math.sqrt", "llvm.sqrt")
      .Case("math.absf", "llvm.fabs")
      .Case("math.floor", "llvm.floor")
      .Case("math.ceil", "llvm.ceil")
      .Case("math.trunc", "llvm.trunc")
      .Case("math.roundeven", "llvm.roundeven")
      .Case("math.copysign", "llvm.copysign")
      .Case("math.fma", "llvm.fma")
      .Default("");
}

struct LowerDeviceMath : public impl::LowerDeviceMathPassBase<LowerDeviceMath> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      StringRef intrinsic = intrinsicOf(op->getName().getStringRef());
      if (intrinsic.empty() || !isa<FloatType>(op->getResult(0).getType()))
        return;
      OpBuilder builder(op);
      Type type = op->getResult(0).getType();
      std::string name = (intrinsic + (type.isBF16() ? ".bf" : ".f") +
                          Twine(type.getIntOrFloatBitWidth()))
                             .str();
      auto call = LLVM::CallIntrinsicOp::create(builder, op->getLoc(), type,
                                                builder.getStringAttr(name),
                                                op->getOperands());
      op->replaceAllUsesWith(call);
      op->erase();
    });
  }
};

} // namespace
} // namespace zc
