//===- ShrinkDims.cpp - --zc-shrink-dims ----------------------------------===//
#include "dialects/Interfaces/OpInterfaces.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Proof/Passes.h"
#include "passes/Proof/ProgramAtoms.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_SHRINKDIMSPASS
#include "passes/Proof/Passes.h.inc"

namespace {

/// A norm over two features leaves 1 and -1, whose gradients are 0.
constexpr int64_t kLeast = 3;

/// The least size that the divisors divide as they divide `size`. Every other
/// one begins one further, so that dims which should not meet differ.
class SizeChooser {
public:
  int64_t choose(int64_t size, ArrayRef<int64_t> divisors) {
    const int64_t first = kLeast + (count++ % 2);
    for (int64_t small = first; small < size; ++small)
      if (llvm::all_of(divisors, [&](int64_t divisor) {
            return (small % divisor == 0) == (size % divisor == 0);
          }))
        return small;
    return size;
  }

private:
  unsigned count = 0;
};

class Shrinker {
public:
  Shrinker(func::FuncOp program, ArrayRef<int64_t> divisors,
           ArrayRef<int64_t> ofSamples)
      : program(program), block(program.getBody().front()), atoms(program) {
    SizeChooser chooser;
    Divisors wanted = {SmallVector<int64_t>(divisors),
                       SmallVector<int64_t>(divisors), findSamples()};
    llvm::append_range(wanted.ofSamples, ofSamples);
    SmallVector<int> slidOver;
    for (const Slide &slide : atoms.getSlides())
      slidOver.append({slide.image, slide.places});
    Sums sums(atoms.getAtoms(), atoms.getSums(), slidOver);
    shrinkImages(atoms.getAtoms(), atoms.getSlides(), wanted);
    atoms.getAtoms().resize([&](int atom, int64_t size) {
      return chooser.choose(size, wanted.samples.contains(atom)
                                      ? wanted.ofSamples
                                      : wanted.ofAll);
    });
    sums.addUp();
  }

  LogicalResult run() {
    limitIndices();
    DenseMap<Value, RankedTensorType> types;
    auto note = [&](Value value) { types[value] = atoms.newTypeOf(value); };
    llvm::for_each(block.getArguments(), note);
    for (Operation &op : block.without_terminator())
      llvm::for_each(op.getResults(), note);
    for (Operation &op : block.without_terminator())
      if (failed(checkData(&op)))
        return failure();
    for (BlockArgument argument : block.getArguments())
      setArgument(argument, types.at(argument));
    for (Operation &op : block.without_terminator())
      resize(&op, types);
    program.setType(
        FunctionType::get(program.getContext(), block.getArgumentTypes(),
                          block.getTerminator()->getOperandTypes()));
    return success();
  }

private:
  /// The atoms of dims that count samples.
  DenseSet<int> findSamples() {
    DenseSet<int> samples;
    for (BlockArgument argument : block.getArguments())
      if (auto dim = program.getArgAttrOfType<IntegerAttr>(
              argument.getArgNumber(), kBatchDimAttr))
        for (int leaf :
             atoms.getAtoms().leavesOf(atoms.atomOf(argument, dim.getInt())))
          samples.insert(leaf);
    return samples;
  }

  /// Indices that samples bring stay inside of the tables.
  void limitIndices() {
    for (auto gather : block.getOps<GatherOp>()) {
      BlockArgument input = findIndexInput(gather);
      if (!input)
        continue;
      auto range = program.getArgAttrOfType<DenseI64ArrayAttr>(
          input.getArgNumber(), kRangeAttr);
      SmallVector<int64_t> limits(range.asArrayRef());
      if (limits.size() < 2)
        continue;
      const int64_t rows =
          atoms.newTypeOf(gather.getTable()).getDimSize(gather.getDim());
      limits[1] = std::min(limits[1], rows);
      limits[0] = std::min(std::max(limits[0], -rows), limits[1] - 1);
      program.setArgAttr(input.getArgNumber(), kRangeAttr,
                         DenseI64ArrayAttr::get(program.getContext(), limits));
    }
  }

  static LogicalResult checkData(Operation *op) {
    auto constant = dyn_cast<ConstantOp>(op);
    if (!constant || isa<DenseElementsAttr>(constant.getValue()))
      return success();
    return op->emitOpError("has data that are not at hand");
  }

  void setArgument(BlockArgument argument, RankedTensorType type) {
    if (StateOp state = findState(argument)) {
      auto dense = dyn_cast_or_null<DenseElementsAttr>(
          state.getValue().value_or(ElementsAttr()));
      if (state.getKind() == kConstant && dense)
        state.setValueAttr(blockOf(dense, argument, type));
      else if (type != argument.getType())
        dropValue(state);
      state.setType(type);
    }
    argument.setType(type);
  }

  static void dropValue(StateOp state) {
    state.removeValueAttr();
    state.removeSourceAttr();
  }

  /// The elements of `value` that its new sizes leave.
  DenseElementsAttr blockOf(DenseElementsAttr data, Value value,
                            RankedTensorType type) {
    if (type == data.getType())
      return data;
    if (data.isSplat())
      return data.resizeSplat(type);
    SmallVector<SmallVector<int64_t>> places;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      places.push_back(atoms.placesLeft(value, dim));
    // One attribute is made for each element that is looked at: a mask of all
    // pairs of tokens has millions, of which a few are left.
    auto all = data.getValues<Attribute>();
    SmallVector<Attribute> left;
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      int64_t rest = i, at = 0, stride = 1;
      for (int64_t dim = type.getRank(); dim-- > 0;) {
        at += places[dim][rest % type.getDimSize(dim)] * stride;
        rest /= type.getDimSize(dim);
        stride *= data.getType().getDimSize(dim);
      }
      left.push_back(*(all.begin() + at));
    }
    return DenseElementsAttr::get(type, left);
  }

  void resize(Operation *op, const DenseMap<Value, RankedTensorType> &types) {
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto type = types.at(constant.getResult());
      constant.setValueAttr(blockOf(
          cast<DenseElementsAttr>(constant.getValue()), constant, type));
      constant.getResult().setType(type);
      return;
    }
    if (auto slice = dyn_cast<SliceOp>(op))
      moveSlice(slice);
    SmallVector<Type> results;
    for (Value result : op->getResults())
      results.push_back(types.at(result));
    if (auto shardable = dyn_cast<ShardableOpInterface>(op))
      return shardable.setPartTypes(results);
    for (auto [result, type] : llvm::zip(op->getResults(), results))
      result.setType(type);
  }

  /// A slice that is one of equal blocks is the same one of the new ones.
  void moveSlice(SliceOp op) {
    SmallVector<int64_t> offsets(op.getOffsets());
    auto to = cast<RankedTensorType>(op.getType());
    for (auto [dim, offset] : llvm::enumerate(offsets)) {
      const int64_t block = to.getDimSize(dim);
      if (offset > 0 && offset % block == 0 && op.getStrides()[dim] == 1)
        offset =
            offset / block * atoms.newTypeOf(op.getResult()).getDimSize(dim);
    }
    op.setOffsets(offsets);
  }

  func::FuncOp program;
  Block &block;
  ProgramAtoms atoms;
};

struct ShrinkDims : public impl::ShrinkDimsPassBase<ShrinkDims> {
  using Base::Base;

  void runOnOperation() override {
    auto program = getOperation().lookupSymbol<func::FuncOp>(kForwardProgram);
    if (!program) {
      getOperation().emitOpError("has no program '") << kForwardProgram << "'";
      return signalPassFailure();
    }
    if (failed(Shrinker(program, divisors, batchDivisors).run()))
      return signalPassFailure();
    for (Operation &op : program.getBody().front())
      for (Value result : op.getResults())
        numElements +=
            cast<RankedTensorType>(result.getType()).getNumElements();
  }
};

} // namespace
} // namespace zc
