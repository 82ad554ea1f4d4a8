//===- LowerKernels.cpp - a function over blocks for every kernel ---------===//
#include "dialects/Sched/SchedDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Codegen/CollapseDims.h"
#include "passes/Codegen/Cuda/KernelParts.h"
#include "passes/Codegen/Cuda/ThreadPlan.h"
#include "passes/Codegen/Cuda/TiledFunction.h"
#include "passes/Codegen/EqualKernels.h"
#include "passes/Codegen/KernelBody.h"
#include "passes/Codegen/KernelSplit.h"
#include "passes/Codegen/Passes.h"
#include "passes/Target/Target.h"

using namespace mlir;

namespace zc {
#define GEN_PASS_DEF_LOWERKERNELSPASS
#include "passes/Codegen/Passes.h.inc"

namespace {

MemRefType bufferType(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return MemRefType::get(type.getShape(), type.getElementType());
}

/// Builds the function of one kernel.
class KernelFunction {
public:
  /// With `anyLength` the code does not say how many blocks there are.
  KernelFunction(sched::KernelOp kernel, KernelSplit split,
                 bool anyLength = false)
      : kernel(kernel), body(kernel.getBody().front()), split(std::move(split)),
        anyLength(anyLength), builder(kernel.getContext()) {}

  int64_t grid() const { return split.grid(); }

  /// A GPU's threads are shared out among the loop over the blocks, so there
  /// even a single one has a loop: `inLoop`.
  func::FuncOp build(ModuleOp module, bool inLoop) {
    builder.setInsertionPointToEnd(module.getBody());
    func::FuncOp function = declare();
    Block *entry = function.addEntryBlock();
    builder.setInsertionPointToStart(entry);
    auto arguments = entry->getArguments();
    Value block =
        enterBlock(arguments.drop_back().back(), arguments.back(), inLoop);
    buildBlock(arguments, block);
    hoistTemporaries(function);
    return function;
  }

private:
  /// Returns the number of a block from `begin` to `end`; ops built next run
  /// for each of them. A single block needs no loop: out of a loop LLVM hoists,
  /// and then reassociates, ops that no store affects, so that the bits would
  /// depend on the buffers that the kernel shares.
  Value enterBlock(Value begin, Value end, bool inLoop) {
    Location loc = kernel.getLoc();
    if (split.grid() == 1 && !inLoop) {
      Value any = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                        begin, end);
      auto single = scf::IfOp::create(builder, loc, any);
      func::ReturnOp::create(builder, loc);
      builder.setInsertionPointToStart(single.thenBlock());
      return arith::ConstantIndexOp::create(builder, loc, 0);
    }
    Value step = arith::ConstantIndexOp::create(builder, loc, 1);
    auto loop = scf::ForOp::create(builder, loc, begin, end, step);
    func::ReturnOp::create(builder, loc);
    builder.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  }

  /// One argument a buffer: all inputs, then outputs that share none. The entry
  /// point must pass inputs and outputs in that order (`sched.buffers`).
  func::FuncOp declare() {
    SmallVector<Type> types;
    SmallVector<int32_t> order;
    for (auto [index, input] : llvm::enumerate(kernel.getInputs())) {
      types.push_back(argumentType(input));
      order.push_back(index);
    }
    unsigned inputs = types.size();
    for (auto [index, output] : llvm::enumerate(kernel.getOutputs())) {
      int shared = sharedInput(index);
      outputArgument.push_back(shared >= 0 ? shared : types.size());
      if (shared >= 0)
        continue;
      types.push_back(argumentType(output));
      order.push_back(inputs + index);
    }
    unsigned buffers = types.size();
    types.append(2, builder.getIndexType());
    auto function =
        func::FuncOp::create(builder, kernel.getLoc(), kernel.getFunctionName(),
                             builder.getFunctionType(types, {}));
    for (unsigned i = 0; i < buffers; ++i)
      function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                          builder.getUnitAttr());
    function->setAttr(kBuffersAttr, builder.getDenseI32ArrayAttr(order));
    function->setAttr(kSignatureAttr,
                      builder.getDenseI64ArrayAttr(signature()));
    return function;
  }

  /// The buffer of a value; of one block of it, if the length is free.
  MemRefType argumentType(Value value) {
    if (!anyLength)
      return bufferType(value.getType());
    return MemRefType::get(split.localShape(value),
                           getElementTypeOrSelf(value.getType()));
  }

  /// The numbers that a caller must agree with: the grid, and the bytes of
  /// every buffer, all inputs before all outputs.
  SmallVector<int64_t> signature() {
    SmallVector<int64_t> numbers = {split.grid()};
    for (ValueRange values :
         {ValueRange(kernel.getInputs()), ValueRange(kernel.getOutputs())}) {
      for (Value value : values) {
        auto type = cast<RankedTensorType>(value.getType());
        int64_t bits = type.getElementTypeBitWidth();
        numbers.push_back(type.getNumElements() * llvm::divideCeil(bits, 8));
      }
    }
    return numbers;
  }

  int sharedInput(unsigned output) {
    ArrayRef<int64_t> pairs = kernel.getShared();
    for (size_t i = 0; i < pairs.size(); i += 2)
      if (pairs[i + 1] == static_cast<int64_t>(output))
        return pairs[i];
    return -1;
  }

  void buildBlock(ValueRange arguments, Value block) {
    SmallVector<Value> offsets = blockOffsets(block);
    SmallVector<Value> inputs, outputs;
    DenseMap<Value, Value> window;
    auto part = [&](Value argument, Value value) {
      Value &cached = window[argument];
      if (!cached)
        cached = buildPart(argument, value, offsets);
      return cached;
    };
    for (auto [index, input] : llvm::enumerate(kernel.getInputs()))
      inputs.push_back(part(arguments[index], input));
    for (auto [index, output] : llvm::enumerate(kernel.getOutputs()))
      outputs.push_back(part(arguments[outputArgument[index]], output));
    buildKernelBody(builder, body, split, inputs, outputs);
  }

  /// First element, per loop of the split, of a block of the grid.
  SmallVector<Value> blockOffsets(Value block) {
    Location loc = kernel.getLoc();
    SmallVector<Value> offsets(split.loops.size());
    AffineExpr d0 = builder.getAffineDimExpr(0);
    int64_t inner = 1;
    for (size_t i = split.loops.size(); i > 0; --i) {
      const SplitLoop &loop = split.loops[i - 1];
      AffineExpr index = d0.floorDiv(inner);
      if (i > 1)
        index = index % loop.blocks;
      offsets[i - 1] = affine::AffineApplyOp::create(
          builder, loc, AffineMap::get(1, 0, index * loop.block), block);
      inner *= loop.blocks;
    }
    return offsets;
  }

  /// The part of a buffer that the block works on.
  Value buildPart(Value buffer, Value value, ArrayRef<Value> blockOffset) {
    const auto &dims = split.dims.find(value)->second;
    if (llvm::all_of(dims, [](int loop) { return loop < 0; }))
      return buffer;
    SmallVector<OpFoldResult> offsets, sizes, strides;
    for (auto [dim, size] : llvm::enumerate(split.localShape(value))) {
      int loop = dims[dim];
      offsets.push_back(loop < 0 ? OpFoldResult(builder.getIndexAttr(0))
                                 : OpFoldResult(blockOffset[loop]));
      sizes.push_back(builder.getIndexAttr(size));
      strides.push_back(builder.getIndexAttr(1));
    }
    return memref::SubViewOp::create(builder, kernel.getLoc(), buffer, offsets,
                                     sizes, strides);
  }

  /// A stack allocation in a loop would take new stack in every iteration.
  static void hoistTemporaries(func::FuncOp function) {
    Block &entry = function.getBody().front();
    SmallVector<memref::AllocaOp> temporaries;
    function.walk([&](memref::AllocaOp op) { temporaries.push_back(op); });
    for (memref::AllocaOp op : llvm::reverse(temporaries))
      op->moveBefore(&entry, entry.begin());
  }

  sched::KernelOp kernel;
  Block &body;
  KernelSplit split;
  bool anyLength;
  OpBuilder builder;
  SmallVector<unsigned> outputArgument;
};

struct LowerKernels : public impl::LowerKernelsPassBase<LowerKernels> {
  void runOnOperation() override {
    bool inTeams = getTarget(getOperation()).runsThreadBlocks();
    functions = FunctionTable();
    ModuleOp module = addModule(0);
    for (auto kernel : getOperation().getOps<sched::KernelOp>()) {
      if (inTeams && kernel.getHost())
        continue; // another module has it
      kernel.setGrid(inTeams ? buildForTeams(kernel, module)
                             : buildForCpu(kernel, module));
      // Later passes work on modules in parallel.
      if (int64_t number = functions.size() / kFunctionsPerModule;
          number == numModules)
        module = addModule(number);
    }
  }

private:
  /// Code that one thread lowers and compiles, of a network of many kernels.
  static constexpr int64_t kFunctionsPerModule = 64;

  ModuleOp addModule(int64_t number) {
    numModules = number + 1;
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    return ModuleOp::create(builder, getOperation().getLoc(),
                            number == 0
                                ? std::string(kKernelModule)
                                : (kKernelModule + "." + Twine(number)).str());
  }

  // Both return the grid of the kernel's launches. They build from a copy,
  // since launches go by the kernel's own types.

  int64_t buildForCpu(sched::KernelOp kernel, ModuleOp module) {
    OwningOpRef<sched::KernelOp> copy = kernel.clone();
    Block &body = copy->getBody().front();
    SmallVector<int64_t> shifts = takeOffsets(body, kernel.getShared());
    collapseDims(body, /*anyLength=*/true);
    bool flat = isFlat(body);
    // LLVM makes vectors of the loop over blocks of one element.
    KernelSplit split =
        flat ? chooseSplit(body, [](int64_t, bool) { return int64_t(1); })
             : chooseSplit(body);
    KernelFunction builder(*copy, std::move(split), flat);
    func::FuncOp function = builder.build(module, /*inLoop=*/false);
    if (llvm::any_of(shifts, [](int64_t bytes) { return bytes > 0; }))
      addShifts(function, shifts);
    functions.add(function);
    return builder.grid();
  }

  /// Records each input buffer's shift in bytes; outputs have none.
  static void addShifts(func::FuncOp function, ArrayRef<int64_t> ofInputs) {
    auto order = function->getAttrOfType<DenseI32ArrayAttr>(kBuffersAttr);
    SmallVector<int64_t> shifts;
    for (int32_t buffer : order.asArrayRef())
      shifts.push_back(size_t(buffer) < ofInputs.size() ? ofInputs[buffer] : 0);
    function->setAttr(kShiftsAttr,
                      DenseI64ArrayAttr::get(function.getContext(), shifts));
  }

  int64_t buildForTeams(sched::KernelOp kernel, ModuleOp module) {
    std::vector<cuda::KernelPart> parts = cuda::splitKernel(kernel);
    if (parts.size() == 1 && parts[0].copies.size() == 1) {
      parts[0].kernel->erase();
      OwningOpRef<sched::KernelOp> copy = kernel.clone();
      return teamsOf(buildForThreads(*copy, module));
    }
    SmallVector<func::FuncOp> functions;
    for (cuda::KernelPart &part : parts)
      functions.push_back(buildForThreads(part.kernel, module));
    int64_t teams = cuda::declareJoined(kernel, parts, functions, module);
    for (cuda::KernelPart &part : parts)
      part.kernel->erase();
    return teams;
  }

  static int64_t teamsOf(func::FuncOp function) {
    return function->getAttrOfType<DenseI64ArrayAttr>(kSignatureAttr)[0];
  }

  static func::FuncOp buildForThreads(sched::KernelOp kernel, ModuleOp module) {
    Block &body = kernel.getBody().front();
    if (cuda::findTiledOp(body))
      return cuda::buildTiledFunction(kernel, module);
    collapseDims(body, /*anyLength=*/false);
    KernelFunction perThread(kernel, cuda::chooseThreadSplit(body));
    func::FuncOp function = perThread.build(module, /*inLoop=*/true);
    // A thread would walk along a row, beside others on rows of their own: a
    // team reads it as one.
    bool alone = cuda::isWorkOfOneThread(function) && !cuda::readsHalves(body);
    if (!alone) {
      function.erase();
      KernelFunction perBlock(kernel, cuda::chooseTeamSplit(body));
      function = perBlock.build(module, /*inLoop=*/true);
    }
    cuda::setThreads(function, alone);
    return function;
  }

  FunctionTable functions; // for the CPU
  int64_t numModules = 0;
};

} // namespace
} // namespace zc
