//===- TeamLoops.cpp - linalg ops among the threads of a team -------------===//
//
// An op has places, which its parallel loops count, and terms, which its
// reduction loops count. Places go to threads; where there are fewer places
// than threads, several threads sum terms of one place, and their partial
// results are combined: by shuffles within a warp, through shared memory
// between warps. A thread takes neighbours in memory together, places or terms,
// whichever lie side by side.
//
//===----------------------------------------------------------------------===//
#include "passes/Codegen/Cuda/TeamLoops.h"
#include "passes/Codegen/Cuda/Warp.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace zc::cuda {

namespace {

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

  Value apply(AffineMap map, ArrayRef<Value> indices) {
    SmallVector<OpFoldResult> operands;
    for (Value value : indices)
      operands.push_back(value ? OpFoldResult(value)
                               : OpFoldResult(builder.getIndexAttr(0)));
    OpFoldResult place =
        affine::makeComposedFoldedAffineApply(builder, loc, map, operands);
    if (auto constant = dyn_cast<Attribute>(place))
      return index(cast<IntegerAttr>(constant).getInt());
    return cast<Value>(place);
  }

  SmallVector<Value> at(AffineMap map, ArrayRef<Value> indices) {
    SmallVector<Value> result;
    for (unsigned i = 0; i < map.getNumResults(); ++i) {
      AffineMap own = map.getSubMap({i});
      Value place = applyToFirst(own, indices);
      result.push_back(place ? place : apply(own, indices));
    }
    return result;
  }

  /// Within a half of a row, neighbours are neighbours there, too: the place of
  /// the first of them, and how far behind it this one is. LLVM sees that of a
  /// sum, not of a remainder. Null where it is not so.
  Value applyToFirst(AffineMap map, ArrayRef<Value> indices) {
    AffineExpr place = map.getResult(0);
    for (unsigned loop = 0; loop < map.getNumDims(); ++loop) {
      if (isa<AffineDimExpr>(place) || !indices[loop] ||
          !place.isFunctionOfDim(loop))
        continue;
      auto sum = indices[loop].getDefiningOp<arith::AddIOp>();
      auto behind =
          sum ? getConstantIntValue(sum.getRhs()) : std::optional<int64_t>();
      if (!behind || !stepsByOne(place, loop, *behind))
        return {};
      Indices first(indices);
      first[loop] = sum.getLhs();
      return arith::AddIOp::create(builder, loc, apply(map, first),
                                   sum.getRhs());
    }
    return {};
  }

  /// Whether `place`, of this loop alone, is `behind` more wherever the loop is
  /// that much further than at the first of some neighbours.
  bool stepsByOne(AffineExpr place, unsigned loop, int64_t behind) {
    constexpr int64_t kLongRow = 4096;
    auto valueAt = [&](int64_t index) {
      return dyn_cast<AffineConstantExpr>(
          place.replace(builder.getAffineDimExpr(loop),
                        builder.getAffineConstantExpr(index)));
    };
    auto step = static_cast<int64_t>(llvm::PowerOf2Ceil(behind + 1));
    for (int64_t first = 0; first < sizes[loop]; first += step) {
      auto here = valueAt(first), there = valueAt(first + behind);
      if (sizes[loop] > kLongRow || !here || !there ||
          there.getValue() != here.getValue() + behind)
        return false;
    }
    return true;
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

  using Indices = SmallVector<Value>;

  /// Runs of the body at places (or terms) that follow one another. `folded`
  /// holds the accumulators' values, of one place or of each in turn, and gets
  /// their new ones; other outputs are stored. All is loaded before anything is
  /// stored, so that neighbours' accesses become one.
  void runBody(ArrayRef<Indices> runs, MutableArrayRef<Value> folded) {
    SmallVector<IRMapping> mappings(runs.size());
    for (auto [indices, mapping] : llvm::zip(runs, mappings))
      loadElements(indices, mapping);
    bool apart = folded.size() > accumulators.size();
    for (auto [i, mapping] : llvm::enumerate(mappings)) {
      auto own = folded.slice(apart ? i * accumulators.size() : 0,
                              accumulators.size());
      for (auto [each, value] : llvm::zip(accumulators, own))
        mapping.map(elementOf(each.output), value);
      cloneBody(runs[i], mapping);
      for (auto [each, value] : llvm::zip(accumulators, own))
        value = mapping.lookupOrDefault(yielded(each.output));
    }
    for (unsigned output = 0; output < op.getNumDpsInits(); ++output)
      if (!isAccumulated(output))
        for (auto [indices, mapping] : llvm::zip(runs, mappings))
          store(mapping.lookupOrDefault(yielded(output)), output, indices);
  }

  void loadElements(const Indices &indices, IRMapping &mapping) {
    for (auto [i, operand] : llvm::enumerate(op.getDpsInputs())) {
      BlockArgument element = body().getArgument(i);
      if (!isa<MemRefType>(operand.getType()))
        mapping.map(element, operand);
      else if (!element.use_empty())
        mapping.map(element, load(operand, maps[i], indices));
    }
    for (unsigned output = 0; output < op.getNumDpsInits(); ++output) {
      BlockArgument element = elementOf(output);
      if (!isAccumulated(output) && !element.use_empty())
        mapping.map(element,
                    load(outputBuffer(output), outputMap(output), indices));
    }
  }

  void cloneBody(const Indices &indices, IRMapping &mapping) {
    for (Operation &inner : body().without_terminator()) {
      if (auto loop = dyn_cast<linalg::IndexOp>(inner))
        mapping.map(loop.getResult(),
                    indices[loop.getDim()] ? indices[loop.getDim()] : index(0));
      else
        builder.clone(inner, mapping);
    }
  }

  //===--------------------------------------------------------------------===//
  // Neighbours together
  //===--------------------------------------------------------------------===//

  static bool isSixteenBits(Type type) {
    auto memory = dyn_cast<MemRefType>(type);
    return memory && memory.getElementTypeBitWidth() == 16;
  }

  /// Whether something that is read lies along `loop` in memory.
  bool isReadAlong(int64_t loop) {
    AffineExpr dim = builder.getAffineDimExpr(loop);
    for (unsigned i = 0; i < op.getNumDpsInputs(); ++i)
      if (maps[i].getNumResults() > 0 &&
          maps[i].getResult(maps[i].getNumResults() - 1) == dim)
        return true;
    return false;
  }

  /// How many neighbouring places of a sum a thread takes at once: those that
  /// lie side by side where a place's terms do not.
  int64_t countPlacesBeside(int64_t total) {
    if (placeLoops.empty() || isReadAlong(termLoops.back()) ||
        !isReadAlong(placeLoops.back()))
      return 1;
    return countNeighbours(placeLoops, total, team.size);
  }

  /// How many neighbours along the last of `loops` a thread takes at once: 16
  /// bytes of what lies along it in memory, fewer where half of the team would
  /// have nothing left to do.
  int64_t countNeighbours(ArrayRef<int64_t> loops, int64_t total,
                          int64_t threads) {
    if (loops.empty())
      return 1;
    AffineExpr last = builder.getAffineDimExpr(loops.back());
    bool contiguous = false;
    int64_t width = 4;
    for (auto [map, operand] : llvm::zip(maps, op->getOperands())) {
      if (map.getNumResults() > 0 &&
          map.getResult(map.getNumResults() - 1) == last)
        contiguous = true;
      if (isSixteenBits(operand.getType()))
        width = 8;
    }
    while (width > 1 && (!contiguous || sizes[loops.back()] % width != 0 ||
                         total / width < threads / 2))
      width /= 2;
    return width;
  }

  /// The places (or terms) from `first` on, which are one row's.
  SmallVector<Indices> neighbours(Value first, ArrayRef<int64_t> loops,
                                  const Indices &around, int64_t count) {
    Indices indices(around);
    delinearize(first, loops, indices);
    SmallVector<Indices> runs;
    for (int64_t i = 0; i < count; ++i) {
      runs.push_back(indices);
      if (i > 0)
        runs.back()[loops.back()] = arith::AddIOp::create(
            builder, loc, indices[loops.back()], index(i));
    }
    return runs;
  }

  Value times(Value value, int64_t factor) {
    return factor == 1
               ? value
               : arith::MulIOp::create(builder, loc, value, index(factor))
                     .getResult();
  }

  /// Every place by one thread, threads in turn.
  void computePlaces() {
    int64_t width = countNeighbours(placeLoops, places, team.size);
    OpBuilder::InsertionGuard guard(builder);
    auto loop = scf::ForOp::create(builder, loc, team.thread,
                                   index(places / width), index(team.size));
    builder.setInsertionPointToStart(loop.getBody());
    Value first = times(loop.getInductionVar(), width);
    if (placeLoops.empty())
      return runBody({Indices(sizes.size())}, {});
    runBody(neighbours(first, placeLoops, Indices(sizes.size()), width), {});
  }

  /// Thread 0 alone computes an op that no rule divides, in the op's own order.
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

  /// Folds every `step`-th group of neighbouring terms from the group `begin`
  /// on, of one place or of several beside one another; `exists`: whether there
  /// are these. Values of all accumulators, place by place.
  SmallVector<Value> foldTerms(Value begin, int64_t step, Value exists,
                               ArrayRef<Value> start,
                               ArrayRef<Indices> beside) {
    int64_t width =
        beside.size() > 1 ? 1 : countNeighbours(termLoops, terms, step);
    OpBuilder::InsertionGuard guard(builder);
    Value end = index(terms / width);
    if (exists)
      end = arith::SelectOp::create(builder, loc, exists, end, index(0));
    auto loop =
        scf::ForOp::create(builder, loc, begin, end, index(step), start);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> folded(loop.getRegionIterArgs());
    Value first = times(loop.getInductionVar(), width);
    SmallVector<Indices> runs;
    for (const Indices &place : beside)
      llvm::append_range(runs, neighbours(first, termLoops, place, width));
    runBody(runs, folded);
    scf::YieldOp::create(builder, loc, folded);
    return SmallVector<Value>(loop.getResults());
  }

  /// Calls `visit` with every accumulator and the value of each place for it.
  void forEachSum(
      ArrayRef<Indices> beside, MutableArrayRef<Value> values,
      llvm::function_ref<void(const Accumulator &, const Indices &, Value &)>
          visit) {
    for (auto [i, indices] : llvm::enumerate(beside))
      for (auto [k, each] : llvm::enumerate(accumulators))
        visit(each, indices, values[i * accumulators.size() + k]);
  }

  void reduceByOneThreadEach() {
    int64_t width = countPlacesBeside(places);
    OpBuilder::InsertionGuard guard(builder);
    auto loop = scf::ForOp::create(builder, loc, team.thread,
                                   index(places / width), index(team.size));
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Indices> beside =
        neighbours(times(loop.getInductionVar(), width), placeLoops,
                   Indices(sizes.size()), width);
    SmallVector<Value> values(width * accumulators.size());
    forEachSum(
        beside, values,
        [&](const Accumulator &each, const Indices &indices, Value &value) {
          value =
              load(outputBuffer(each.output), outputMap(each.output), indices);
        });
    values = foldTerms(index(0), 1, Value(), values, beside);
    forEachSum(beside, values,
               [&](const Accumulator &each, const Indices &indices,
                   Value &value) { store(value, each.output, indices); });
  }

  /// Thread t folds terms t / row, t / row + team / row, ... of the places of
  /// group t % row.
  void reduceTogether() {
    int64_t width = countPlacesBeside(places * terms);
    int64_t groups = places / width;
    int64_t row = std::min<int64_t>(llvm::PowerOf2Ceil(groups), team.size);
    Value group = arith::RemUIOp::create(builder, loc, team.thread, index(row));
    Value first = arith::DivUIOp::create(builder, loc, team.thread, index(row));
    Value exists = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, group, index(groups));
    SmallVector<Indices> beside = neighbours(times(group, width), placeLoops,
                                             Indices(sizes.size()), width);
    SmallVector<Value> values(width * accumulators.size());
    forEachSum(beside, values,
               [&](const Accumulator &each, const Indices &, Value &value) {
                 value = neutral(each);
               });
    values = foldTerms(first, team.size / row, exists, values, beside);
    combineThreads(row, values, exists, first, beside);
  }

  void combineThreads(int64_t row, MutableArrayRef<Value> values, Value exists,
                      Value first, ArrayRef<Indices> beside) {
    int64_t stride = shuffleThreads(row, values, beside);
    SmallVector<Value> partial;
    if (stride < team.size)
      partial = shareSums(row, stride, values);
    Value isFirst = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, first, index(0));
    Value writes = arith::AndIOp::create(builder, loc, isFirst, exists);
    OpBuilder::InsertionGuard guard(builder);
    auto branch = scf::IfOp::create(builder, loc, writes);
    builder.setInsertionPointToStart(branch.thenBlock());
    unsigned next = 0;
    forEachSum(
        beside, values,
        [&](const Accumulator &each, const Indices &indices, Value &value) {
          Value sum =
              load(outputBuffer(each.output), outputMap(each.output), indices);
          sum = partial.empty()
                    ? combine(each, sum, value)
                    : foldPartial(each, sum, partial[next++], row, stride);
          store(sum, each.output, indices);
        });
  }

  /// Adds up what the threads of a warp have of one group of places. Returns
  /// how many threads follow one another of which the first `row` have sums.
  int64_t shuffleThreads(int64_t row, MutableArrayRef<Value> values,
                         ArrayRef<Indices> beside) {
    int64_t warp = std::min(kWarp, team.size);
    forEachSum(beside, values,
               [&](const Accumulator &each, const Indices &, Value &value) {
                 if (!canShuffle(value.getType()))
                   return;
                 for (int64_t distance = row; distance < warp; distance *= 2)
                   value = combine(each, value, shuffle(value, distance));
               });
    bool shuffled = llvm::all_of(
        values, [&](Value value) { return canShuffle(value.getType()); });
    return shuffled ? std::max(row, warp) : row;
  }

  /// The sums of all threads that have some, in shared memory: `row` of every
  /// `stride` threads, one behind the other.
  SmallVector<Value> shareSums(int64_t row, int64_t stride, ValueRange values) {
    Value place =
        arith::RemUIOp::create(builder, loc, team.thread, index(stride));
    Value part =
        arith::DivUIOp::create(builder, loc, team.thread, index(stride));
    Value has = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                      place, index(row));
    Value to = arith::AddIOp::create(builder, loc, times(part, row), place);
    auto branch = scf::IfOp::create(builder, loc, has);
    SmallVector<Value> shared;
    for (Value value : values) {
      shared.push_back(team.share(team.size / stride * row, value.getType()));
      OpBuilder inner = OpBuilder::atBlockTerminator(branch.thenBlock());
      memref::StoreOp::create(inner, loc, value, shared.back(), to);
    }
    gpu::BarrierOp::create(builder, loc);
    return shared;
  }

  /// Adds the shared sums of this thread's group of places to `start`.
  Value foldPartial(const Accumulator &each, Value start, Value partial,
                    int64_t row, int64_t stride) {
    OpBuilder::InsertionGuard guard(builder);
    auto loop =
        scf::ForOp::create(builder, loc, team.thread,
                           index(team.size / stride * row), index(row), start);
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
