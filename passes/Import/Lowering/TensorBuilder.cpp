//===- TensorBuilder.cpp - train ops as arithmetic ------------------------===//
#include "passes/Import/Lowering/TensorBuilder.h"

#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;
using namespace zc;

int64_t zc::rankOf(Value value) { return shapeOf(value).size(); }

Type zc::elementTypeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

bool zc::isFloat(Value value) { return isa<FloatType>(elementTypeOf(value)); }

std::optional<SmallVector<int64_t>> zc::broadcastShapes(ArrayRef<int64_t> lhs,
                                                        ArrayRef<int64_t> rhs) {
  if (lhs.size() < rhs.size())
    std::swap(lhs, rhs);
  SmallVector<int64_t> shape(lhs);
  int64_t lead = lhs.size() - rhs.size();
  for (auto [dim, size] : llvm::enumerate(rhs)) {
    int64_t &result = shape[lead + dim];
    if (result == 1)
      result = size;
    else if (size != 1 && size != result)
      return std::nullopt;
  }
  return shape;
}

// --- Constants -------------------------------------------------------------

Value TensorBuilder::splat(Type type, double value) {
  return train::splat(builder, loc, type, value);
}

Value TensorBuilder::splatLike(Value like, double value) {
  return splat(like.getType(), value);
}

Value TensorBuilder::integers(ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get(static_cast<int64_t>(values.size()),
                                    builder.getI64Type());
  return train::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, values));
}

Value TensorBuilder::floats(RankedTensorType type, ArrayRef<double> values) {
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type.getElementType()).getFloatSemantics();
  SmallVector<APFloat> elements;
  for (double value : values) {
    bool losesDigits;
    elements.emplace_back(value);
    elements.back().convert(semantics, APFloat::rmNearestTiesToEven,
                            &losesDigits);
  }
  return train::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, elements));
}

Value TensorBuilder::iota(ArrayRef<int64_t> shape, int64_t dim, Type element) {
  SmallVector<Attribute> elements;
  for (int64_t at = 0; at < shape[dim]; ++at)
    elements.push_back(builder.getIntegerAttr(element, at));
  auto type = RankedTensorType::get(shape[dim], element);
  Value counts = train::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, elements));
  return broadcast(counts, shape, dim);
}

// --- Elementwise -----------------------------------------------------------

Value TensorBuilder::add(Value a, Value b) {
  return builder.createOrFold<train::AddOp>(loc, a.getType(), a, b);
}
Value TensorBuilder::sub(Value a, Value b) {
  return builder.createOrFold<train::SubOp>(loc, a.getType(), a, b);
}
Value TensorBuilder::mul(Value a, Value b) {
  return builder.createOrFold<train::MulOp>(loc, a.getType(), a, b);
}
Value TensorBuilder::div(Value a, Value b) {
  return builder.createOrFold<train::DivOp>(loc, a.getType(), a, b);
}
Value TensorBuilder::max(Value a, Value b) {
  return train::MaxOp::create(builder, loc, a.getType(), a, b);
}
Value TensorBuilder::min(Value a, Value b) {
  return train::MinOp::create(builder, loc, a.getType(), a, b);
}

Value TensorBuilder::compare(Predicate predicate, Value a, Value b) {
  return train::compare(builder, loc, predicate, a, b);
}

Value TensorBuilder::select(Value condition, Value a, Value b) {
  return train::SelectOp::create(builder, loc, a.getType(), condition, a, b);
}

Value TensorBuilder::convert(Value value, Type element) {
  if (elementTypeOf(value) == element)
    return value;
  return train::ConvertOp::create(
      builder, loc, train::withElementType(value.getType(), element), value);
}

Value TensorBuilder::neg(Value value) {
  if (isFloat(value))
    return unary<train::NegOp>(value);
  return sub(splatLike(value, 0), value);
}

Value TensorBuilder::abs(Value value) {
  return isFloat(value) ? unary<train::AbsOp>(value) : max(value, neg(value));
}

Value TensorBuilder::line(Value value, double slope, double offset) {
  return train::LineOp::create(builder, loc, value.getType(), value,
                               builder.getF64FloatAttr(slope),
                               builder.getF64FloatAttr(offset));
}

Value TensorBuilder::swish(Value value, double alpha) {
  return train::SwishOp::create(builder, loc, value.getType(), value,
                                builder.getF64FloatAttr(alpha));
}

// --- Shapes ----------------------------------------------------------------

Value TensorBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  return train::reshape(builder, loc, value, shape);
}

Value TensorBuilder::transpose(Value value, ArrayRef<int64_t> permutation) {
  return train::transpose(builder, loc, value, permutation);
}

Value TensorBuilder::broadcast(Value value, ArrayRef<int64_t> shape,
                               ArrayRef<int64_t> dims) {
  auto type = train::withShape(value.getType(), shape);
  if (type == value.getType())
    return value;
  return builder.createOrFold<train::BroadcastOp>(loc, type, value, dims);
}

Value TensorBuilder::broadcast(Value value, ArrayRef<int64_t> shape) {
  int64_t rank = shape.size();
  return broadcast(
      value, shape,
      llvm::to_vector(llvm::seq<int64_t>(rank - rankOf(value), rank)));
}

Value TensorBuilder::slice(Value value, int64_t dim, int64_t offset,
                           int64_t size, int64_t stride) {
  if (offset == 0 && size == shapeOf(value)[dim] && stride == 1)
    return value;
  SmallVector<int64_t> shape(shapeOf(value));
  SmallVector<int64_t> offsets(shape.size(), 0), strides(shape.size(), 1);
  shape[dim] = size;
  offsets[dim] = offset;
  strides[dim] = stride;
  return train::SliceOp::create(builder, loc,
                                train::withShape(value.getType(), shape), value,
                                offsets, strides);
}

Value TensorBuilder::pad(Value value, ArrayRef<int64_t> low,
                         ArrayRef<int64_t> high) {
  SmallVector<int64_t> shape, zerosLow;
  bool grows = false;
  for (int64_t dim = 0; dim < rankOf(value); ++dim) {
    int64_t cutLow = std::max<int64_t>(-low[dim], 0);
    int64_t cutHigh = std::max<int64_t>(-high[dim], 0);
    value = slice(value, dim, cutLow, shapeOf(value)[dim] - cutLow - cutHigh);
    zerosLow.push_back(std::max<int64_t>(low[dim], 0));
    shape.push_back(shapeOf(value)[dim] + zerosLow.back() +
                    std::max<int64_t>(high[dim], 0));
    grows |= shape.back() != shapeOf(value)[dim];
  }
  if (!grows)
    return value;
  return train::PadOp::create(builder, loc,
                              train::withShape(value.getType(), shape), value,
                              zerosLow, SmallVector<int64_t>(shape.size(), 0));
}

Value TensorBuilder::concat(ValueRange values, int64_t dim) {
  if (values.size() == 1)
    return values.front();
  SmallVector<int64_t> shape(shapeOf(values.front()));
  for (Value value : values.drop_front())
    shape[dim] += shapeOf(value)[dim];
  return train::ConcatOp::create(
      builder, loc, train::withShape(values.front().getType(), shape), values,
      dim);
}

SmallVector<Value> TensorBuilder::split(Value value, int64_t dim,
                                        ArrayRef<int64_t> sizes) {
  if (sizes.size() == 1)
    return {value};
  SmallVector<Type> types;
  SmallVector<int64_t> shape(shapeOf(value));
  for (int64_t size : sizes) {
    shape[dim] = size;
    types.push_back(train::withShape(value.getType(), shape));
  }
  auto op = train::SplitOp::create(builder, loc, types, value, dim);
  return SmallVector<Value>(op.getResults());
}

Value TensorBuilder::gather(Value table, Value indices, int64_t dim,
                            int64_t batchDims) {
  SmallVector<int64_t> shape(shapeOf(table).take_front(dim));
  llvm::append_range(shape, shapeOf(indices).drop_front(batchDims));
  llvm::append_range(shape, shapeOf(table).drop_front(dim + 1));
  return train::GatherOp::create(builder, loc,
                                 train::withShape(table.getType(), shape),
                                 table, indices, dim, batchDims);
}

Value TensorBuilder::take(Value table, ArrayRef<int64_t> indices, int64_t dim) {
  int64_t count = indices.size();
  int64_t stride = count > 1 ? indices[1] - indices[0] : 1;
  bool even = count > 0 && stride > 0;
  for (int64_t at = 1; at < count && even; ++at)
    even = indices[at] - indices[at - 1] == stride;
  if (even)
    return slice(table, dim, indices[0], count, stride);
  return gather(table, integers(indices), dim);
}

// --- Reductions and contractions -------------------------------------------

Value TensorBuilder::reduce(ReduceKind kind, Value value,
                            ArrayRef<int64_t> dims, bool keepDims) {
  SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted);
  SmallVector<int64_t> shape, kept(shapeOf(value));
  for (int64_t dim : train::otherDims(rankOf(value), sorted))
    shape.push_back(kept[dim]);
  for (int64_t dim : sorted)
    kept[dim] = 1;
  if (!sorted.empty())
    value = train::ReduceOp::create(builder, loc,
                                    train::withShape(value.getType(), shape),
                                    kind, value, sorted);
  return keepDims ? reshape(value, kept) : value;
}

Value TensorBuilder::mean(Value value, ArrayRef<int64_t> dims, bool keepDims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= shapeOf(value)[dim];
  return div(reduce(ReduceKind::Sum, value, dims, keepDims), count);
}

Value TensorBuilder::isExtreme(Value value, Value best) {
  Value equal = compare(Predicate::Eq, value, best);
  if (!isFloat(value))
    return equal;
  Type bits = equal.getType();
  Value isNan = train::IsNanOp::create(builder, loc, bits, value);
  return train::OrOp::create(builder, loc, bits, equal, isNan);
}

Value TensorBuilder::softmax(Value value, int64_t dim) {
  return train::SoftmaxOp::create(builder, loc, value.getType(), value, dim);
}

// x - max - log sum e^(x - max): no probability is rounded to 0 on the way.
Value TensorBuilder::logSoftmax(Value value, int64_t dim) {
  ArrayRef<int64_t> shape = shapeOf(value);
  Value shifted =
      sub(value, broadcast(reduce(ReduceKind::Max, value, dim, true), shape));
  Value sum = reduce(ReduceKind::Sum, unary<train::ExpOp>(shifted), dim, true);
  return sub(shifted, broadcast(unary<train::LogOp>(sum), shape));
}

Value TensorBuilder::matmul(Value lhs, Value rhs, bool transposeLhs,
                            bool transposeRhs) {
  SmallVector<int64_t> shape(shapeOf(lhs).drop_back(2));
  shape.push_back(shapeOf(lhs)[rankOf(lhs) - (transposeLhs ? 1 : 2)]);
  shape.push_back(shapeOf(rhs)[rankOf(rhs) - (transposeRhs ? 2 : 1)]);
  return train::MatmulOp::create(builder, loc,
                                 train::withShape(lhs.getType(), shape), lhs,
                                 rhs, transposeLhs, transposeRhs);
}
