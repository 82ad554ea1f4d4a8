//===- LowerDeviceMath.cpp - math that PTX has instructions for -----------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Codegen/Cuda/DoubleMath.h"
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

/// The op as arithmetic, in float64; null where it is another op.
Value expand(OpBuilder &builder, Operation *op) {
  Location loc = op->getLoc();
  Type type = op->getNumResults() == 1 ? op->getResult(0).getType() : Type();
  if (auto power = dyn_cast<math::PowFOp>(op)) {
    Type wide = builder.getF64Type();
    auto widened = [&](Value value) -> Value {
      return type == wide ? value
                          : arith::ExtFOp::create(builder, loc, wide, value);
    };
    Value result = cuda::buildPow(builder, loc, widened(power.getLhs()),
                                  widened(power.getRhs()));
    return type == wide ? result
                        : arith::TruncFOp::create(builder, loc, type, result);
  }
  using Function = Value (*)(OpBuilder &, Location, Value);
  auto function = llvm::StringSwitch<Function>(op->getName().getStringRef())
                      .Case("math.exp", cuda::buildExp)
                      .Case("math.log", cuda::buildLog)
                      .Case("math.expm1", cuda::buildExpM1)
                      .Case("math.log1p", cuda::buildLog1P)
                      .Case("math.sinh", cuda::buildSinh)
                      .Case("math.cosh", cuda::buildCosh)
                      .Case("math.asinh", cuda::buildAsinh)
                      .Case("math.acosh", cuda::buildAcosh)
                      .Case("math.atanh", cuda::buildAtanh)
                      .Default(nullptr);
  if (!function || !type.isF64())
    return nullptr;
  return function(builder, loc, op->getOperand(0));
}

struct LowerDeviceMath : public impl::LowerDeviceMathPassBase<LowerDeviceMath> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      OpBuilder builder(op);
      if (Value expanded = expand(builder, op)) {
        op->replaceAllUsesWith(ValueRange(expanded));
        op->erase();
      }
    });
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
