//===- AddEntryPoints.cpp - one signature for all kernels -----------------===//
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Codegen/Passes.h"

using namespace mlir;

namespace zc {
#define GEN_PASS_DEF_ADDENTRYPOINTSPASS
#include "passes/Codegen/Passes.h.inc"

namespace {

struct AddEntryPoints : public impl::AddEntryPointsPassBase<AddEntryPoints> {
  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> functions;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (function->hasAttr("zc.buffers"))
        functions.push_back(function);
    for (LLVM::LLVMFuncOp function : functions)
      addEntryPoint(function);
  }

private:
  /// A constant beside the entry point, by which the runtime checks its calls:
  /// the grid, the number of buffers and the bytes of each.
  void addSignature(LLVM::LLVMFuncOp function, const std::string &name) {
    auto signature =
        cast<DenseI64ArrayAttr>(function->removeAttr("zc.signature"))
            .asArrayRef();
    SmallVector<int64_t> numbers(signature);
    numbers.insert(numbers.begin() + 1, signature.size() - 1);
    OpBuilder builder(function);
    Type number = builder.getI64Type();
    auto value = DenseElementsAttr::get(
        RankedTensorType::get(static_cast<int64_t>(numbers.size()), number),
        ArrayRef<int64_t>(numbers));
    LLVM::GlobalOp::create(builder, function.getLoc(),
                           LLVM::LLVMArrayType::get(number, numbers.size()),
                           /*isConstant=*/true, LLVM::Linkage::External,
                           name + ".signature", value);
  }

  void addEntryPoint(LLVM::LLVMFuncOp function) {
    std::string name = function.getName().str();
    addSignature(function, name);
    function.setName(name + ".blocks");
    function.setLinkage(LLVM::Linkage::Internal);
    // Inlined, the arguments would lose what noalias says of them.
    function.setNoInline(true);
    auto order = cast<DenseI32ArrayAttr>(function->removeAttr("zc.buffers"))
                     .asArrayRef();

    OpBuilder builder(function);
    Location loc = function.getLoc();
    Type pointer = LLVM::LLVMPointerType::get(&getContext());
    Type index = builder.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(&getContext()), {pointer, index, index});
    auto entry = LLVM::LLVMFuncOp::create(builder, loc, name, type);
    builder.setInsertionPointToStart(entry.addEntryBlock(builder));
    SmallVector<Value> arguments;
    for (int32_t buffer : order) {
      Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer,
                                       entry.getArgument(0),
                                       ArrayRef<LLVM::GEPArg>{buffer});
      arguments.push_back(LLVM::LoadOp::create(builder, loc, pointer, slot));
    }
    arguments.push_back(entry.getArgument(1));
    arguments.push_back(entry.getArgument(2));
    LLVM::CallOp::create(builder, loc, function, arguments);
    LLVM::ReturnOp::create(builder, loc, ValueRange());
  }
};

} // namespace
} // namespace zc
