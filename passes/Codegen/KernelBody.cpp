//===- KernelBody.cpp - train ops on one block of buffers -----------------===//
//
// Values of inlinable ops are never stored: they are expressions, computed
// where they are used, at the place they are used at (an affine map from the
// loops). Other ops' linalg forms read buffers; if such a form is one
// linalg.generic, as a reduction's is, its operands are computed in it.
//
//===----------------------------------------------------------------------===//
#include "passes/Codegen/KernelBody.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Analysis/LoopNests.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

/// One linalg.generic that computes several expressions of one shape.
class LoopNest {
public:
  LoopNest(OpBuilder &builder, const KernelSplit &split,
           const DenseMap<Value, Value> &buffers)
      : builder(builder), split(split), buffers(buffers) {}

  void build(Location loc, ArrayRef<Value> values, ValueRange outputs) {
    unsigned rank = shapeOf(outputs[0]).size();
    AffineMap identity = identityMap(builder, rank);
    for (Value value : values)
      collectOperation(value, identity);
    SmallVector<AffineMap> maps;
    SmallVector<Value> inputs;
    listReads(inputs, maps);
    maps.append(outputs.size(), identity);
    buildGeneric(builder, loc, rank, maps, inputs, outputs,
                 [&](OpBuilder &nested, Location, ValueRange elements) {
                   SmallVector<Value> results;
                   for (Value value : values)
                     results.push_back(
                         emitOperation(nested, value, identity, elements));
                   return results;
                 });
  }

  /// The same loops as `op`'s, which compute `value` where `op` reads it from
  /// its input number `index`. False, with nothing built, where what is read
  /// does not say how far every loop goes: a sum over copies of one value.
  bool buildInto(linalg::GenericOp op, unsigned index, Value value) {
    AffineMap place = op.getIndexingMapsArray()[index];
    collectOperation(value, place);
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    listReads(inputs, maps);
    for (unsigned i = 0, count = op.getNumDpsInputs(); i < count; ++i)
      if (i != index)
        inputs.push_back(op.getDpsInputOperand(i)->get());
    for (auto [number, map] : llvm::enumerate(op.getIndexingMapsArray()))
      if (number != index)
        maps.push_back(map);
    if (!inversePermutation(concatAffineMaps(maps, op.getContext())))
      return false;
    builder.setInsertionPoint(op);
    linalg::GenericOp::create(
        builder, op.getLoc(), inputs, op.getOutputs(), maps,
        op.getIteratorTypesArray(),
        [&](OpBuilder &nested, Location loc, ValueRange elements) {
          SmallVector<Value> read;
          for (Value element : elements.take_front(reads.size()))
            read.push_back(widenScalar(nested, loc, element));
          Value scalar = emitOperation(nested, value, place, read);
          inlineBody(nested, op, index, scalar,
                     elements.drop_front(reads.size()));
        });
    builder.setInsertionPointAfter(op);
    op.erase();
    return true;
  }

private:
  using Place = std::pair<Value, Attribute>;

  /// The buffers that are read, and where.
  void listReads(SmallVectorImpl<Value> &inputs,
                 SmallVectorImpl<AffineMap> &maps) const {
    for (auto &[read, index] : reads) {
      inputs.push_back(buffers.lookup(read.first));
      maps.push_back(cast<AffineMapAttr>(read.second).getValue());
    }
  }

  /// Copies what `op` does with its elements, of which `others` are all but
  /// that of the input number `index`.
  static void inlineBody(OpBuilder &nested, linalg::GenericOp op,
                         unsigned index, Value element, ValueRange others) {
    IRMapping mapping;
    unsigned next = 0;
    for (auto [number, argument] :
         llvm::enumerate(op.getRegion().front().getArguments()))
      mapping.map(argument, number == index ? element : others[next++]);
    for (Operation &inner : op.getRegion().front())
      nested.clone(inner, mapping);
  }

  static Place placeOf(Value value, AffineMap map) {
    return {value, AffineMapAttr::get(map)};
  }

  void collect(Value value, AffineMap map) {
    if (!buffers.contains(value))
      return collectOperation(value, map);
    reads.insert({placeOf(value, map), reads.size()});
  }

  void collectOperation(Value value, AffineMap map) {
    if (!visited.insert(placeOf(value, map)).second)
      return;
    Operation *op = value.getDefiningOp();
    if (AffineMap moved = localReadMap(op))
      return collect(op->getOperand(0), moved.compose(map));
    if (isJoinOfHalves(op))
      map = halfMap(op).compose(map);
    for (Value operand : op->getOperands())
      collect(operand, map);
  }

  AffineMap localReadMap(Operation *op) {
    if (!isMovedRead(op))
      return {};
    return movedReadMap(builder, op, split.localShape(op->getOperand(0)),
                        split.localShape(op->getResult(0)));
  }

  AffineMap halfMap(Operation *join) {
    return halfReadMap(builder, split.localShape(join->getResult(0)));
  }

  /// The element of that half of a concat in which its index along the last dim
  /// is; `map` goes from the loops to the concat's result.
  Value emitHalf(OpBuilder &nested, Operation *join, AffineMap map,
                 ValueRange elements) {
    Location loc = join->getLoc();
    AffineMap inHalf = halfMap(join).compose(map);
    SmallVector<Value> halves;
    for (Value operand : join->getOperands())
      halves.push_back(
          widenScalar(nested, loc, emit(nested, operand, inHalf, elements)));
    SmallVector<OpFoldResult> loops;
    for (unsigned loop = 0; loop < map.getNumDims(); ++loop)
      loops.push_back(linalg::IndexOp::create(nested, loc, loop).getResult());
    OpFoldResult index = affine::makeComposedFoldedAffineApply(
        nested, loc, map.getSubMap({map.getNumResults() - 1}), loops);
    Value half = arith::ConstantIndexOp::create(
        nested, loc, split.localShape(join->getResult(0)).back() / 2);
    Value isFirst = arith::CmpIOp::create(
        nested, loc, arith::CmpIPredicate::ult,
        getValueOrCreateConstantIndexOp(nested, loc, index), half);
    return arith::SelectOp::create(nested, loc, isFirst, halves[0], halves[1]);
  }

  Value emit(OpBuilder &nested, Value value, AffineMap map,
             ValueRange elements) {
    auto read = reads.find(placeOf(value, map));
    if (read != reads.end())
      return elements[read->second];
    return emitOperation(nested, value, map, elements);
  }

  Value emitOperation(OpBuilder &nested, Value value, AffineMap map,
                      ValueRange elements) {
    Value &scalar = scalars[placeOf(value, map)];
    if (scalar)
      return scalar;
    Operation *op = value.getDefiningOp();
    Value result;
    if (AffineMap moved = localReadMap(op)) {
      result = emit(nested, op->getOperand(0), moved.compose(map), elements);
    } else if (isJoinOfHalves(op)) {
      result = emitHalf(nested, op, map, elements);
    } else if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto dense = cast<DenseElementsAttr>(constant.getValue());
      result = scalarConstant(nested, op->getLoc(),
                              dense.getSplatValue<Attribute>());
    } else {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(emit(nested, operand, map, elements));
      result = cast<ElementwiseOpInterface>(op).buildScalar(
          nested, op->getLoc(), operands);
    }
    // A value that stays in registers is not rounded to 16 bits.
    result = widenScalar(nested, op->getLoc(), result);
    // The recursion may have moved `scalar`.
    scalars[placeOf(value, map)] = result;
    return result;
  }

  OpBuilder &builder;
  const KernelSplit &split;
  const DenseMap<Value, Value> &buffers;
  llvm::MapVector<Place, unsigned> reads;
  DenseSet<Place> visited;
  DenseMap<Place, Value> scalars;
};

class BodyBuilder {
public:
  BodyBuilder(OpBuilder &builder, const KernelSplit &split)
      : builder(builder), split(split) {}

  void run(Block &body, ValueRange inputs, ValueRange outputs) {
    for (auto [argument, input] : llvm::zip(body.getArguments(), inputs))
      buffers[argument] = input;
    auto yielded = body.getTerminator()->getOperands();
    for (auto [value, output] : llvm::zip(yielded, outputs))
      targets.insert({value, output});
    for (Operation &op : body.without_terminator())
      if (!isInlinable(&op))
        buildOp(&op);
    buildRemainingOutputs(yielded);
    for (auto [value, output] : llvm::zip(yielded, outputs))
      if (buffers.lookup(value) != output)
        buildCopy(builder, value.getLoc(), buffers.lookup(value), output);
  }

private:
  // The memory of a value: where it is yielded, or a temporary.
  Value allocate(Value value) {
    auto target = targets.find(value);
    if (target != targets.end())
      return target->second;
    Type element = cast<ShapedType>(value.getType()).getElementType();
    return buildTemporary(builder, value.getLoc(), split.localShape(value),
                          element);
  }

  void materialize(ArrayRef<Value> values, ValueRange results) {
    LoopNest(builder, split, buffers)
        .build(values[0].getLoc(), values, results);
    for (auto [value, result] : llvm::zip(values, results))
      buffers[value] = result;
  }

  // An expression that the op may overwrite is computed where its result goes.
  void materializeOperand(LinalgFormOpInterface op, OpOperand &operand,
                          ArrayRef<Value> outputs) {
    Value value = operand.get();
    if (value.hasOneUse() && !targets.contains(value))
      for (auto [index, output] : llvm::enumerate(outputs))
        if (op.mayShareBuffer(operand.getOperandNumber(), index))
          return materialize(value, output);
    materialize(value, allocate(value));
  }

  /// A part of what is in memory is there already.
  bool isWindow(Operation *op) const {
    return isa<SliceOp>(op) && buffers.contains(op->getOperand(0)) &&
           !targets.contains(op->getResult(0));
  }

  void buildOp(Operation *op) {
    if (isWindow(op)) {
      auto slice = cast<SliceOp>(op);
      buffers[slice.getResult()] =
          buildWindow(builder, op->getLoc(), buffers.lookup(slice.getInput()),
                      slice.getOffsets(), split.localShape(slice.getResult()),
                      slice.getStrides());
      return;
    }
    auto form = cast<LinalgFormOpInterface>(op);
    SmallVector<Value> outputs;
    for (Value result : op->getResults())
      outputs.push_back(allocate(result));
    if (isPlainReduction(op) && !buffers.contains(op->getOperand(0)))
      buildReduction(op, outputs);
    else
      buildStored(op, form, outputs);
    for (auto [result, output] : llvm::zip(op->getResults(), outputs))
      if (result.use_empty() && output.use_empty())
        output.getDefiningOp()->erase(); // a temporary that nobody wrote
      else
        buffers[result] = output;
  }

  void buildStored(Operation *op, LinalgFormOpInterface form,
                   ArrayRef<Value> outputs) {
    SmallVector<Value> inputs;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!buffers.contains(operand.get()))
        materializeOperand(form, operand, outputs);
      inputs.push_back(buffers.lookup(operand.get()));
    }
    buildLinalgForm(op, builder, op->getLoc(), inputs, outputs);
  }

  /// A reduction of an expression: its loops compute the expression.
  void buildReduction(Operation *op, ArrayRef<Value> outputs) {
    Value operand = op->getOperand(0);
    Type element =
        getComputeType(cast<ShapedType>(operand.getType()).getElementType());
    Value standIn = buildTemporary(builder, op->getLoc(),
                                   split.localShape(operand), element);
    buildLinalgForm(op, builder, op->getLoc(), {standIn}, outputs);
    OpOperand &use = *standIn.use_begin();
    assert(standIn.hasOneUse() && "a reduction reads its operand once");
    OpBuilder::InsertionGuard guard(builder);
    auto reduction = cast<linalg::GenericOp>(use.getOwner());
    if (LoopNest(builder, split, buffers)
            .buildInto(reduction, use.getOperandNumber(), operand))
      return standIn.getDefiningOp()->erase();
    builder.setInsertionPoint(reduction);
    materialize(operand, standIn);
  }

  // Outputs of one shape share a loop nest.
  void buildRemainingOutputs(ValueRange yielded) {
    llvm::MapVector<ArrayRef<int64_t>, SmallVector<Value>> byShape;
    for (Value value : yielded) {
      if (buffers.contains(value))
        continue;
      auto &group = byShape[cast<ShapedType>(value.getType()).getShape()];
      if (!llvm::is_contained(group, value))
        group.push_back(value);
    }
    for (auto &[shape, values] : byShape) {
      SmallVector<Value> results;
      for (Value value : values)
        results.push_back(allocate(value));
      materialize(values, results);
    }
  }

  OpBuilder &builder;
  const KernelSplit &split;
  DenseMap<Value, Value> buffers, targets;
};

} // namespace

void buildKernelBody(OpBuilder &builder, Block &body, const KernelSplit &split,
                     ValueRange inputs, ValueRange outputs) {
  BodyBuilder(builder, split).run(body, inputs, outputs);
}

} // namespace zc
