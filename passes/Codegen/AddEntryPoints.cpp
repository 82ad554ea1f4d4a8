//===- AddEntryPoints.cpp - one signature for all kernels -----------------===//
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Codegen/EqualKernels.h"
#include "passes/Codegen/Passes.h"
#include "passes/Codegen/ShareCode.h"

using namespace mlir;

namespace zc {
#define GEN_PASS_DEF_ADDENTRYPOINTSPASS
#include "passes/Codegen/Passes.h.inc"

namespace {

struct AddEntryPoints : public impl::AddEntryPointsPassBase<AddEntryPoints> {
  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> functions;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (function->hasAttr(kBuffersAttr))
        functions.push_back(function);
    for (LLVM::LLVMFuncOp function : functions)
      addEntryPoints(function);
  }

private:
  /// A constant beside the entry point, by which the runtime checks its calls:
  /// the grid, the number of buffers and the bytes of each.
  void addSignature(LLVM::LLVMFuncOp function, const std::string &name,
                    ArrayRef<int64_t> signature) {
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

  /// One for each kernel that the function computes.
  void addEntryPoints(LLVM::LLVMFuncOp function) {
    std::string name = function.getName().str();
    function.setName(name + ".blocks");
    function.setLinkage(LLVM::Linkage::Internal);
    // Inlined, the arguments would lose what noalias says of them.
    function.setNoInline(true);
    NamedAttrList own;
    own.set("name", StringAttr::get(&getContext(), name));
    // Nor shall LLVM make a copy of it for each kernel's numbers.
    if (function->hasAttr(kNumbersAttr))
      function.setPassthroughAttr(ArrayAttr::get(
          &getContext(), StringAttr::get(&getContext(), "noduplicate")));
    for (StringRef key :
         {kBuffersAttr, kSignatureAttr, kShiftsAttr, kNumbersAttr})
      if (Attribute value = function->removeAttr(key))
        own.set(key, value);
    llvm::MapVector<Attribute, LLVM::LLVMFuncOp> known;
    auto add = [&](DictionaryAttr kernel) {
      std::string name = kernel.getAs<StringAttr>("name").str();
      addSignature(function, name,
                   kernel.getAs<DenseI64ArrayAttr>(kSignatureAttr));
      // Kernels that call alike have one entry point, of several names.
      LLVM::LLVMFuncOp &entry = known[describeCall(kernel)];
      if (entry)
        addName(entry, name);
      else
        entry = addEntryPoint(function, kernel, name);
    };
    add(own.getDictionary(&getContext()));
    if (auto aliases =
            cast_or_null<ArrayAttr>(function->removeAttr(kAliasesAttr)))
      for (auto alias : aliases.getAsRange<DictionaryAttr>())
        add(alias);
  }

  /// All that an entry point of the kernel does is said by this.
  Attribute describeCall(DictionaryAttr kernel) {
    NamedAttrList call;
    for (StringRef key : {kBuffersAttr, kShiftsAttr, kNumbersAttr})
      if (Attribute value = kernel.get(key))
        call.set(key, value);
    return call.getDictionary(&getContext());
  }

  /// Another name for an entry point.
  static void addName(LLVM::LLVMFuncOp entry, StringRef name) {
    OpBuilder builder(entry->getContext());
    builder.setInsertionPointAfter(entry);
    Location loc = entry.getLoc();
    auto alias = LLVM::AliasOp::create(builder, loc, entry.getFunctionType(),
                                       LLVM::Linkage::External, name);
    builder.setInsertionPointToStart(
        &alias.getInitializerRegion().emplaceBlock());
    Value address = LLVM::AddressOfOp::create(builder, loc, entry);
    LLVM::ReturnOp::create(builder, loc, address);
  }

  LLVM::LLVMFuncOp addEntryPoint(LLVM::LLVMFuncOp function,
                                 DictionaryAttr kernel, StringRef name) {
    auto shifts = kernel.getAs<DenseI64ArrayAttr>(kShiftsAttr);
    OpBuilder builder(function);
    Location loc = function.getLoc();
    Type pointer = LLVM::LLVMPointerType::get(&getContext());
    Type index = builder.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(&getContext()), {pointer, index, index});
    auto entry = LLVM::LLVMFuncOp::create(builder, loc, name, type);
    builder.setInsertionPointToStart(entry.addEntryBlock(builder));
    SmallVector<Value> arguments;
    auto order = kernel.getAs<DenseI32ArrayAttr>(kBuffersAttr).asArrayRef();
    for (auto [number, buffer] : llvm::enumerate(order)) {
      Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer,
                                       entry.getArgument(0),
                                       ArrayRef<LLVM::GEPArg>{buffer});
      Value begin = LLVM::LoadOp::create(builder, loc, pointer, slot);
      if (shifts && shifts[number] > 0) {
        Value bytes = LLVM::ConstantOp::create(
            builder, loc, index, builder.getI64IntegerAttr(shifts[number]));
        begin = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(),
                                    begin, ArrayRef<LLVM::GEPArg>{bytes});
      }
      arguments.push_back(begin);
    }
    arguments.push_back(entry.getArgument(1));
    arguments.push_back(entry.getArgument(2));
    if (auto numbers = kernel.getAs<DenseI64ArrayAttr>(kNumbersAttr))
      for (int64_t number : numbers.asArrayRef())
        arguments.push_back(LLVM::ConstantOp::create(
            builder, loc, index, builder.getI64IntegerAttr(number)));
    LLVM::CallOp::create(builder, loc, function, arguments);
    LLVM::ReturnOp::create(builder, loc, ValueRange());
    return entry;
  }
};

} // namespace
} // namespace zc
