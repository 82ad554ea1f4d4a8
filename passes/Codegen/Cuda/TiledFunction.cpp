//===- TiledFunction.cpp - kernels whose threads have tiles ---------------===//
#include "passes/Codegen/Cuda/TiledFunction.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Codegen/Cuda/ExpertTiles.h"
#include "passes/Codegen/Cuda/PoolThreads.h"
#include "passes/Codegen/Cuda/ThreadPlan.h"
#include "passes/Codegen/EqualKernels.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace zc::cuda {

Operation *findTiledOp(Block &body) {
  Operation &op = body.front();
  Operation *end = body.getTerminator();
  if (op.getNextNode() != end || op.getOperands() != body.getArguments() ||
      op.getResults() != end->getOperands())
    return nullptr;
  bool isTiled =
      llvm::TypeSwitch<Operation *, bool>(&op)
          .Case<train::GroupedMatmulOp, train::GroupedMatmulGradOp>(
              [](auto product) { return !product.getOrder().empty(); })
          .Case<train::ExpertOrderOp, train::MaxPoolPlacesOp,
                train::MaxPoolPlacesGradOp>([](auto) { return true; })
          .Default(false);
  return isTiled ? &op : nullptr;
}

static std::unique_ptr<TiledOp> makeTiledOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::unique_ptr<TiledOp>>(op)
      .Case(makeExpertOrder)
      .Case(makeGroupedProduct)
      .Case(makeGroupedGradient)
      .Case(makeMaxPoolPlaces)
      .Case(makeMaxPoolPlacesGrad);
}

/// The teams, their threads, and the bytes of all buffers: what a launch must
/// agree with.
static DenseI64ArrayAttr makeSignature(Builder &builder, sched::KernelOp kernel,
                                       const TiledOp &op) {
  SmallVector<int64_t> numbers = {op.teams(), op.threads()};
  for (ValueRange values :
       {ValueRange(kernel.getInputs()), ValueRange(kernel.getOutputs())})
    for (Value value : values)
      numbers.push_back(sched::getByteSize(cast<ShapedType>(value.getType())));
  return builder.getDenseI64ArrayAttr(numbers);
}

func::FuncOp buildTiledFunction(sched::KernelOp kernel, ModuleOp module) {
  std::unique_ptr<TiledOp> op =
      makeTiledOp(findTiledOp(kernel.getBody().front()));
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  unsigned buffers = kernel.getInputs().size() + kernel.getOutputs().size();
  SmallVector<Type> types;
  for (unsigned i = 0; i < buffers; ++i)
    types.push_back(op->bufferType(i));
  types.append(2, builder.getIndexType());
  auto function =
      func::FuncOp::create(builder, kernel.getLoc(), kernel.getFunctionName(),
                           builder.getFunctionType(types, {}));
  function->setAttr(kBuffersAttr, builder.getDenseI32ArrayAttr(llvm::to_vector(
                                      llvm::seq<int32_t>(0, buffers))));
  function->setAttr(kSignatureAttr, makeSignature(builder, kernel, *op));
  function->setAttr(kThreadsAttr, builder.getI64IntegerAttr(op->threads()));
  function->setAttr(kOwnThreadsAttr, builder.getUnitAttr());
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  auto end = func::ReturnOp::create(builder, kernel.getLoc());
  builder.setInsertionPoint(end);
  ValueRange arguments = entry->getArguments();
  op->build({builder, kernel.getLoc()}, arguments.take_front(buffers),
            arguments[buffers]);
  // The memory that threads share is taken once.
  SmallVector<memref::AllocaOp> shared;
  function.walk([&](memref::AllocaOp each) { shared.push_back(each); });
  for (memref::AllocaOp each : llvm::reverse(shared))
    each->moveBefore(entry, entry->begin());
  return function;
}

} // namespace zc::cuda
