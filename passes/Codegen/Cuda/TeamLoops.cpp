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
#include "passes/Codegen/Cuda/TeamBody.h"
#include "passes/Codegen/Cuda/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace zc::cuda {

namespace {

class Distributor : TeamBody {
public:
  Distributor(linalg::LinalgOp op, const Team &team) : TeamBody(op, team) {}

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
};

} // namespace

void distribute(linalg::LinalgOp op, const Team &team) {
  Distributor(op, team).run();
}

} // namespace zc::cuda
