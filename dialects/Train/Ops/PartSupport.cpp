//===- PartSupport.cpp - ops on tensors that are divided ------------------===//
#include "dialects/Train/Ops/PartSupport.h"

using namespace mlir;

namespace zc::train {

Value splitDim(OpBuilder &builder, Location loc, Value value, int64_t dim,
               int64_t parts) {
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(value.getType()).getShape());
  shape[dim] /= parts;
  shape.insert(shape.begin() + dim, parts);
  return reshape(builder, loc, value, shape);
}

Value numberParts(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape,
                  int64_t dim, Type element, int64_t factor) {
  unsigned bits = element.getIntOrFloatBitWidth();
  SmallVector<APInt> numbers;
  for (int64_t part = 0; part < shape[dim]; ++part)
    numbers.push_back(
        APInt(bits, part * factor, /*isSigned=*/true, /*implicitTrunc=*/true));
  auto type = RankedTensorType::get({shape[dim]}, element);
  Value vector =
      ConstantOp::create(builder, loc, DenseElementsAttr::get(type, numbers));
  return broadcast(builder, loc, vector, shape, {dim});
}

IndexParts placeIndices(OpBuilder &builder, Location loc, Value indices,
                        int64_t size, int64_t parts) {
  Type type = indices.getType();
  auto number = [&](int64_t value) {
    return splat(builder, loc, type, static_cast<double>(value));
  };
  // Negative ones count from the end.
  Value negative = compare(builder, loc, Predicate::Lt, indices, number(0));
  Value fromEnd = AddOp::create(builder, loc, indices, number(size));
  Value index =
      SelectOp::create(builder, loc, type, negative, fromEnd, indices);
  int64_t length = size / parts;
  Value part = DivOp::create(builder, loc, index, number(length));
  Value begin = MulOp::create(builder, loc, part, number(length));
  return {part, SubOp::create(builder, loc, index, begin)};
}

Value isInPart(OpBuilder &builder, Location loc, Value part,
               ArrayRef<int64_t> shape, int64_t dim,
               ArrayRef<int64_t> indexDims) {
  Type element = getElementTypeOrSelf(part.getType());
  return compare(builder, loc, Predicate::Eq,
                 broadcast(builder, loc, part, shape, indexDims),
                 numberParts(builder, loc, shape, dim, element));
}

Value maskValue(OpBuilder &builder, Location loc, Value mask, Value value) {
  Value zero = splat(builder, loc, value.getType(), 0);
  return SelectOp::create(builder, loc, value.getType(), mask, value, zero);
}

} // namespace zc::train
