//===- ComputeSlices.cpp - parts of a value, each computed by itself ------===//
//
// One matrix often holds q, k and v: a bias is added to its product, and the
// sum is cut in three. Each part is then computed where it goes, instead of
// being copied out of the whole.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Analysis/LoopNests.h"
#include "passes/Analysis/Tensors.h"
#include "passes/Fusion/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_COMPUTESLICESPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

/// A region that is one slice without gaps.
SliceOp getSlice(FusedOp region) {
  Block &body = region.getBody().front();
  auto slice = dyn_cast<SliceOp>(body.front());
  bool isAll = slice && slice->getNextNode() == body.getTerminator() &&
               llvm::all_of(slice.getStrides(),
                            [](int64_t stride) { return stride == 1; });
  return isAll ? slice : SliceOp();
}

/// The regions of slices that alone read `value`, also as other shapes; false
/// if others read it.
bool collectSlices(Value value, SmallVectorImpl<FusedOp> &slices) {
  for (Operation *user : value.getUsers()) {
    if (auto view = dyn_cast<ReshapeOp>(user)) {
      if (!collectSlices(view.getResult(), slices))
        return false;
      continue;
    }
    auto region = dyn_cast<FusedOp>(user);
    if (!region || !getSlice(region))
      return false;
    slices.push_back(region);
  }
  return true;
}

/// Elementwise ops of one shape, with splats and arguments spread over it.
bool isUnderstood(FusedOp region) {
  Block &body = region.getBody().front();
  if (region.getLibrary() || region.getNumResults() != 1 ||
      !isSingleLoopNest(body) ||
      numElements(region.getResult(0).getType()) == 0)
    return false;
  ArrayRef<int64_t> shape = shapeOf(region.getResult(0));
  for (Operation &op : body.without_terminator()) {
    auto spread = dyn_cast<BroadcastOp>(op);
    if (op.getNumResults() != 1 || shapeOf(op.getResult(0)) != shape ||
        isa<TransposeOp>(op) ||
        (spread && !isa<BlockArgument>(spread.getInput())))
      return false;
  }
  return llvm::all_of(body.getArguments(), [&](BlockArgument argument) {
    bool isSpread =
        llvm::all_of(argument.getUsers(), llvm::IsaPred<BroadcastOp>);
    return isSpread ? argument.hasOneUse() : shapeOf(argument) == shape;
  });
}

/// Dims of the whole that are told apart neither by the slice nor by what is
/// spread over them.
struct Dim {
  int64_t size, offset, part;
  SmallVector<bool> varies; // for each argument that is spread
};

/// The region of one slice, computed from what the whole is computed from.
class PartBuilder {
public:
  PartBuilder(FusedOp whole, FusedOp slice)
      : whole(whole), slice(slice), builder(slice) {}

  /// False where the slice sees dims of the whole merged.
  bool findDims() {
    SliceOp op = getSlice(slice);
    ArrayRef<int64_t> from = shapeOf(whole.getResult(0));
    ArrayRef<int64_t> to = shapeOf(op.getInput());
    size_t dim = 0;
    for (auto [index, size] : llvm::enumerate(from)) {
      SmallVector<bool> varies = variesAlong(index);
      for (int64_t left = size; left > 1 || dim == 0; ++dim) {
        if (dim == to.size() || left % to[dim] != 0)
          return false;
        left /= to[dim];
        append({to[dim], op.getOffsets()[dim], shapeOf(op.getResult())[dim],
                varies});
      }
    }
    return llvm::all_of(to.drop_front(dim),
                        [](int64_t size) { return size == 1; });
  }

  void build() {
    SmallVector<Value> inputs;
    for (BlockArgument argument : body().getArguments())
      inputs.push_back(viewInput(argument));
    auto region = FusedOp::create(builder, slice.getLoc(),
                                  partType(whole.getResult(0)), inputs);
    fill(region);
    slice.getResult(0).replaceAllUsesWith(reshape(builder, slice.getLoc(),
                                                  region.getResult(0),
                                                  shapeOf(slice.getResult(0))));
    slice.erase();
  }

private:
  Block &body() { return whole.getBody().front(); }

  SmallVector<bool> variesAlong(int64_t dim) {
    SmallVector<bool> varies;
    for (auto op : body().getOps<BroadcastOp>()) {
      auto found = llvm::find(op.getDims(), dim);
      varies.push_back(
          found != op.getDims().end() &&
          shapeOf(op.getInput())[std::distance(op.getDims().begin(), found)] !=
              1);
    }
    return varies;
  }

  /// Rows that are taken whole, or whole behind what is cut, are one dim.
  void append(Dim dim) {
    if (dims.empty() || dim.part != dim.size ||
        dims.back().varies != dim.varies)
      return dims.push_back(std::move(dim));
    for (int64_t *number :
         {&dims.back().size, &dims.back().offset, &dims.back().part})
      *number *= dim.size;
  }

  /// One number of the dims along which argument number `spread` varies, or,
  /// below 0, of all.
  SmallVector<int64_t> collect(int64_t Dim::*number, int64_t spread = -1) {
    SmallVector<int64_t> numbers;
    for (const Dim &dim : dims)
      if (spread < 0 || dim.varies[spread])
        numbers.push_back(dim.*number);
    return numbers;
  }

  RankedTensorType partType(Value value) {
    return withShape(value.getType(), collect(&Dim::part));
  }

  /// The number of the op that spreads an argument, or -1.
  int64_t spreadOf(BlockArgument argument) {
    for (auto [index, op] : llvm::enumerate(body().getOps<BroadcastOp>()))
      if (op.getInput() == argument)
        return index;
    return -1;
  }

  Value viewInput(BlockArgument argument) {
    return reshape(builder, slice.getLoc(),
                   whole.getInputs()[argument.getArgNumber()],
                   collect(&Dim::size, spreadOf(argument)));
  }

  void fill(FusedOp region) {
    OpBuilder inner(region.getContext());
    Block *block = inner.createBlock(&region.getBody());
    IRMapping mapping;
    for (auto [old, input] :
         llvm::zip(body().getArguments(), region.getInputs())) {
      Value argument = block->addArgument(input.getType(), old.getLoc());
      mapping.map(old, cut(inner, argument, spreadOf(old)));
    }
    for (Operation &op : body().without_terminator())
      cloneOp(inner, op, mapping);
    YieldOp::create(inner, region.getLoc(),
                    mapping.lookup(body().getTerminator()->getOperand(0)));
  }

  Value cut(OpBuilder &inner, Value argument, int64_t spread) {
    SmallVector<int64_t> part = collect(&Dim::part, spread);
    if (ArrayRef<int64_t>(part) == shapeOf(argument))
      return argument;
    return SliceOp::create(
        inner, slice.getLoc(), withShape(argument.getType(), part), argument,
        collect(&Dim::offset, spread), SmallVector<int64_t>(part.size(), 1));
  }

  void cloneOp(OpBuilder &inner, Operation &op, IRMapping &mapping) {
    Operation *copy = inner.clone(op, mapping);
    copy->getResult(0).setType(partType(op.getResult(0)));
    if (auto constant = dyn_cast<ConstantOp>(copy))
      constant.setValueAttr(
          cast<DenseElementsAttr>(constant.getValue())
              .resizeSplat(cast<ShapedType>(constant.getType())));
    if (auto spread = dyn_cast<BroadcastOp>(copy)) {
      int64_t number =
          spreadOf(cast<BlockArgument>(cast<BroadcastOp>(op).getInput()));
      SmallVector<int64_t> along;
      for (auto [index, dim] : llvm::enumerate(dims))
        if (dim.varies[number])
          along.push_back(index);
      spread.setDims(along);
    }
  }

  FusedOp whole, slice;
  OpBuilder builder;
  SmallVector<Dim> dims;
};

struct ComputeSlices : public impl::ComputeSlicesPassBase<ComputeSlices> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      if (program.isDeclaration())
        continue;
      SmallVector<FusedOp> wholes;
      for (FusedOp region : program.getBody().front().getOps<FusedOp>())
        if (isUnderstood(region))
          wholes.push_back(region);
      for (FusedOp whole : wholes)
        divide(whole);
    }
  }

private:
  void divide(FusedOp whole) {
    SmallVector<FusedOp> slices;
    if (!collectSlices(whole.getResult(0), slices) || slices.empty())
      return;
    int64_t computed = 0;
    for (FusedOp slice : slices)
      computed += numElements(slice.getResult(0).getType());
    if (computed > numElements(whole.getResult(0).getType()))
      return;
    SmallVector<PartBuilder> parts;
    for (FusedOp slice : slices)
      if (!parts.emplace_back(whole, slice).findDims())
        return;
    for (PartBuilder &part : parts)
      part.build();
    numComputed += parts.size();
    eraseUnread(whole.getResult(0));
  }

  /// Erases the views that are left of the whole value, and the value.
  static void eraseUnread(Value value) {
    for (Operation *view : llvm::make_early_inc_range(value.getUsers()))
      eraseUnread(view->getResult(0));
    value.getDefiningOp()->erase();
  }
};

} // namespace
} // namespace zc
