//===- DistributeThreads.cpp - kernel functions as GPU kernels ------------===//
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "passes/Codegen/Cuda/KernelParts.h"
#include "passes/Codegen/Cuda/TeamLoops.h"
#include "passes/Codegen/Cuda/TeamProgram.h"
#include "passes/Codegen/Cuda/ThreadPlan.h"
#include "passes/Codegen/Cuda/TiledFunction.h"
#include "passes/Codegen/EqualKernels.h"
#include "passes/Codegen/Passes.h"

using namespace mlir;

namespace zc {
#define GEN_PASS_DEF_DISTRIBUTETHREADSPASS
#include "passes/Codegen/Passes.h.inc"

namespace {

/// PTX's address spaces.
constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;
constexpr int64_t kSharedAlignment = 16;
/// A signature begins with so many numbers, the grid and the threads; the bytes
/// of the buffers follow.
constexpr size_t kHeadNumbers = 2;
/// Every GPU gives a thread block so much shared memory without being asked for
/// more.
constexpr int64_t kSharedBytes = 48 << 10;

/// Shared memory of a kernel. Parts of it that no team computes both lie at the
/// same place; where there is one part only, its temporaries have names.
class SharedMemory {
public:
  SharedMemory(gpu::GPUFuncOp function, bool overlaid)
      : function(function), overlaid(overlaid) {}

  void beginPart() { used = 0; }
  int64_t bytes() const { return largest; }

  Value share(MemRefType type, Location loc) {
    int64_t width = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    int64_t offset = used;
    used += llvm::alignTo(type.getNumElements() * width, kSharedAlignment);
    largest = std::max(largest, used);
    OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
    auto shared = inSharedSpace(MemRefType::get(
        type.getShape(), type.getElementType(), type.getLayout()));
    Value memory = overlaid ? overlay(builder, shared, offset, loc)
                            : function.addWorkgroupAttribution(shared, loc);
    return memref::MemorySpaceCastOp::create(builder, loc, type, memory);
  }

private:
  static MemRefType inSharedSpace(MemRefType type) {
    auto space = IntegerType::get(type.getContext(), 64);
    return MemRefType::get(type.getShape(), type.getElementType(),
                           type.getLayout(),
                           IntegerAttr::get(space, kSharedSpace));
  }

  Value overlay(OpBuilder &builder, MemRefType type, int64_t offset,
                Location loc) {
    MemRefType all =
        inSharedSpace(MemRefType::get({largest}, builder.getI8Type()));
    if (!pool) {
      pool = function.addWorkgroupAttribution(all, loc);
      function.setWorkgroupAttributionAttr(
          0, LLVM::LLVMDialect::getAlignAttrName(),
          builder.getI64IntegerAttr(kSharedAlignment));
    }
    pool.setType(all);
    Value place = arith::ConstantIndexOp::create(builder, loc, offset);
    return memref::ViewOp::create(builder, loc, type, pool, place,
                                  ValueRange());
  }

  gpu::GPUFuncOp function;
  bool overlaid;
  BlockArgument pool;
  int64_t used = 0, largest = 0;
};

/// A function that some teams of a kernel run.
struct Part {
  func::FuncOp function;
  /// For every copy, the kernel's buffers that are the function's.
  SmallVector<SmallVector<int32_t>> copies;

  int64_t number(StringRef name) {
    return function->getAttrOfType<IntegerAttr>(name).getInt();
  }
  int64_t teams() {
    return function->getAttrOfType<DenseI64ArrayAttr>(kSignatureAttr)[0];
  }
  int64_t allTeams() { return teams() * static_cast<int64_t>(copies.size()); }
  int64_t rowTeams() {
    auto count = function->getAttrOfType<IntegerAttr>(cuda::kRowTeamsAttr);
    return count ? count.getInt() : 1;
  }
  bool hasOwnThreads() { return function->hasAttr(cuda::kOwnThreadsAttr); }
  bool isOfThreads() { return function->hasAttr(cuda::kBlockPerThreadAttr); }

  /// The buffers of a copy in the order of the function's arguments.
  SmallVector<int32_t> arguments(size_t copy) {
    auto order = function->getAttrOfType<DenseI32ArrayAttr>(kBuffersAttr);
    SmallVector<int32_t> buffers;
    for (int32_t buffer : order.asArrayRef())
      buffers.push_back(copies[copy][buffer]);
    return buffers;
  }
};

/// Builds a kernel of the function of one, or of several that were joined.
class KernelBuilder {
public:
  KernelBuilder(func::FuncOp source, ModuleOp functions)
      : source(source), builder(source.getContext()), loc(source.getLoc()),
        threads(signature()[1]) {
    auto list = source->getAttrOfType<ArrayAttr>(cuda::kPartsAttr);
    if (!list) {
      auto buffers = llvm::to_vector(
          llvm::seq<int32_t>(0, signature().size() - kHeadNumbers));
      parts.push_back({source, {buffers}});
      return;
    }
    for (auto part : list.getAsRange<DictionaryAttr>()) {
      auto name = part.getAs<FlatSymbolRefAttr>("function");
      parts.push_back({functions.lookupSymbol<func::FuncOp>(name), {}});
      for (auto copy :
           part.getAs<ArrayAttr>("copies").getAsRange<DenseI32ArrayAttr>())
        parts.back().copies.emplace_back(copy.asArrayRef());
    }
  }

  LogicalResult build(gpu::GPUModuleOp module) {
    builder.setInsertionPointToEnd(module.getBody());
    declare();
    addSignature();
    Block &entry = function.getBody().front();
    builder.setInsertionPointToStart(&entry);
    builder.setInsertionPoint(gpu::ReturnOp::create(builder, loc));
    thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
    team = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
    // Loads of matrices want them aligned, as they are in one pool.
    bool isTiled =
        llvm::any_of(parts, [](Part &part) { return part.hasOwnThreads(); });
    SharedMemory memory(function, isJoined() || isTiled);
    int64_t begin = 0;
    for (Part &part : parts) {
      memory.beginPart();
      buildPart(part, begin, memory);
      begin += part.allTeams();
    }
    if (memory.bytes() <= kSharedBytes)
      return success();
    return source.emitError() << "needs " << memory.bytes()
                              << " bytes of shared memory on a GPU, which has "
                              << kSharedBytes << " for a team of threads";
  }

private:
  bool isJoined() { return source->hasAttr(cuda::kPartsAttr); }

  ArrayRef<int64_t> signature() {
    return source->getAttrOfType<DenseI64ArrayAttr>(kSignatureAttr)
        .asArrayRef();
  }

  /// All buffers of a launch; one that shares an input's memory stays unused.
  void declare() {
    ArrayRef<int64_t> bytes = signature().drop_front(kHeadNumbers);
    SmallVector<Type> types;
    for (int64_t size : bytes)
      types.push_back(MemRefType::get({size}, builder.getI8Type()));
    for (Part &part : parts)
      for (size_t copy = 0; copy < part.copies.size(); ++copy)
        for (auto [argument, buffer] : llvm::enumerate(part.arguments(copy)))
          types[buffer] = part.function.getArgumentTypes()[argument];
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
    for (Part &part : parts)
      if (!part.isOfThreads())
        shareWrittenBuffers(part);
  }

  /// The grid, the threads of a team, the number of buffers and the bytes of
  /// each: the runtime calls nothing that disagrees.
  void addSignature() {
    SmallVector<int64_t> numbers(signature());
    numbers.insert(numbers.begin() + kHeadNumbers,
                   numbers.size() - kHeadNumbers);
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

  /// Removes `noalias` from buffers that the part writes. Threads of a thread
  /// block read behind a barrier what others of it wrote, and LLVM believes
  /// that a barrier accesses no `noalias` memory.
  void shareWrittenBuffers(Part &part) {
    auto share = [&](Value buffer) {
      while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
        buffer = view.getViewSource();
      auto argument = dyn_cast<BlockArgument>(buffer);
      if (!argument || argument.getOwner() != &part.function.getBody().front())
        return;
      for (size_t copy = 0; copy < part.copies.size(); ++copy)
        function.removeArgAttr(part.arguments(copy)[argument.getArgNumber()],
                               LLVM::LLVMDialect::getNoAliasAttrName());
    };
    part.function.walk([&](linalg::LinalgOp op) {
      for (Value output : op.getDpsInits())
        share(output);
    });
    part.function.walk([&](memref::StoreOp op) { share(op.getMemRef()); });
  }

  /// Teams from `begin` on run the part, and of their threads as many as it is
  /// made for; others go on to the next part, which has teams of its own.
  void buildPart(Part &part, int64_t begin, SharedMemory &memory) {
    Block *block = &function.getBody().front();
    builder.setInsertionPoint(block->getTerminator());
    Value number = team;
    if (isJoined()) {
      number = arith::SubIOp::create(builder, loc, team, index(begin));
      Value mine =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number,
                                index(part.allTeams()));
      int64_t own = part.number(cuda::kThreadsAttr);
      if (own < threads) {
        Value works = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::ult, thread, index(own));
        mine = arith::AndIOp::create(builder, loc, mine, works);
      }
      auto branch = scf::IfOp::create(builder, loc, mine);
      block = branch.thenBlock();
      builder.setInsertionPoint(block->getTerminator());
    }
    moveBody(part, number);
    if (part.isOfThreads())
      computeAlone(*block);
    else
      computeTogether(part, *block, memory);
  }

  void moveBody(Part &part, Value number) {
    Value copy = index(0);
    if (part.copies.size() > 1) {
      copy = arith::DivUIOp::create(builder, loc, number, index(part.teams()));
      number =
          arith::RemUIOp::create(builder, loc, number, index(part.teams()));
    }
    if (part.rowTeams() > 1) {
      Value count = index(part.rowTeams());
      rowTeam = arith::RemUIOp::create(builder, loc, number, count);
      number = arith::DivUIOp::create(builder, loc, number, count);
    }
    IRMapping mapping;
    mapping.map(part.function.getArguments().drop_back(2),
                chooseBuffers(part, copy));
    auto [begin, end] =
        part.isOfThreads() ? blockOfThread(part, number) : blockOfTeam(number);
    auto bounds = part.function.getArguments().take_back(2);
    mapping.map(bounds[0], begin);
    mapping.map(bounds[1], end);
    for (Operation &op : part.function.getBody().front().without_terminator())
      builder.clone(op, mapping);
  }

  /// The buffers of the copy that this team computes.
  SmallVector<Value> chooseBuffers(Part &part, Value copy) {
    SmallVector<SmallVector<int32_t>> buffers;
    for (size_t i = 0; i < part.copies.size(); ++i)
      buffers.push_back(part.arguments(i));
    SmallVector<Value> chosen;
    for (int32_t buffer : buffers[0])
      chosen.push_back(function.getArgument(buffer));
    if (buffers.size() == 1)
      return chosen;
    auto cases = llvm::to_vector(llvm::seq<int64_t>(1, buffers.size()));
    auto choice = scf::IndexSwitchOp::create(
        builder, loc, ValueRange(chosen).getTypes(), copy, cases, cases.size());
    auto fill = [&](Region &region, ArrayRef<int32_t> list) {
      OpBuilder inside = OpBuilder::atBlockEnd(&region.emplaceBlock());
      auto values = llvm::map_to_vector(list, [&](int32_t buffer) -> Value {
        return function.getArgument(buffer);
      });
      scf::YieldOp::create(inside, loc, values);
    };
    fill(choice.getDefaultRegion(), buffers[0]);
    for (auto [region, list] :
         llvm::zip(choice.getCaseRegions(), llvm::drop_begin(buffers)))
      fill(region, list);
    return SmallVector<Value>(choice.getResults());
  }

  std::pair<Value, Value> blockOfTeam(Value number) {
    return {number, arith::AddIOp::create(builder, loc, number, index(1))};
  }

  /// Behind the last block the loop runs not at all.
  std::pair<Value, Value> blockOfThread(Part &part, Value number) {
    Value first = arith::MulIOp::create(builder, loc, number,
                                        index(part.number(cuda::kThreadsAttr)));
    Value begin = arith::AddIOp::create(builder, loc, first, thread);
    Value past = arith::AddIOp::create(builder, loc, begin, index(1));
    return {begin, arith::MinUIOp::create(
                       builder, loc, past,
                       index(part.number(cuda::kBlockPerThreadAttr)))};
  }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  /// A team of one thread: its loops are unrolled as teams' are, which LLVM
  /// would not do where the body is long.
  void computeAlone(Block &block) {
    Block &entry = function.getBody().front();
    OpBuilder atStart = OpBuilder::atBlockBegin(&entry);
    Value first = arith::ConstantIndexOp::create(atStart, loc, 0);
    auto shareNothing = [](int64_t, Type) -> Value {
      llvm_unreachable("one thread shares nothing");
    };
    SmallVector<linalg::LinalgOp> nests;
    block.walk([&](linalg::LinalgOp nest) { nests.push_back(nest); });
    for (linalg::LinalgOp nest : nests)
      cuda::distribute(nest, {first, 1, shareNothing});
    // Memory on the stack is taken once.
    for (auto op : llvm::make_early_inc_range(block.getOps<memref::AllocaOp>()))
      op->moveBefore(&entry, entry.begin());
  }

  void computeTogether(Part &part, Block &block, SharedMemory &memory) {
    auto share = [&](MemRefType type, Location at) {
      return memory.share(type, at);
    };
    int64_t own = part.number(cuda::kThreadsAttr);
    if (part.hasOwnThreads())
      shareTemporaries(block, share);
    else
      cuda::TeamProgram(thread, own, share, {rowTeam, part.rowTeams()})
          .run(block);
    if (own < threads)
      block.walk([&](gpu::BarrierOp op) { limitBarrier(op, own); });
  }

  static void
  shareTemporaries(Block &block,
                   llvm::function_ref<Value(MemRefType, Location)> share) {
    for (auto op :
         llvm::make_early_inc_range(block.getOps<memref::AllocaOp>())) {
      op.replaceAllUsesWith(share(op.getType(), op.getLoc()));
      op.erase();
    }
  }

  /// Waits for the first `count` threads only: others do not come.
  void limitBarrier(gpu::BarrierOp op, int64_t count) {
    OpBuilder at(op);
    auto number = [&](int64_t value) {
      return LLVM::ConstantOp::create(at, loc, at.getI32Type(),
                                      at.getI32IntegerAttr(value));
    };
    NVVM::BarrierOp::create(at, loc, TypeRange(), number(1), number(count), {},
                            Value());
    op.erase();
  }

  func::FuncOp source;
  OpBuilder builder;
  Location loc;
  int64_t threads;
  std::vector<Part> parts;
  gpu::GPUFuncOp function;
  Value thread, team, rowTeam;
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
    DenseSet<StringRef> joined;
    for (auto function : functions.getOps<func::FuncOp>())
      collectParts(function, joined);
    for (auto function : functions.getOps<func::FuncOp>())
      if (!joined.contains(function.getName()) &&
          failed(KernelBuilder(function, functions).build(module)))
        return signalPassFailure();
    functions.erase();
  }

private:
  /// The functions that a kernel of several parts is made of.
  static void collectParts(func::FuncOp function, DenseSet<StringRef> &names) {
    auto list = function->getAttrOfType<ArrayAttr>(cuda::kPartsAttr);
    if (!list)
      return;
    for (auto part : list.getAsRange<DictionaryAttr>())
      names.insert(part.getAs<FlatSymbolRefAttr>("function").getValue());
  }
};

} // namespace
} // namespace zc
