//===- OpKernel.cpp - the linalg form of one op, compiled -----------------===//
#include "compiler/Interpreter/OpKernel.h"

#include "compiler/Interpreter/CloneAlone.h"
#include "compiler/Interpreter/ProgramCompiler.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace zc::interpreter {

std::vector<const void *> kindOf(Operation *op) {
  std::vector<const void *> key = {
      op->getName().getAsOpaquePointer(),
      op->getAttrDictionary().getAsOpaquePointer()};
  if (op->getNumRegions() > 0)
    key.push_back(op);
  for (Type type : op->getOperandTypes())
    key.push_back(type.getAsOpaquePointer());
  for (Type type : op->getResultTypes())
    key.push_back(type.getAsOpaquePointer());
  return key;
}

static void bindView(View &view, std::vector<Slot> &elements,
                     ArrayRef<int64_t> shape) {
  view.base = view.data = elements.data();
  view.sizes.assign(shape.begin(), shape.end());
  view.strides.assign(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    view.strides[dim - 1] = view.strides[dim] * shape[dim];
}

/// A function around the op's linalg form: memrefs of the operands, then of the
/// results, but for the one that is shared.
static func::FuncOp buildFunction(OpBuilder &builder, Operation *op,
                                  OpKernel::Shapes operands,
                                  OpKernel::Shapes results,
                                  OpKernel::SharedPair shared) {
  auto typesOf = [&](TypeRange types, OpKernel::Shapes shapes) {
    SmallVector<Type> memrefs;
    for (auto [type, shape] : llvm::zip_equal(types, shapes))
      memrefs.push_back(MemRefType::get(shape, getElementTypeOrSelf(type)));
    return memrefs;
  };
  SmallVector<Type> arguments = typesOf(op->getOperandTypes(), operands);
  llvm::append_range(arguments, typesOf(op->getResultTypes(), results));
  auto func =
      func::FuncOp::create(builder, op->getLoc(), "kernel",
                           builder.getFunctionType(arguments, TypeRange()));
  Block *block = func.addEntryBlock();
  SmallVector<Value> outputs(block->getArguments().drop_front(operands.size()));
  if (shared)
    outputs[shared->second] = block->getArgument(shared->first);
  builder.setInsertionPointToStart(block);
  train::buildLinalgForm(op, builder, op->getLoc(),
                         block->getArguments().take_front(operands.size()),
                         outputs);
  func::ReturnOp::create(builder, op->getLoc());
  return func;
}

static bool areOwn(TypeRange types, OpKernel::Shapes shapes) {
  return llvm::all_of(llvm::zip_equal(types, shapes), [](const auto &each) {
    auto [type, shape] = each;
    return cast<RankedTensorType>(type).getShape() == ArrayRef<int64_t>(shape);
  });
}

/// Whether there is such an op of these shapes: then its form is sound, which
/// takes longer to see.
static bool isSoundAlone(Operation *op, OpKernel::Shapes operands,
                         OpKernel::Shapes results) {
  auto typesOf = [](TypeRange types, OpKernel::Shapes shapes) {
    SmallVector<Type> all;
    for (auto [type, shape] : llvm::zip_equal(types, shapes))
      all.push_back(cast<RankedTensorType>(type).clone(shape));
    return all;
  };
  if (!isa<ShardableOpInterface>(op) || op->getNumRegions() > 0)
    return false;
  const SmallVector<Type> types = typesOf(op->getResultTypes(), results);
  OwningOpRef<ModuleOp> module =
      cloneAlone(op, typesOf(op->getOperandTypes(), operands), types);
  Operation *alone = &module->getBody()->front();
  cast<ShardableOpInterface>(alone).setPartTypes(types);
  ScopedDiagnosticHandler silent(op->getContext(),
                                 [](Diagnostic &) { return success(); });
  return succeeded(mlir::verify(alone));
}

FailureOr<OpKernel> OpKernel::compile(Operation *op, Shapes operands,
                                      Shapes results, Precision precision,
                                      SharedPair shared) {
  OpKernel kernel;
  if (!shared) {
    kernel.conv = ConvKernel::create(op, operands, results, precision);
    kernel.pool = PoolKernel::create(op, operands, results, precision);
  }
  if (kernel.conv || kernel.pool)
    return kernel;
  OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  func::FuncOp function = buildFunction(builder, op, operands, results, shared);
  // The form of an op fits the op's own types; others may be none of it.
  if (!(areOwn(op->getOperandTypes(), operands) &&
        areOwn(op->getResultTypes(), results)) &&
      !isSoundAlone(op, operands, results) && failed(mlir::verify(*module)))
    return failure();
  auto compiled = interpreter::compile(function, precision);
  if (failed(compiled))
    return failure();
  kernel.program = std::move(*compiled);
  kernel.shapes.assign(operands.begin(), operands.end());
  kernel.shapes.insert(kernel.shapes.end(), results.begin(), results.end());
  return kernel;
}

bool OpKernel::run(ArrayRef<std::vector<Slot> *> buffers) {
  if (conv)
    conv->run(buffers);
  if (pool)
    pool->run(buffers);
  if (!program)
    return true;
  for (auto [index, buffer] : llvm::enumerate(buffers))
    bindView(program->frame.views[index], *buffer, shapes[index]);
  execute(program->code, program->frame);
  return !std::exchange(program->frame.leftView, false);
}

} // namespace zc::interpreter
