//===- ProgramAtoms.cpp - the atoms of a program's dims -------------------===//
#include "passes/Proof/ProgramAtoms.h"

#include "dialects/Interfaces/FactorProjection.h"
#include "dialects/Interfaces/OpInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

ProgramAtoms::ProgramAtoms(func::FuncOp program) {
  Block &block = program.getBody().front();
  auto add = [&](Value value) {
    DimAtoms::Product &mine = dims[value]; // of a scalar it stays empty
    for (int64_t size : typeOf(value).getShape())
      mine.push_back(atoms.make(size));
  };
  for (BlockArgument argument : block.getArguments())
    add(argument);
  for (Operation &op : block.without_terminator())
    for (Value result : op.getResults())
      add(result);
  for (Operation &op : block.without_terminator())
    visit(&op);
}

int ProgramAtoms::atomOf(Value value, int64_t dim) {
  return dims.find(value)->second[dim];
}

DimAtoms::Product ProgramAtoms::productOf(Value value) {
  return dims.find(value)->second;
}

/// Ops that look at a whole dim but do the same whatever its size is: they
/// normalise along it or sum over it.
static bool takesAnySize(Operation *op) {
  return isa<AttentionOp, LayerNormOp, SoftmaxOp, BatchNormTrainingOp,
             BatchNormOp>(op);
}

static Window windowOfOp(ConvOp op) {
  return windowOf(op, op.getFilter().getType().getShape().drop_front(2));
}

static Window windowOfOp(MaxPoolOp op) { return windowOf(op, op.getWindow()); }

static Window windowOfOp(AveragePoolOp op) {
  return {op.getWindow(),  op.getStrides(),  {},
          op.getPadsLow(), op.getPadsHigh(), op.getChannelsLast()};
}

/// Whether a dim of a value is one over which windows slide, or one of their
/// places; a filter's are none.
static bool isSlidOver(Operation *op, Value value, int64_t dim) {
  if (!isa<ConvOp, MaxPoolOp, AveragePoolOp>(op) ||
      (value != op->getOperand(0) && value != op->getResult(0)))
    return false;
  return TypeSwitch<Operation *, bool>(op)
      .Case<ConvOp, MaxPoolOp, AveragePoolOp>([&](auto op) {
        return llvm::is_contained(windowOfOp(op).spatialDims(), dim);
      })
      .Default(false);
}

void ProgramAtoms::visit(Operation *op) {
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return atoms.unify(productOf(reshape.getInput()),
                       productOf(reshape.getResult()));
  // A block of a constant is one; so is the beginning of an iota.
  if (isa<ConstantOp, IotaOp>(op))
    return;
  visitRule(op);
  TypeSwitch<Operation *>(op)
      .Case([&](AttentionOp attention) { tieEqualSizes(attention); })
      .Case<LayerNormOp, SoftmaxOp, BatchNormTrainingOp, BatchNormOp>(
          [&](auto op) { tieNormDims(op); })
      .Case([&](SliceOp slice) { visitSlice(slice); })
      .Case([&](SplitOp split) {
        visitParts(split.getInput(), split.getResults(), split.getDim());
      })
      .Case([&](ConcatOp concat) { visitConcat(concat); })
      .Case([&](GatherOp gather) { keepTable(gather); })
      .Case<ConvOp, MaxPoolOp, AveragePoolOp>(
          [&](auto op) { visitWindow(op, windowOfOp(op)); })
      .Case([&](GroupedMatmulOp product) { keepExperts(product); })
      .Case([&](ScatterAddOp scatter) {
        atoms.keep(atomOf(scatter.getInit(), scatter.getDim()));
      })
      .Case([&](ScatterReduceOp scatter) {
        atoms.keep(atomOf(scatter.getInit(), scatter.getDim()));
      });
}

/// Whether another look at the op says which size a whole dim may get.
static bool looksTwice(Operation *op, Value value, int64_t dim) {
  if (takesAnySize(op) || isa<SliceOp>(op) || isSlidOver(op, value, dim))
    return true;
  if (auto split = dyn_cast<SplitOp>(op))
    return dim == int64_t(split.getDim());
  if (auto concat = dyn_cast<ConcatOp>(op))
    return dim == int64_t(concat.getDim());
  return false;
}

void ProgramAtoms::visitWhole(Operation *op, Value value, int64_t dim) {
  if (!looksTwice(op, value, dim))
    atoms.keep(atomOf(value, dim));
}

/// A factor of the program (FactorProjection) says which dims are divided
/// together, for which the slowest part of a dim is enough. Here dims change
/// their sizes together: behind a loop there is another atom, and reshapes and
/// slices tie dims that no division passes. So rules are read alike, but tie
/// products of atoms.
void ProgramAtoms::visitRule(Operation *op) {
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  ShardingRule rule =
      shardable ? shardable.getFinerRule() : ShardingRule::whole(op);
  SmallVector<int> factors;
  for (const Factor &factor : rule.factors)
    factors.push_back(atoms.make(factor.size));
  for (const RuleDim &each : listDims(rule)) {
    Value value = each.isResult ? Value(op->getResult(each.tensor))
                                : op->getOperand(each.tensor);
    if (each.isWhole()) {
      visitWhole(op, value, each.dim);
      continue;
    }
    const int atom = atomOf(value, each.dim);
    const int64_t inner = atoms.oldSizeOf(atom) /
                          std::max<int64_t>(rule.factors[each.loop].size, 1);
    const int rest = atoms.make(inner); // behind the factor
    atoms.keep(rest);
    atoms.unify({atom}, {factors[each.loop], rest});
  }
}

/// The result has the input's dims, and a layer norm's scale and bias its last
/// ones. That other dims have one size, as samples and rows of an image may,
/// says nothing.
void ProgramAtoms::tieNormDims(Operation *op) {
  Value input = op->getOperand(0);
  const int64_t rank = typeOf(input).getRank();
  auto tieLast = [&](Value value) {
    const int64_t first = rank - typeOf(value).getRank();
    for (int64_t dim = first; dim < rank; ++dim)
      atoms.unify({atomOf(input, dim)}, {atomOf(value, dim - first)});
  };
  tieLast(op->getResult(0));
  if (isa<LayerNormOp>(op))
    for (Value operand : op->getOperands().drop_front())
      tieLast(operand);
}

/// Whole dims of equal sizes are one dim, or no harm is done.
void ProgramAtoms::tieEqualSizes(Operation *op) {
  llvm::DenseMap<int64_t, int> firsts;
  auto tie = [&](Value value) {
    for (auto [dim, size] : llvm::enumerate(typeOf(value).getShape())) {
      auto [first, isNew] = firsts.try_emplace(size, atomOf(value, dim));
      if (!isNew)
        atoms.unify({first->second}, {atomOf(value, dim)});
    }
  };
  for (Value operand : op->getOperands())
    tie(operand);
  for (Value result : op->getResults())
    tie(result);
}

/// A dim of `whole` consists of blocks as large as that of `part`.
void ProgramAtoms::tieBlock(Value whole, Value part, int64_t dim) {
  const int64_t size = typeOf(whole).getDimSize(dim),
                block = typeOf(part).getDimSize(dim);
  if (block == 0 || size % block != 0) {
    atoms.keep(atomOf(whole, dim));
    atoms.keep(atomOf(part, dim));
    return;
  }
  const int count = atoms.make(size / block);
  atoms.keep(count);
  atoms.unify({atomOf(whole, dim)}, {count, atomOf(part, dim)});
}

void ProgramAtoms::visitSlice(SliceOp op) {
  auto from = typeOf(op.getInput()), to = typeOf(op.getResult());
  for (int64_t dim = 0; dim < to.getRank(); ++dim) {
    const int64_t size = to.getDimSize(dim), offset = op.getOffsets()[dim];
    if (size == from.getDimSize(dim))
      continue; // by the rule
    if (op.getStrides()[dim] == 1 && size > 0 && offset % size == 0) {
      tieBlock(op.getInput(), op.getResult(), dim);
      continue;
    }
    atoms.keep(atomOf(op.getInput(), dim));
    atoms.keep(atomOf(op.getResult(), dim));
  }
}

static bool areEqualAlong(ValueRange parts, int64_t dim) {
  return llvm::all_of(parts, [&](Value part) {
    return typeOf(part).getDimSize(dim) ==
           typeOf(parts.front()).getDimSize(dim);
  });
}

void ProgramAtoms::visitConcat(ConcatOp op) {
  const int64_t dim = op.getDim();
  if (areEqualAlong(op.getInputs(), dim))
    return visitParts(op.getResult(), op.getInputs(), dim);
  Sum sum = {atomOf(op.getResult(), dim), {}};
  for (Value part : op.getInputs())
    sum.parts.push_back(atomOf(part, dim));
  sums.push_back(std::move(sum));
}

void ProgramAtoms::visitParts(Value whole, ValueRange parts, int64_t dim) {
  const bool areEqual = areEqualAlong(parts, dim);
  for (Value part : parts)
    if (areEqual)
      tieBlock(whole, part, dim);
    else
      atoms.keep(atomOf(part, dim));
  if (!areEqual)
    atoms.keep(atomOf(whole, dim));
}

void ProgramAtoms::visitWindow(Operation *op, const Window &window) {
  for (auto [i, dim] : llvm::enumerate(window.spatialDims())) {
    const int64_t dilation = window.dilations.empty() ? 1 : window.dilations[i];
    slides.push_back({atomOf(op->getOperand(0), dim),
                      atomOf(op->getResult(0), dim),
                      dilation * (window.sizes[i] - 1) + 1, window.strides[i],
                      window.padsLow[i] + window.padsHigh[i]});
  }
}

/// Keeps all rows of a table unless an input says which are read: computed
/// indices may be any of the old number.
void ProgramAtoms::keepTable(GatherOp op) {
  if (!findIndexInput(op))
    atoms.keep(atomOf(op.getTable(), op.getDim()));
}

/// An attribute counts experts; where others say how many rows find room, as
/// few rows as small dims have would all find some.
void ProgramAtoms::keepExperts(GroupedMatmulOp op) {
  atoms.keep(atomOf(op.getWeights(), 0));
  if (op.getRoomCapacity())
    atoms.keep(atomOf(op.getRows(), 0));
}

RankedTensorType ProgramAtoms::newTypeOf(Value value) {
  SmallVector<int64_t> shape;
  for (int atom : dims.find(value)->second)
    shape.push_back(
        typeOf(value).getDimSize(shape.size()) == 0 ? 0 : atoms.sizeOf(atom));
  auto type = typeOf(value);
  return RankedTensorType::get(shape, type.getElementType(),
                               type.getEncoding());
}

SmallVector<int64_t> ProgramAtoms::placesLeft(Value value, int64_t dim) {
  SmallVector<int64_t> places = {0};
  for (int leaf : atoms.leavesOf(atomOf(value, dim))) {
    SmallVector<int64_t> finer;
    for (int64_t place : places)
      for (int64_t i = 0; i < atoms.sizeOf(leaf); ++i)
        finer.push_back(place * atoms.oldSizeOf(leaf) + i);
    places = std::move(finer);
  }
  return places;
}

BlockArgument findIndexInput(GatherOp op) {
  Value index = op.getIndices();
  while (Operation *made = index.getDefiningOp()) {
    if (!isa<ReshapeOp, ConvertOp, TransposeOp, SliceOp, BroadcastOp>(made))
      return {};
    index = made->getOperand(0);
  }
  auto argument = cast<BlockArgument>(index);
  auto program = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  const unsigned number = argument.getArgNumber();
  return program.getArgAttr(number, kInputAttr) &&
                 program.getArgAttr(number, kRangeAttr)
             ? argument
             : BlockArgument();
}

} // namespace zc
