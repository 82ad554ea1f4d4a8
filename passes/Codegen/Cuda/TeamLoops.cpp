//===- TeamLoops.cpp - linalg ops among the threads of a team -------------===//
//
// An op has places, which its parallel loops count, and terms, which its
// reduction loops count. Places go to threads; where there are fewer places
// than threads, several threads sum terms of one place, and their partial
// results are combined: by shuffles within a warp, through shared memory
// between warps.
//
//===----------------------------------------------------------------------===//
#include "passes/Codegen/Cuda/TeamLoops.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace zc::cuda {

namespace {

constexpr int64_t kWarp = 32;

/// One op of the body that folds a term into an accumulator.
struct Accumulator {
  unsigned output; // index among the outputs
  Operation *combiner;
};

class Distributor {
public:
  Distributor(linalg::LinalgOp op, const Team &team)
      : op(op), team(team), builder(op), loc(op.getLoc()),
        maps(op.getIndexingMapsArray()) {
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
      bool parallel = kind == utils::IteratorType::parallel;
      (parallel ? placeLoops : termLoops).push_back(loop);
      (parallel ? places : terms) *= ranges[loop];
    }
    sizes = ranges;
  }

  void run() {
    if (termLoops.empty())
      computePlaces();
    else if (!findAccumulators())
      computeByOneThread();
    else if (places >= team.size || terms == 1)
      reduceByOneThreadEach();
    else
      reduceTogether();
    op.erase();
  }

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  Block &body() { return *op.getBlock(); }
  Value yielded(unsigned output) {
    return body().getTerminator()->getOperand(output);
  }
  BlockArgument elementOf(unsigned output) {
    return body().getArgument(op.getNumDpsInputs() + output);
  }
  AffineMap outputMap(unsigned output) {
    return maps[op.getNumDpsInputs() + output];
  }
  Value outputBuffer(unsigned output) {
    return op.getDpsInitOperand(output)->get();
  }

  /// Splits `linear` into indices of `loops`, the last of which runs fastest.
  void delinearize(Value linear, ArrayRef<int64_t> loops,
                   MutableArrayRef<Value> indices) {
    for (size_t i = loops.size(); i > 0; --i) {
      int64_t loop = loops[i - 1];
      if (i == 1) {
        indices[loop] = linear;
        break;
      }
      Value size = index(sizes[loop]);
      indices[loop] = arith::RemUIOp::create(builder, loc, linear, size);
      linear = arith::DivUIOp::create(builder, loc, linear, size);
    }
  }

  SmallVector<Value> at(AffineMap map, ArrayRef<Value> indices) {
    SmallVector<OpFoldResult> operands;
    for (Value value : indices)
      operands.push_back(value ? OpFoldResult(value)
                               : OpFoldResult(builder.getIndexAttr(0)));
    SmallVector<Value> result;
    for (unsigned i = 0; i < map.getNumResults(); ++i) {
      OpFoldResult place = affine::makeComposedFoldedAffineApply(
          builder, loc, map.getSubMap({i}), operands);
      result.push_back(
          isa<Attribute>(place)
              ? index(cast<IntegerAttr>(cast<Attribute>(place)).getInt())
              : cast<Value>(place));
    }
    return result;
  }

  Value load(Value buffer, AffineMap map, ArrayRef<Value> indices) {
    return memref::LoadOp::create(builder, loc, buffer, at(map, indices));
  }
  void store(Value value, unsigned output, ArrayRef<Value> indices) {
    memref::StoreOp::create(builder, loc, value, outputBuffer(output),
                            at(outputMap(output), indices));
  }

  bool isAccumulated(unsigned output) {
    return llvm::any_of(accumulators, [&](const Accumulator &each) {
      return each.output == output;
    });
  }

  /// One run of the body at `indices`. `folded` holds the accumulators' values
  /// and gets their new ones; other outputs are stored.
  void runBody(ArrayRef<Value> indices, MutableArrayRef<Value> folded) {
    IRMapping mapping;
    for (auto [i, operand] : llvm::enumerate(op.getDpsInputs())) {
      BlockArgument element = body().getArgument(i);
      if (!isa<MemRefType>(operand.getType()))
        mapping.map(element, operand);
      else if (!element.use_empty())
        mapping.map(element, load(operand, maps[i], indices));
    }
    unsigned next = 0;
    for (unsigned output = 0; output < op.getNumDpsInits(); ++output) {
      BlockArgument element = elementOf(output);
      if (isAccumulated(output))
        mapping.map(element, folded[next++]);
      else if (!element.use_empty())
        mapping.map(element,
                    load(outputBuffer(output), outputMap(output), indices));
    }
    for (Operation &inner : body().without_terminator()) {
      if (auto loop = dyn_cast<linalg::IndexOp>(inner))
        mapping.map(loop.getResult(),
                    indices[loop.getDim()] ? indices[loop.getDim()] : index(0));
      else
        builder.clone(inner, mapping);
    }
    next = 0;
    for (unsigned output = 0; output < op.getNumDpsInits(); ++output) {
      Value value = mapping.lookupOrDefault(yielded(output));
      if (isAccumulated(output))
        folded[next++] = value;
      else
        store(value, output, indices);
    }
  }

  /// Every place by one thread, threads in turn.
  void computePlaces() {
    forEachPlace([&](MutableArrayRef<Value> indices) { runBody(indices, {}); });
  }

  void forEachPlace(llvm::function_ref<void(MutableArrayRef<Value>)> visit) {
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Value> indices(sizes.size());
    auto loop = scf::ForOp::create(builder, loc, team.thread, index(places),
                                   index(team.size));
    builder.setInsertionPointToStart(loop.getBody());
    delinearize(loop.getInductionVar(), placeLoops, indices);
    visit(indices);
  }

  /// What no rule divides: thread 0 alone, in the op's own order.
  void computeByOneThread() {
    OpBuilder::InsertionGuard guard(builder);
    Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        team.thread, index(0));
    auto branch = scf::IfOp::create(builder, loc, first);
    IRRewriter rewriter(builder.getContext());
    rewriter.setInsertionPoint(branch.thenBlock()->getTerminator());
    auto copy = cast<linalg::LinalgOp>(rewriter.clone(*op));
    rewriter.setInsertionPoint(copy);
    (void)linalg::linalgOpToLoops(rewriter, copy);
    copy.erase();
  }

  /// Every output is stored at all places and terms, or folded over the terms
  /// by one op that knows a neutral element.
  bool findAccumulators() {
    for (unsigned output = 0; output < op.getNumDpsInits(); ++output) {
      AffineMap map = outputMap(output);
      bool ofAll = llvm::all_of(
          llvm::seq<unsigned>(0, sizes.size()), [&](unsigned loop) {
            return map.isFunctionOfDim(loop) || sizes[loop] == 1;
          });
      if (ofAll)
        continue;
      Operation *combiner = combinerOf(output);
      bool ofPlaces = llvm::none_of(
          termLoops, [&](int64_t loop) { return map.isFunctionOfDim(loop); });
      if (!combiner || !ofPlaces) {
        accumulators.clear();
        return false;
      }
      accumulators.push_back({output, combiner});
    }
    return !accumulators.empty();
  }

  Operation *combinerOf(unsigned output) {
    BlockArgument element = elementOf(output);
    Operation *combiner = yielded(output).getDefiningOp();
    if (!combiner || !element.hasOneUse() ||
        *element.user_begin() != combiner || combiner->getNumOperands() != 2 ||
        !combiner->getResult(0).hasOneUse() ||
        !arith::getNeutralElement(combiner))
      return nullptr;
    return combiner;
  }

  Value combine(const Accumulator &accumulator, Value a, Value b) {
    Operation *copy = builder.clone(*accumulator.combiner);
    copy->setOperands({a, b});
    return copy->getResult(0);
  }

  Value neutral(const Accumulator &accumulator) {
    return arith::ConstantOp::create(
        builder, loc, *arith::getNeutralElement(accumulator.combiner));
  }

  /// Folds the terms begin, begin + step, ... of the place at `indices`.
  SmallVector<Value> foldTerms(Value begin, Value end, Value step,
                               ArrayRef<Value> start, ArrayRef<Value> indices) {
    OpBuilder::InsertionGuard guard(builder);
    auto loop = scf::ForOp::create(builder, loc, begin, end, step, start);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> inner(indices);
    delinearize(loop.getInductionVar(), termLoops, inner);
    SmallVector<Value> folded(loop.getRegionIterArgs());
    runBody(inner, folded);
    scf::YieldOp::create(builder, loc, folded);
    return SmallVector<Value>(loop.getResults());
  }

  void reduceByOneThreadEach() {
    forEachPlace([&](MutableArrayRef<Value> indices) {
      SmallVector<Value> start;
      for (const Accumulator &each : accumulators)
        start.push_back(
            load(outputBuffer(each.output), outputMap(each.output), indices));
      SmallVector<Value> folded =
          foldTerms(index(0), index(terms), index(1), start, indices);
      for (auto [each, value] : llvm::zip(accumulators, folded))
        store(value, each.output, indices);
    });
  }

  /// Thread t folds terms t / row, t / row + team / row, ... of place t % row.
  void reduceTogether() {
    int64_t row = std::min<int64_t>(llvm::PowerOf2Ceil(places), team.size);
    Value place = arith::RemUIOp::create(builder, loc, team.thread, index(row));
    Value first = arith::DivUIOp::create(builder, loc, team.thread, index(row));
    Value exists = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, place, index(places));
    Value end =
        arith::SelectOp::create(builder, loc, exists, index(terms), index(0));
    SmallVector<Value> indices(sizes.size());
    delinearize(place, placeLoops, indices);
    SmallVector<Value> start;
    for (const Accumulator &each : accumulators)
      start.push_back(neutral(each));
    SmallVector<Value> folded =
        foldTerms(first, end, index(team.size / row), start, indices);
    combineThreads(row, folded, exists, first, indices);
  }

  void combineThreads(int64_t row, MutableArrayRef<Value> folded, Value exists,
                      Value first, ArrayRef<Value> indices) {
    int64_t stride = row;
    for (auto [each, value] : llvm::zip(accumulators, folded))
      if (canShuffle(value.getType()))
        for (int64_t distance = row; distance < std::min(kWarp, team.size);
             distance *= 2)
          value = combine(each, value, shuffle(value, distance));
    bool shuffled = llvm::all_of(
        folded, [&](Value value) { return canShuffle(value.getType()); });
    if (shuffled)
      stride = std::max(row, std::min(kWarp, team.size));
    SmallVector<Value> partial;
    if (stride < team.size) {
      for (Value value : folded) {
        partial.push_back(team.share(team.size, value.getType()));
        memref::StoreOp::create(builder, loc, value, partial.back(),
                                team.thread);
      }
      gpu::BarrierOp::create(builder, loc);
    }
    Value isFirst = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, first, index(0));
    Value writes = arith::AndIOp::create(builder, loc, isFirst, exists);
    OpBuilder::InsertionGuard guard(builder);
    auto branch = scf::IfOp::create(builder, loc, writes);
    builder.setInsertionPointToStart(branch.thenBlock());
    for (auto [i, each] : llvm::enumerate(accumulators)) {
      Value sum =
          load(outputBuffer(each.output), outputMap(each.output), indices);
      if (partial.empty())
        sum = combine(each, sum, folded[i]);
      else
        sum = foldPartial(each, sum, partial[i], stride);
      store(sum, each.output, indices);
    }
  }

  /// Every `stride`-th of the threads' partial results, from this thread's on.
  Value foldPartial(const Accumulator &each, Value start, Value partial,
                    int64_t stride) {
    OpBuilder::InsertionGuard guard(builder);
    auto loop = scf::ForOp::create(builder, loc, team.thread, index(team.size),
                                   index(stride), start);
    builder.setInsertionPointToStart(loop.getBody());
    Value value =
        memref::LoadOp::create(builder, loc, partial, loop.getInductionVar());
    Value sum = combine(each, loop.getRegionIterArgs()[0], value);
    scf::YieldOp::create(builder, loc, sum);
    return loop.getResult(0);
  }

  static bool canShuffle(Type type) {
    return type.isF32() || type.isInteger(32);
  }

  Value shuffle(Value value, int64_t distance) {
    return gpu::ShuffleOp::create(builder, loc, value, distance, kWarp,
                                  gpu::ShuffleMode::XOR)
        .getShuffleResult();
  }

  linalg::LinalgOp op;
  const Team &team;
  OpBuilder builder;
  Location loc;
  SmallVector<AffineMap> maps;
  SmallVector<int64_t> placeLoops, termLoops, sizes;
  int64_t places = 1, terms = 1;
  SmallVector<Accumulator> accumulators;
};

} // namespace

void distribute(linalg::LinalgOp op, const Team &team) {
  Distributor(op, team).run();
}

} // namespace zc::cuda
