//===- FoldRowSums.cpp - sums of rows where the rows are read anyway ------===//
//
// The norm of the gradients is reported at every step, and each gradient is
// read once more by its update. Where the update does not wait for the norm,
// one kernel reads a block of rows, sums them and updates with them.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Analysis/ForwardOps.h"
#include "passes/Analysis/LoopNests.h"
#include "passes/Analysis/Tensors.h"
#include "passes/Fusion/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_FOLDROWSUMSPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

/// Rows are what the kernel is split by: with fewer than this it could not be
/// split over threads as well as without the sums.
constexpr int64_t kFewRows = 128;

/// A region that only sums (or the like) the rows of a value, perhaps seen as
/// another shape with these rows, and a loop nest that reads the value too.
struct RowSums {
  FusedOp sums;
  ReduceOp op;
  Value value;
  int64_t rowDims; // the leading dims of `value` that count its rows
  FusedOp nest;
};

/// How many leading dims have `rows` elements together, or -1.
int64_t countRowDims(ArrayRef<int64_t> shape, int64_t rows) {
  int64_t product = 1;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    product *= size;
    if (product == rows)
      return dim + 1;
  }
  return -1;
}

/// The sums that are all of `region`, without their loop nest yet.
std::optional<RowSums> findSums(FusedOp region) {
  Block &body = region.getBody().front();
  auto op = dyn_cast<ReduceOp>(body.front());
  if (!op || op->getNextNode() != body.getTerminator() ||
      !isPlainReduction(op) || !isa<BlockArgument>(op.getOperand()) ||
      region.getNumOperands() != 1)
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(op.getOperand());
  int64_t kept = shape.size() - op.getDims().size();
  if (!llvm::equal(op.getDims(), llvm::seq<int64_t>(kept, shape.size())))
    return std::nullopt;
  Value value = region.getOperand(0);
  if (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  int64_t rows = numElements(region.getResult(0).getType());
  int64_t rowDims = countRowDims(shapeOf(value), rows);
  if (rows < kFewRows || rowDims < 0)
    return std::nullopt;
  return RowSums{region, op, value, rowDims, {}};
}

/// A loop nest that goes through the value's rows and needs no sum of them.
FusedOp findNest(const RowSums &found) {
  for (OpOperand &use : found.value.getUses()) {
    auto nest = dyn_cast<FusedOp>(use.getOwner());
    if (!nest || nest->getBlock() != found.sums->getBlock())
      continue;
    Block &body = nest.getBody().front();
    BlockArgument argument = body.getArgument(use.getOperandNumber());
    if (isSingleLoopNest(body) && isReadInPlace(body, argument) &&
        shapeOf(nest->getResult(0)) == shapeOf(found.value) &&
        !leadsTo(found.sums, nest))
      return nest;
  }
  return {};
}

/// Replaces both regions by one that sums before it writes: operands and
/// results of the loop nest may still share buffers.
class Folding {
public:
  explicit Folding(RowSums &found) : found(found), builder(found.nest) {}

  void run() {
    FusedOp folded = buildRegion();
    size_t old = found.nest.getNumResults();
    found.nest.replaceAllUsesWith(folded.getResults().take_front(old));
    Value sums = folded.getResult(old), before = found.sums.getResult(0);
    if (sums.getType() != before.getType())
      sums = ReshapeOp::create(builder, found.sums.getLoc(), before.getType(),
                               sums);
    before.replaceAllUsesWith(sums);
    found.nest.erase();
    found.sums.erase();
  }

private:
  RankedTensorType sumsType() {
    auto type = cast<RankedTensorType>(found.sums.getResult(0).getType());
    return withShape(type, shapeOf(found.value).take_front(found.rowDims));
  }

  FusedOp buildRegion() {
    FusedOp nest = found.nest;
    SmallVector<Type> types(nest.getResultTypes());
    types.push_back(sumsType());
    Location loc =
        builder.getFusedLoc({found.sums.getLoc(), found.nest.getLoc()});
    auto region = FusedOp::create(builder, loc, types, nest.getInputs());
    region.getProperties() = nest.getProperties();
    IRMapping mapping;
    nest.getBody().cloneInto(&region.getBody(), mapping);
    Operation *end = region.getBody().front().getTerminator();
    end->insertOperands(end->getNumOperands(), addSums(region));
    return region;
  }

  Value addSums(FusedOp region) {
    Block &body = region.getBody().front();
    auto input = llvm::find(region.getInputs(), found.value);
    Value argument =
        body.getArgument(std::distance(region.getInputs().begin(), input));
    OpBuilder inner(body.getTerminator());
    SmallVector<int64_t> dims = llvm::to_vector(
        llvm::seq<int64_t>(found.rowDims, shapeOf(found.value).size()));
    return ReduceOp::create(inner, found.op.getLoc(), sumsType(),
                            found.op.getKind(), argument, dims);
  }

  RowSums &found;
  OpBuilder builder;
};

struct FoldRowSums : public impl::FoldRowSumsPassBase<FoldRowSums> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      if (program.isDeclaration())
        continue;
      Block &block = program.getBody().front();
      SmallVector<FusedOp> sums;
      for (FusedOp region : block.getOps<FusedOp>())
        if (findSums(region))
          sums.push_back(region);
      for (FusedOp region : sums)
        fold(*findSums(region));
      sortTopologically(&block);
    }
  }

private:
  // The nest is looked up again each time: an earlier fold may have replaced
  // the nest that held the value.
  void fold(RowSums found) {
    found.nest = findNest(found);
    if (!found.nest)
      return;
    Folding(found).run();
    ++numFolded;
  }
};

} // namespace
} // namespace zc
