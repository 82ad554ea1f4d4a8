//===- SignCompression.cpp - a vector as signs and one scale --------------===//
//
// A chunk of n numbers is 8 planes of n / 8: byte i has the signs of the
// numbers at place i of every plane, so that both ways are loops over rows.
// Bytes are made and taken apart by arithmetic of float32, which is exact up to
// 2^24.
//
//===----------------------------------------------------------------------===//
#include "passes/Autodiff/Optimizers/SignCompression.h"

#include "passes/Analysis/Tensors.h"
#include "passes/Autodiff/Optimizers/UpdateBuilder.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

// Elements that one thread adds up at once.
static constexpr int64_t kRow = 16 * 1024;

/// 2^k, or 2^-k, for plane k, as a tensor of `shape`, whose dim before the last
/// counts the planes.
static Value makePowers(OpBuilder &builder, Location loc,
                        ArrayRef<int64_t> shape, bool inverse) {
  SmallVector<float> powers;
  for (int64_t bit = 0; bit < kSignsPerByte; ++bit)
    powers.push_back(inverse ? 1.0F / float(1 << bit) : float(1 << bit));
  auto type = RankedTensorType::get({kSignsPerByte}, builder.getF32Type());
  Value constant = ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef<float>(powers)));
  return broadcast(builder, loc, constant, shape,
                   {static_cast<int64_t>(shape.size()) - 2});
}

/// `value`, without the last dim, repeated along a last dim as `like` has.
static Value alongRows(OpBuilder &builder, Location loc, Value value,
                       Value like) {
  return broadcast(
      builder, loc, value, shapeOf(like),
      llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(value).size())));
}

/// [.., n] as [.., chunks, 8, n / chunks / 8].
static SmallVector<int64_t> planesOf(ArrayRef<int64_t> shape, int64_t chunks) {
  SmallVector<int64_t> planes(shape.drop_back());
  planes.append({chunks, kSignsPerByte, shape.back() / chunks / kSignsPerByte});
  return planes;
}

/// The root of each row's mean square.
static Value findScales(OpBuilder &builder, Location loc, Value rows) {
  UpdateBuilder u{builder, loc};
  auto type = cast<RankedTensorType>(rows.getType());
  SmallVector<int64_t> shape(type.getShape());
  int64_t length = shape.back(), parts = 1;
  while (length / parts > kRow && length / parts % 2 == 0)
    parts *= 2;
  shape.back() = parts;
  auto partType = withShape(type, shape);
  shape.push_back(length / parts);
  int64_t last = type.getRank();
  Value sums = ReduceOp::create(builder, loc, partType, ReduceKind::SumSquare,
                                reshape(builder, loc, rows, shape),
                                ArrayRef<int64_t>(last));
  Value sum = ReduceOp::create(
      builder, loc, withShape(type, type.getShape().drop_back()),
      ReduceKind::Sum, sums, ArrayRef<int64_t>(last - 1));
  return u.sqrt(u.div(sum, u.number(sum, static_cast<double>(length))));
}

Compressed compress(OpBuilder &builder, Location loc, Value rows,
                    int64_t chunks) {
  UpdateBuilder u{builder, loc};
  auto type = cast<RankedTensorType>(rows.getType());
  SmallVector<int64_t> planes = planesOf(type.getShape(), chunks);
  int64_t planeDim = static_cast<int64_t>(planes.size()) - 2;
  SmallVector<int64_t> bytes(planes);
  bytes.erase(bytes.begin() + planeDim);
  Value scales = findScales(builder, loc, rows);
  Value scale = alongRows(builder, loc, scales, rows);
  Value isPositive =
      compare(builder, loc, Predicate::Ge, rows, u.number(rows, 0));
  Value sent = u.select(isPositive, scale, u.sub(u.number(scale, 0), scale));
  Value bits = reshape(builder, loc, rows, planes);
  bits = u.select(compare(builder, loc, Predicate::Ge, bits, u.number(bits, 0)),
                  makePowers(builder, loc, planes, /*inverse=*/false),
                  u.number(bits, 0));
  Value signs =
      ReduceOp::create(builder, loc, withShape(type, bytes), ReduceKind::Sum,
                       bits, ArrayRef<int64_t>(planeDim));
  auto byte = builder.getIntegerType(8, /*isSigned=*/false);
  return {u.convert(signs, byte), scales, u.sub(rows, sent)};
}

Value expand(OpBuilder &builder, Location loc, Value signs, Value scales) {
  UpdateBuilder u{builder, loc};
  Value bytes = u.convert(signs, builder.getF32Type());
  SmallVector<int64_t> planes(shapeOf(bytes)), rows(planes);
  rows.back() *= kSignsPerByte;
  int64_t planeDim = static_cast<int64_t>(planes.size()) - 1;
  SmallVector<int64_t> dims = otherDims(planeDim + 2, {planeDim});
  planes.insert(planes.end() - 1, kSignsPerByte);
  bytes = broadcast(builder, loc, bytes, planes, dims);
  auto floor = [&](Value value) -> Value {
    return FloorOp::create(builder, loc, value);
  };
  // Bit k of b is floor(b / 2^k) mod 2.
  Value shifted =
      floor(u.mul(bytes, makePowers(builder, loc, planes, /*inverse=*/true)));
  Value bits = u.sub(shifted, u.mul(floor(u.mul(shifted, 0.5)), 2));
  Value plusMinus = u.sub(u.mul(bits, 2), u.number(bits, 1));
  Value whole = reshape(builder, loc, plusMinus, rows);
  return u.mul(whole, alongRows(builder, loc, scales, whole));
}

} // namespace zc
