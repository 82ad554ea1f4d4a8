//===- DistributeThreads.cpp - kernel functions as GPU kernels ------------===//
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "passes/Codegen/Cuda/ScatterLoop.h"
#include "passes/Codegen/Cuda/TeamLoops.h"
#include "passes/Codegen/Cuda/ThreadPlan.h"
#include "passes/Codegen/Passes.h"

using namespace mlir;

namespace zc {
#define GEN_PASS_DEF_DISTRIBUTETHREADSPASS
#include "passes/Codegen/Passes.h.inc"

namespace {

/// PTX's address spaces.
constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;
constexpr int64_t kWarp = 32;
/// What every GPU gives a thread block without being asked for more.
constexpr int64_t kSharedBytes = 48 << 10;

/// Barriers between the ops of a team, no more than needed: a write waits for
/// what was read and written before it, a read for what was written.
class TeamProgram {
public:
  TeamProgram(gpu::GPUFuncOp function, Value thread, int64_t size)
      : function(function), thread(thread), size(size) {}

  void run() { convertBlock(function.getBody().front()); }

  int64_t sharedBytes() const { return bytes; }

private:
  void convertBlock(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      convert(op);
  }

  void convert(Operation &op) {
    if (auto alloca = dyn_cast<memref::AllocaOp>(op)) {
      alloca.replaceAllUsesWith(
          share(alloca.getType(), alloca.getLoc(), alloca));
      alloca.erase();
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      convertLoop(loop);
    } else if (auto nest = dyn_cast<linalg::LinalgOp>(op)) {
      separate(&op, /*reads=*/true, /*writes=*/true);
      auto shareMemory = [&](int64_t elements, Type type) {
        return share(MemRefType::get({elements}, type), op.getLoc(), nullptr);
      };
      cuda::distribute(nest, {thread, size, shareMemory});
    } else if (isa<memref::StoreOp>(op)) {
      separate(&op, /*reads=*/false, /*writes=*/true);
      storeOnce(op);
    } else if (isa<memref::LoadOp>(op)) {
      separate(&op, /*reads=*/true, /*writes=*/false);
    }
  }

  /// All threads pass through the loop together.
  void convertLoop(scf::ForOp loop) {
    barrier(loop);
    if (auto scatter = cuda::findScatter(loop)) {
      divideRows(*scatter);
      read = written = true;
      return;
    }
    convertBlock(*loop.getBody());
    barrier(loop.getBody()->getTerminator());
  }

  /// Every warp has some rows of the table to itself, and their elements a
  /// thread each: updates of one row follow one another without a barrier.
  void divideRows(cuda::ScatterLoop scatter) {
    OpBuilder builder(scatter.update);
    Location loc = scatter.update.getLoc();
    auto index = [&](int64_t value) {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    Value lane = arith::RemUIOp::create(builder, loc, thread, index(kWarp));
    Value warp = arith::DivUIOp::create(builder, loc, thread, index(kWarp));
    Value owner =
        arith::RemUIOp::create(builder, loc, scatter.row, index(size / kWarp));
    Value mine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       owner, warp);
    auto branch = scf::IfOp::create(builder, loc, mine);
    scatter.update->moveBefore(branch.thenBlock()->getTerminator());
    auto shareNothing = [](int64_t, Type) -> Value {
      llvm_unreachable("an update sums nothing");
    };
    cuda::distribute(scatter.update, {lane, kWarp, shareNothing});
  }

  void separate(Operation *op, bool reads, bool writes) {
    if (written || (read && writes))
      barrier(op);
    read |= reads;
    written |= writes;
  }

  void barrier(Operation *before) {
    if (read || written) {
      OpBuilder builder(before);
      gpu::BarrierOp::create(builder, before->getLoc());
    }
    read = written = false;
  }

  void storeOnce(Operation &op) {
    OpBuilder builder(&op);
    Location loc = op.getLoc();
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        thread, zero);
    auto branch = scf::IfOp::create(builder, loc, first);
    op.moveBefore(branch.thenBlock()->getTerminator());
  }

  /// Shared memory, seen through an ordinary pointer.
  Value share(MemRefType type, Location loc, Operation *before) {
    auto shared = MemRefType::get(
        type.getShape(), type.getElementType(), type.getLayout(),
        IntegerAttr::get(IntegerType::get(type.getContext(), 64),
                         kSharedSpace));
    int64_t width = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    bytes += llvm::alignTo(type.getNumElements() * width, 16);
    Value memory = function.addWorkgroupAttribution(shared, loc);
    OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
    return memref::MemorySpaceCastOp::create(builder, loc, type, memory);
  }

  gpu::GPUFuncOp function;
  Value thread;
  int64_t size, bytes = 0;
  bool read = false, written = false;
};

/// One function made a kernel.
class KernelBuilder {
public:
  explicit KernelBuilder(func::FuncOp source)
      : source(source), builder(source.getContext()), loc(source.getLoc()),
        threads(number(cuda::kThreadsAttr)) {}

  LogicalResult build(gpu::GPUModuleOp module) {
    builder.setInsertionPointToEnd(module.getBody());
    declare();
    addSignature();
    Block &entry = function.getBody().front();
    builder.setInsertionPointToStart(&entry);
    Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
    bool alone = source->hasAttr(cuda::kBlockPerThreadAttr);
    auto [begin, end] = alone ? blockOfThread(thread) : blockOfTeam();
    moveBody(begin, end);
    if (alone) {
      computeAlone();
      return success();
    }
    shareWrittenBuffers();
    TeamProgram program(function, thread, threads);
    program.run();
    if (program.sharedBytes() <= kSharedBytes)
      return success();
    return source.emitError() << "needs " << program.sharedBytes()
                              << " bytes of shared memory on a GPU, which has "
                              << kSharedBytes << " for a team of threads";
  }

private:
  int64_t number(StringRef name) {
    return source->getAttrOfType<IntegerAttr>(name).getInt();
  }

  ArrayRef<int64_t> signature() {
    return source->getAttrOfType<DenseI64ArrayAttr>("zc.signature")
        .asArrayRef();
  }

  ArrayRef<int32_t> order() {
    return source->getAttrOfType<DenseI32ArrayAttr>("zc.buffers").asArrayRef();
  }

  /// All buffers of a launch; one that shares an input's memory stays unused.
  void declare() {
    ArrayRef<int64_t> bytes = signature().drop_front(2);
    SmallVector<Type> types;
    for (int64_t size : bytes)
      types.push_back(MemRefType::get({size}, builder.getI8Type()));
    for (auto [argument, buffer] : llvm::enumerate(order()))
      types[buffer] = source.getArgumentTypes()[argument];
    function = gpu::GPUFuncOp::create(builder, loc, source.getName(),
                                      builder.getFunctionType(types, {}));
    function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                      builder.getUnitAttr());
    function.setKnownBlockSizeAttr(
        builder.getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
    for (unsigned i = 0; i < types.size(); ++i) {
      function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                          builder.getUnitAttr());
      function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                          builder.getI64IntegerAttr(64));
    }
  }

  /// The grid, the threads of a team, the number of buffers and the bytes of
  /// each: the runtime calls nothing that disagrees.
  void addSignature() {
    SmallVector<int64_t> numbers(signature());
    numbers.insert(numbers.begin() + 2, numbers.size() - 2);
    Type type = builder.getI64Type();
    auto value = DenseElementsAttr::get(
        RankedTensorType::get(static_cast<int64_t>(numbers.size()), type),
        ArrayRef<int64_t>(numbers));
    LLVM::GlobalOp::create(builder, loc,
                           LLVM::LLVMArrayType::get(type, numbers.size()),
                           /*isConstant=*/true, LLVM::Linkage::External,
                           (source.getName() + "_signature").str(), value,
                           /*alignment=*/8, kGlobalSpace);
  }

  std::pair<Value, Value> blockOfTeam() {
    Value begin = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
    return {begin, arith::AddIOp::create(builder, loc, begin, index(1))};
  }

  /// Behind the last block the loop runs not at all.
  std::pair<Value, Value> blockOfThread(Value thread) {
    Value team = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
    Value first = arith::MulIOp::create(builder, loc, team, index(threads));
    Value begin = arith::AddIOp::create(builder, loc, first, thread);
    Value past = arith::AddIOp::create(builder, loc, begin, index(1));
    return {begin,
            arith::MinUIOp::create(builder, loc, past,
                                   index(number(cuda::kBlockPerThreadAttr)))};
  }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  /// A team of one thread: its loops are unrolled as teams' are, which LLVM
  /// would not do where the body is long.
  void computeAlone() {
    Block &entry = function.getBody().front();
    OpBuilder atStart = OpBuilder::atBlockBegin(&entry);
    Value thread = arith::ConstantIndexOp::create(atStart, loc, 0);
    auto shareNothing = [](int64_t, Type) -> Value {
      llvm_unreachable("one thread shares nothing");
    };
    SmallVector<linalg::LinalgOp> nests;
    function.walk([&](linalg::LinalgOp nest) { nests.push_back(nest); });
    for (linalg::LinalgOp nest : nests)
      cuda::distribute(nest, {thread, 1, shareNothing});
  }

  /// What a thread of a team writes others read behind a barrier, which LLVM
  /// takes for no access to memory that is `noalias`.
  void shareWrittenBuffers() {
    auto share = [&](Value buffer) {
      while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
        buffer = view.getViewSource();
      if (auto argument = dyn_cast<BlockArgument>(buffer))
        if (argument.getOwner() == &function.getBody().front())
          function.removeArgAttr(argument.getArgNumber(),
                                 LLVM::LLVMDialect::getNoAliasAttrName());
    };
    function.walk([&](linalg::LinalgOp op) {
      for (Value output : op.getDpsInits())
        share(output);
    });
    function.walk([&](memref::StoreOp op) { share(op.getMemRef()); });
  }

  void moveBody(Value begin, Value end) {
    IRMapping mapping;
    for (auto [argument, buffer] : llvm::enumerate(order()))
      mapping.map(source.getArgument(argument), function.getArgument(buffer));
    auto bounds = source.getArguments().take_back(2);
    mapping.map(bounds[0], begin);
    mapping.map(bounds[1], end);
    for (Operation &op : source.getBody().front().without_terminator())
      builder.clone(op, mapping);
    gpu::ReturnOp::create(builder, loc);
  }

  func::FuncOp source;
  OpBuilder builder;
  Location loc;
  int64_t threads;
  gpu::GPUFuncOp function;
};

struct DistributeThreads
    : public impl::DistributeThreadsPassBase<DistributeThreads> {
  void runOnOperation() override {
    auto functions = getOperation().lookupSymbol<ModuleOp>(kKernelModule);
    if (!functions)
      return;
    OpBuilder builder(functions);
    auto module = gpu::GPUModuleOp::create(builder, functions.getLoc(),
                                           StringRef(kKernelModule));
    for (auto function : functions.getOps<func::FuncOp>())
      if (failed(KernelBuilder(function).build(module)))
        return signalPassFailure();
    functions.erase();
  }
};

} // namespace
} // namespace zc
