//===- CascadeSums.cpp - long sums in two levels --------------------------===//
//
// A float32 sum of 100,000 terms, each added to what there is, is wrong by
// hundreds of units in the last place; a batch normalisation's variance feels
// it in every later layer. Here short float32 sums are added up in float64,
// which costs a few operations per short sum.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/LoopSupport.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Codegen/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_CASCADESUMSPASS
#include "passes/Codegen/Passes.h.inc"

namespace {

/// The most terms that one accumulator takes in float32.
constexpr int64_t kShortSum = 128;
/// Elements an innermost loop adds up side by side: four vectors of 16.
constexpr int64_t kLanes = 64;
/// The longest list of accumulators, which lie on the stack.
constexpr int64_t kMostAccumulators = 4096;

/// Whether all of the op's outputs are float32 sums over the same loops.
bool isSum(linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics() || op.hasIndexSemantics() ||
      op.getNumReductionLoops() == 0)
    return false;
  Block &body = op.getRegion().front();
  auto outputs = body.getArguments().drop_front(op.getNumDpsInputs());
  for (auto [index, argument] : llvm::enumerate(outputs)) {
    auto add =
        body.getTerminator()->getOperand(index).getDefiningOp<arith::AddFOp>();
    if (!argument.getType().isF32() || !argument.hasOneUse() || !add ||
        *argument.user_begin() != add)
      return false;
  }
  return llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &output) {
    AffineMap map = op.getMatchingIndexingMap(&output);
    auto type = cast<MemRefType>(output.get().getType());
    return map.isProjectedPermutation() && type.hasStaticShape() &&
           map.getNumResults() == op.getNumParallelLoops() &&
           type.getNumElements() <= kMostAccumulators;
  });
}

/// Whether every operand is read at loops' indices and constants alone.
bool hasPlainPlaces(linalg::GenericOp op) {
  return llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
    return llvm::all_of(map.getResults(), [](AffineExpr expr) {
      return isa<AffineDimExpr, AffineConstantExpr>(expr);
    });
  });
}

/// Where a sum is cut: all loops before `loop` and blocks of it become loops
/// around short sums.
struct Cut {
  unsigned loop;
  int64_t block;
};

std::optional<Cut> findCut(ArrayRef<int64_t> sizes,
                           ArrayRef<utils::IteratorType> iterators) {
  int64_t terms = 1;
  for (int64_t loop = sizes.size() - 1; loop >= 0; --loop) {
    if (iterators[loop] != utils::IteratorType::reduction)
      continue;
    bool innermost = loop + 1 == static_cast<int64_t>(sizes.size());
    int64_t atOnce = innermost ? kLanes : 1;
    int64_t here = llvm::divideCeil(sizes[loop], atOnce);
    if (terms * here > kShortSum)
      return Cut{static_cast<unsigned>(loop),
                 std::max<int64_t>(1, kShortSum / terms) * atOnce};
    terms *= here;
  }
  return std::nullopt;
}

class Cascade {
public:
  Cascade(linalg::GenericOp op, Cut cut)
      : op(op), cut(cut), sizes(op.getStaticLoopRanges()), builder(op),
        loc(op.getLoc()) {}

  void run() {
    for (Value output : op.getOutputs()) {
      totals.push_back(allocate(shapeOf(output), builder.getF64Type()));
      buildFill(builder, loc, totals.back(), 0);
    }
    buildLoops(builder, loc, ArrayRef(sizes).take_front(cut.loop),
               [&](Indices outer) {
                 buildBlocks(builder, loc, sizes[cut.loop], cut.block,
                             [&](OpFoldResult offset, int64_t size) {
                               addShortSum(outer, offset, size);
                             });
               });
    builder.setInsertionPoint(op);
    for (auto [output, total] : llvm::zip(op.getOutputs(), totals))
      addTo(output, total);
    op.erase();
  }

private:
  /// On the function's stack, once.
  Value allocate(ArrayRef<int64_t> shape, Type element) {
    OpBuilder::InsertionGuard guard(builder);
    auto function = op->getParentOfType<func::FuncOp>();
    builder.setInsertionPointToStart(&function.getBody().front());
    return buildTemporary(builder, loc, shape, element);
  }

  /// `to` += `from`, computed in float64.
  void addTo(Value to, Value from) {
    buildPointwise(
        builder, loc, from, to,
        [](OpBuilder &nested, Location at, ValueRange elements) {
          Type wide = nested.getF64Type(), type = elements[1].getType();
          auto widen = [&](Value value) -> Value {
            return value.getType() == wide
                       ? value
                       : arith::ExtFOp::create(nested, at, wide, value);
          };
          Value sum = arith::AddFOp::create(nested, at, widen(elements[0]),
                                            widen(elements[1]));
          if (type != wide)
            sum = arith::TruncFOp::create(nested, at, type, sum);
          return SmallVector<Value>{sum};
        });
  }

  /// The part of a buffer that a short sum works on: one index of every outer
  /// loop, whose dims disappear, and `size` of the loop that is cut.
  Value view(Value buffer, AffineMap map, Indices outer, OpFoldResult offset,
             int64_t size) {
    SmallVector<int64_t> dims;
    SmallVector<OpFoldResult> indices;
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (loop && loop.getPosition() == cut.loop)
        buffer = buildBlock(builder, loc, buffer, dim, offset, size);
      if (!loop || loop.getPosition() >= cut.loop)
        continue;
      dims.push_back(dim);
      indices.push_back(outer[loop.getPosition()]);
    }
    return dims.empty() ? buffer
                        : buildSlice(builder, loc, buffer, dims, indices);
  }

  /// The map of such a part, from the loops that are left.
  AffineMap mapOfView(AffineMap map) {
    unsigned loops = sizes.size() - cut.loop;
    SmallVector<AffineExpr> results;
    for (AffineExpr expr : map.getResults()) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop)
        results.push_back(expr);
      else if (loop.getPosition() >= cut.loop)
        results.push_back(
            builder.getAffineDimExpr(loop.getPosition() - cut.loop));
    }
    return AffineMap::get(loops, 0, results, builder.getContext());
  }

  void addShortSum(Indices outer, OpFoldResult offset, int64_t size) {
    SmallVector<Value> inputs, parts, sums;
    SmallVector<AffineMap> maps;
    for (OpOperand *input : op.getDpsInputOperands()) {
      AffineMap map = op.getMatchingIndexingMap(input);
      inputs.push_back(view(input->get(), map, outer, offset, size));
      maps.push_back(mapOfView(map));
    }
    for (auto [index, total] : llvm::enumerate(totals)) {
      AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(index));
      parts.push_back(view(total, map, outer, offset, size));
      maps.push_back(mapOfView(map));
      if (shortSums.size() == index)
        shortSums.push_back(
            allocate(shapeOf(parts.back()), builder.getF32Type()));
      buildFill(builder, loc, shortSums[index], 0);
    }
    auto iterators = op.getIteratorTypesArray();
    auto sum =
        linalg::GenericOp::create(builder, loc, inputs, shortSums, maps,
                                  ArrayRef(iterators).drop_front(cut.loop));
    IRMapping mapping;
    op.getRegion().cloneInto(&sum.getRegion(), mapping);
    for (auto [part, value] : llvm::zip(parts, shortSums))
      addTo(part, value);
  }

  linalg::GenericOp op;
  Cut cut;
  SmallVector<int64_t> sizes;
  OpBuilder builder;
  Location loc;
  SmallVector<Value> totals, shortSums; // one an output
};

struct CascadeSums : public impl::CascadeSumsPassBase<CascadeSums> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> sums;
    getOperation()->walk([&](linalg::GenericOp op) {
      if (isSum(op) && hasPlainPlaces(op))
        sums.push_back(op);
    });
    for (linalg::GenericOp op : sums)
      if (auto cut =
              findCut(op.getStaticLoopRanges(), op.getIteratorTypesArray()))
        Cascade(op, *cut).run();
  }
};

} // namespace
} // namespace zc
