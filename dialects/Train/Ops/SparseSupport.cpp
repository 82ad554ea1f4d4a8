//===- SparseSupport.cpp - tensors without their zeros --------------------===//
#include "dialects/Train/Ops/SparseSupport.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;

namespace zc::train {

static int64_t divideUp(int64_t count, int64_t by) {
  return (count + by - 1) / by;
}

static RankedTensorType integers(RankedTensorType dense, int64_t count,
                                 unsigned bits) {
  return RankedTensorType::get({count},
                               IntegerType::get(dense.getContext(), bits));
}

RankedTensorType sparseBitsType(RankedTensorType dense) {
  return integers(dense, divideUp(dense.getNumElements(), 8), 8);
}

RankedTensorType sparseOffsetsType(RankedTensorType dense) {
  return integers(dense, divideUp(dense.getNumElements(), kSparseBlock) + 1,
                  64);
}

RankedTensorType sparseValuesType(RankedTensorType dense, int64_t capacity) {
  return withShape(dense, {capacity});
}

LogicalResult verifySparse(Operation *op, RankedTensorType dense, Type bits,
                           Type offsets, Type values) {
  auto type = cast<RankedTensorType>(values);
  int64_t capacity = type.getRank() == 1 ? type.getDimSize(0) : 1;
  if (failed(verifyType(op, "bits", bits, sparseBitsType(dense))) ||
      failed(verifyType(op, "offsets", offsets, sparseOffsetsType(dense))))
    return failure();
  return verifyType(op, "values", values, sparseValuesType(dense, capacity));
}

void buildSparseLoops(OpBuilder &builder, Location loc, Value dense,
                      llvm::function_ref<void(const SparseElement &)> body) {
  ArrayRef<int64_t> shape = shapeOf(dense);
  buildLoops(builder, loc, shape, [&](Indices at) {
    AffineExpr flat = builder.getAffineConstantExpr(0);
    for (auto [dim, size] : llvm::enumerate(shape))
      flat = flat * size + builder.getAffineDimExpr(dim);
    auto value = [&](AffineExpr expr) {
      return toIndexValue(
          builder, loc,
          affine::makeComposedFoldedAffineApply(builder, loc, expr, at));
    };
    Type byte = builder.getI8Type();
    Value bit = arith::IndexCastOp::create(builder, loc, byte, value(flat % 8));
    Value one = arith::ConstantIntOp::create(builder, loc, byte, 1);
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value isStart =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                              value(flat % kSparseBlock), zero);
    body({llvm::to_vector(at), value(flat.floorDiv(8)),
          arith::ShLIOp::create(builder, loc, one, bit),
          value(flat.floorDiv(kSparseBlock)), isStart});
  });
}

void buildIf(OpBuilder &builder, Location loc, Value condition,
             llvm::function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(builder);
  auto branch =
      scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

SparseCount::SparseCount(OpBuilder &builder, Location loc, Value values)
    : builder(builder), loc(loc) {
  Type integer = builder.getI64Type();
  counter = buildTemporary(builder, loc, {}, integer);
  buildFill(builder, loc, counter, 0);
  one = arith::ConstantIntOp::create(builder, loc, integer, 1);
  capacity =
      arith::ConstantIntOp::create(builder, loc, integer, shapeOf(values)[0]);
}

Value SparseCount::load() { return buildLoad(builder, loc, counter); }

void SparseCount::store(Value count) {
  buildStore(builder, loc, count, counter);
}

void SparseCount::pass(Value count, llvm::function_ref<void(Value)> body) {
  // Unsigned: nor is anything touched before the first value.
  Value fits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                     count, capacity);
  buildIf(builder, loc, fits, [&] {
    body(arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    count));
  });
  store(arith::AddIOp::create(builder, loc, count, one));
}

} // namespace zc::train
