//===- LoopSupport.cpp - linalg forms built of loops over rows ------------===//
#include "dialects/Train/Ops/LoopSupport.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;

namespace zc::train {

SmallVector<int64_t> pick(ArrayRef<int64_t> sizes, ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [&](int64_t dim) { return sizes[dim]; });
}

SmallVector<int64_t> dimRange(int64_t begin, int64_t end) {
  return llvm::to_vector(llvm::seq(begin, end));
}

Value toIndexValue(OpBuilder &builder, Location loc, OpFoldResult index) {
  return getValueOrCreateConstantIndexOp(builder, loc, index);
}

SmallVector<Value> toIndexValues(OpBuilder &builder, Location loc,
                                 Indices indices) {
  return llvm::map_to_vector(indices, [&](OpFoldResult index) {
    return toIndexValue(builder, loc, index);
  });
}

/// Enters a loop from 0 to `end`; returns its induction variable.
static Value enterLoop(OpBuilder &builder, Location loc, int64_t end,
                       int64_t step) {
  auto loop = scf::ForOp::create(
      builder, loc, arith::ConstantIndexOp::create(builder, loc, 0),
      arith::ConstantIndexOp::create(builder, loc, end),
      arith::ConstantIndexOp::create(builder, loc, step));
  builder.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVar();
}

void buildLoops(OpBuilder &builder, Location loc, ArrayRef<int64_t> sizes,
                llvm::function_ref<void(Indices)> body) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<OpFoldResult> indices;
  for (int64_t size : sizes) {
    if (size == 1)
      indices.push_back(builder.getIndexAttr(0));
    else
      indices.push_back(enterLoop(builder, loc, size, 1));
  }
  body(indices);
}

void buildBlocks(OpBuilder &builder, Location loc, int64_t total, int64_t limit,
                 llvm::function_ref<void(OpFoldResult, int64_t)> body) {
  int64_t whole = total / limit * limit;
  if (whole == limit) {
    body(builder.getIndexAttr(0), limit);
  } else if (whole > 0) {
    OpBuilder::InsertionGuard guard(builder);
    body(enterLoop(builder, loc, whole, limit), limit);
  }
  if (total > whole)
    body(builder.getIndexAttr(whole), total - whole);
}

Value buildSlice(OpBuilder &builder, Location loc, Value buffer,
                 ArrayRef<int64_t> dims, Indices indices) {
  ArrayRef<int64_t> shape = shapeOf(buffer);
  SmallVector<OpFoldResult> offsets(shape.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(shape.size(), builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : shape)
    sizes.push_back(builder.getIndexAttr(size));
  for (auto [dim, index] : llvm::zip_equal(dims, indices)) {
    offsets[dim] = index;
    sizes[dim] = builder.getIndexAttr(1);
  }
  SmallVector<int64_t> sliced = pick(shape, otherDims(shape.size(), dims));
  MemRefType type = memref::SubViewOp::inferRankReducedResultType(
      sliced, cast<MemRefType>(buffer.getType()), offsets, sizes, strides);
  return memref::SubViewOp::create(builder, loc, type, buffer, offsets, sizes,
                                   strides);
}

Value buildBlock(OpBuilder &builder, Location loc, Value buffer, int64_t dim,
                 OpFoldResult offset, int64_t size) {
  ArrayRef<int64_t> shape = shapeOf(buffer);
  if (shape[dim] == size)
    return buffer;
  SmallVector<OpFoldResult> offsets(shape.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(shape.size(), builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes;
  for (int64_t extent : shape)
    sizes.push_back(builder.getIndexAttr(extent));
  offsets[dim] = offset;
  sizes[dim] = builder.getIndexAttr(size);
  return memref::SubViewOp::create(builder, loc, buffer, offsets, sizes,
                                   strides);
}

Value buildLoad(OpBuilder &builder, Location loc, Value buffer,
                Indices indices) {
  Value element = memref::LoadOp::create(builder, loc, buffer,
                                         toIndexValues(builder, loc, indices));
  return widenScalar(builder, loc, element);
}

void buildStore(OpBuilder &builder, Location loc, Value value, Value buffer,
                Indices indices) {
  Type stored = cast<MemRefType>(buffer.getType()).getElementType();
  value = narrowScalar(builder, loc, value, stored);
  memref::StoreOp::create(builder, loc, value, buffer,
                          toIndexValues(builder, loc, indices));
}

void buildPointwise(OpBuilder &builder, Location loc, ValueRange inputs,
                    ValueRange outputs, ScalarBody body) {
  unsigned rank = shapeOf(outputs[0]).size();
  SmallVector<AffineMap> maps(inputs.size() + outputs.size(),
                              identityMap(builder, rank));
  buildGeneric(builder, loc, rank, maps, inputs, outputs, body);
}

SmallVector<Value> buildReduction(OpBuilder &builder, Location loc,
                                  ValueRange inputs, ValueRange accumulators,
                                  double start, ScalarBody body) {
  unsigned rank = shapeOf(inputs[0]).size();
  SmallVector<AffineMap> maps(inputs.size(), identityMap(builder, rank));
  maps.append(accumulators.size(),
              AffineMap::get(rank, 0, {}, builder.getContext()));
  for (Value accumulator : accumulators)
    buildFill(builder, loc, accumulator, start);
  buildGeneric(builder, loc, rank, maps, inputs, accumulators, body);
  return llvm::map_to_vector(accumulators, [&](Value accumulator) {
    return buildLoad(builder, loc, accumulator);
  });
}

Value buildClampedIndex(OpBuilder &builder, Location loc, Value integer,
                        int64_t size) {
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value index =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), integer);
  Value negative = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::slt, index, constant(0));
  Value fromEnd = arith::AddIOp::create(builder, loc, index, constant(size));
  index = arith::SelectOp::create(builder, loc, negative, fromEnd, index);
  index = arith::MaxSIOp::create(builder, loc, index, constant(0));
  return arith::MinSIOp::create(builder, loc, index, constant(size - 1));
}

LogicalResult verifyDim(Operation *op, StringRef name, int64_t dim,
                        int64_t rank) {
  if (dim >= 0 && dim < rank)
    return success();
  return op->emitOpError() << name << " is " << dim << ", but the operand has "
                           << rank << " dims";
}

LogicalResult verifyType(Operation *op, StringRef what, Type actual,
                         Type expected) {
  if (actual == expected)
    return success();
  return op->emitOpError() << what << " is " << actual << ", expected "
                           << expected;
}

LogicalResult verifyTypeOrPrecision(Operation *op, StringRef what, Type actual,
                                    Type expected) {
  Type element = cast<RankedTensorType>(actual).getElementType();
  bool related =
      getComputeType(element) ==
      getComputeType(cast<RankedTensorType>(expected).getElementType());
  return verifyType(op, what, actual,
                    related ? withElementType(expected, element) : expected);
}

} // namespace zc::train
