//===- OpSupport.cpp - what the ops' rooms share --------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

#include "dialects/Train/Float8Ops.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace zc::train {

//===----------------------------------------------------------------------===//
// Building train ops
//===----------------------------------------------------------------------===//

RankedTensorType withShape(Type type, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape,
                               cast<RankedTensorType>(type).getElementType());
}

RankedTensorType withElementType(Type type, Type element) {
  return RankedTensorType::get(cast<RankedTensorType>(type).getShape(),
                               element);
}

bool isNarrow(Type element) { return isa<Float16Type, BFloat16Type>(element); }

bool isFloat8(Type element) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(element);
}

Type getComputeType(Type element) {
  return isNarrow(element) || isFloat8(element)
             ? Float32Type::get(element.getContext())
             : element;
}

RankedTensorType withComputeType(Type type) {
  return withElementType(
      type, getComputeType(cast<RankedTensorType>(type).getElementType()));
}

Value convert(OpBuilder &builder, Location loc, Value value, Type element) {
  RankedTensorType type = withElementType(value.getType(), element);
  return type == value.getType() ? value
                                 : ConvertOp::create(builder, loc, type, value);
}

Value widen(OpBuilder &builder, Location loc, Value value) {
  return convert(builder, loc, value,
                 getComputeType(getElementTypeOrSelf(value.getType())));
}

Value narrow(OpBuilder &builder, Location loc, Value value, Type type) {
  Type from = getElementTypeOrSelf(value), to = getElementTypeOrSelf(type);
  if (from == to)
    return value;
  auto narrowed = ConvertOp::create(
      builder, loc, withElementType(value.getType(), to), value);
  narrowed.setRoundsResult(isa<FloatType>(from) && isNarrow(to));
  return narrowed;
}

Value widenStored(OpBuilder &builder, Location loc, Value value) {
  Value wide = widen(builder, loc, value);
  if (wide != value && isNarrow(getElementTypeOrSelf(value)))
    wide.getDefiningOp<ConvertOp>().setRoundsOperand(true);
  return wide;
}

Value splat(OpBuilder &builder, Location loc, Type type, double value) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = tensor.getElementType();
  Attribute scalar;
  if (isa<FloatType>(element))
    scalar = builder.getFloatAttr(element, value);
  else
    scalar = builder.getIntegerAttr(element, static_cast<int64_t>(value));
  return ConstantOp::create(builder, loc,
                            DenseElementsAttr::get(tensor, scalar));
}

Value reshape(OpBuilder &builder, Location loc, Value input,
              ArrayRef<int64_t> shape) {
  auto type = withShape(input.getType(), shape);
  if (type == input.getType())
    return input;
  if (auto producer = input.getDefiningOp<ReshapeOp>())
    return reshape(builder, loc, producer.getInput(), shape);
  return ReshapeOp::create(builder, loc, type, input);
}

Value broadcast(OpBuilder &builder, Location loc, Value input,
                ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  auto type = withShape(input.getType(), shape);
  if (type == input.getType())
    return input;
  return BroadcastOp::create(builder, loc, type, input, dims);
}

Value transpose(OpBuilder &builder, Location loc, Value input,
                ArrayRef<int64_t> permutation) {
  auto isIdentity = llvm::all_of(llvm::enumerate(permutation), [](auto item) {
    return static_cast<int64_t>(item.index()) == item.value();
  });
  if (isIdentity)
    return input;
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  return TransposeOp::create(builder, loc, withShape(type, shape), input,
                             permutation);
}

bool isSplatOf(Attribute operand, double number) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(operand);
  if (!dense || !dense.isSplat())
    return false;
  if (isa<FloatType>(dense.getElementType()))
    return dense.getSplatValue<APFloat>().convertToDouble() == number;
  return dense.getSplatValue<APInt>().getSExtValue() == number;
}

bool isZero(Value value) {
  Attribute constant;
  return matchPattern(value, m_Constant(&constant)) && isSplatOf(constant, 0);
}

SmallVector<int64_t> otherDims(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> others;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      others.push_back(dim);
  return others;
}

Value reduceSum(OpBuilder &builder, Location loc, Value input,
                ArrayRef<int64_t> dims) {
  if (dims.empty())
    return input;
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : otherDims(type.getRank(), dims))
    shape.push_back(type.getDimSize(dim));
  auto sums = withComputeType(withShape(type, shape));
  Value sum =
      ReduceOp::create(builder, loc, sums, ReduceKind::Sum, input, dims);
  return narrow(builder, loc, sum, type);
}

Value compare(OpBuilder &builder, Location loc, Predicate predicate, Value lhs,
              Value rhs) {
  return CompareOp::create(builder, loc,
                           withElementType(lhs.getType(), builder.getI1Type()),
                           predicate, lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

arith::FastMathFlags fastMath() {
  return arith::FastMathFlags::reassoc | arith::FastMathFlags::nsz |
         arith::FastMathFlags::contract | arith::FastMathFlags::arcp;
}

Type withoutSign(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer ? IntegerType::get(type.getContext(), integer.getWidth())
                 : type;
}

Value castSign(OpBuilder &builder, Location loc, Value scalar, Type to) {
  if (scalar.getType() == to)
    return scalar;
  return UnrealizedConversionCastOp::create(builder, loc, to, scalar)
      .getResult(0);
}

Value scalarConstant(OpBuilder &builder, Location loc, Attribute element) {
  auto number = cast<TypedAttr>(element);
  Type type = number.getType();
  if (auto integer = dyn_cast<IntegerAttr>(element))
    number = IntegerAttr::get(withoutSign(type), integer.getValue());
  return castSign(builder, loc, arith::ConstantOp::create(builder, loc, number),
                  type);
}

Value ScalarBuilder::constant(Type type, double value) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(type, value));
  return arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(type, static_cast<int64_t>(value)));
}
Value ScalarBuilder::add(Value a, Value b) {
  return arith::AddFOp::create(builder, loc, a, b, flags);
}
Value ScalarBuilder::sub(Value a, Value b) {
  return arith::SubFOp::create(builder, loc, a, b, flags);
}
Value ScalarBuilder::mul(Value a, Value b) {
  return arith::MulFOp::create(builder, loc, a, b, flags);
}
Value ScalarBuilder::div(Value a, Value b) {
  return arith::DivFOp::create(builder, loc, a, b, flags);
}
Value ScalarBuilder::neg(Value a) {
  return arith::NegFOp::create(builder, loc, a, flags);
}
Value ScalarBuilder::exp(Value a) {
  return math::ExpOp::create(builder, loc, a, flags);
}
Value ScalarBuilder::fma(Value a, Value b, Value c) {
  return math::FmaOp::create(builder, loc, a, b, c);
}
FarPower ScalarBuilder::farExp(Value x, Value low) {
  Type type = x.getType();
  Value isFar =
      compare(arith::CmpFPredicate::OLT, x, constant(type, kFarExponent));
  Value shifted = add(x, constant(type, kFarShift));
  Value power = exp(select(isFar, shifted, x));
  if (low)
    power = fma(power, low, power);
  return {power, select(isFar, constant(type, kFarScale), constant(type, 1))};
}
Value ScalarBuilder::log(Value a) {
  return math::LogOp::create(builder, loc, a, flags);
}
Value ScalarBuilder::tanh(Value a) {
  return math::TanhOp::create(builder, loc, a, flags);
}
Value ScalarBuilder::erf(Value a) {
  return math::ErfOp::create(builder, loc, a, flags);
}
Value ScalarBuilder::sqrt(Value a) {
  return math::SqrtOp::create(builder, loc, a, flags);
}
Value ScalarBuilder::rsqrt(Value a) {
  return div(constant(a.getType(), 1), sqrt(a));
}
Value ScalarBuilder::max(Value a, Value b) {
  return arith::MaximumFOp::create(builder, loc, a, b, flags);
}
Value ScalarBuilder::min(Value a, Value b) {
  return arith::MinimumFOp::create(builder, loc, a, b, flags);
}
Value ScalarBuilder::compare(arith::CmpFPredicate predicate, Value a, Value b) {
  return arith::CmpFOp::create(builder, loc, predicate, a, b);
}
Value ScalarBuilder::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}
Value ScalarBuilder::toFloat(Type type, Value integer) {
  if (isa<IndexType>(integer.getType()))
    integer =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), integer);
  return arith::SIToFPOp::create(builder, loc, type, integer);
}

//===----------------------------------------------------------------------===//
// Linalg on buffers
//===----------------------------------------------------------------------===//

ArrayRef<int64_t> shapeOf(Value buffer) {
  return cast<ShapedType>(buffer.getType()).getShape();
}

/// The element type of the buffer in memory.
static Type storedElementOf(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getElementType();
}

Type elementOf(Value buffer) { return getComputeType(storedElementOf(buffer)); }

Value widenScalar(OpBuilder &builder, Location loc, Value scalar) {
  Type type = getComputeType(scalar.getType());
  return type == scalar.getType()
             ? scalar
             : arith::ExtFOp::create(builder, loc, type, scalar);
}

Value narrowScalar(OpBuilder &builder, Location loc, Value scalar, Type type) {
  return (isNarrow(type) || isFloat8(type)) && scalar.getType() != type
             ? arith::TruncFOp::create(builder, loc, type, scalar)
             : scalar;
}

AffineMap identityMap(OpBuilder &builder, unsigned rank,
                      ArrayRef<int64_t> drop) {
  SmallVector<AffineExpr> results;
  for (unsigned dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(drop, static_cast<int64_t>(dim)))
      results.push_back(builder.getAffineDimExpr(dim));
  return AffineMap::get(rank, 0, results, builder.getContext());
}

void buildGeneric(OpBuilder &builder, Location loc, unsigned numLoops,
                  ArrayRef<AffineMap> maps, ValueRange inputs,
                  ValueRange outputs, ScalarBody body) {
  SmallVector<utils::IteratorType> iterators(numLoops,
                                             utils::IteratorType::parallel);
  for (AffineMap map : maps.drop_front(inputs.size()))
    for (unsigned loop = 0; loop < numLoops; ++loop)
      if (!map.isFunctionOfDim(loop))
        iterators[loop] = utils::IteratorType::reduction;
  linalg::GenericOp::create(
      builder, loc, inputs, outputs, maps, iterators,
      [&](OpBuilder &nested, Location bodyLoc, ValueRange elements) {
        SmallVector<Value> read;
        for (Value element : elements)
          read.push_back(widenScalar(nested, bodyLoc, element));
        SmallVector<Value> made = body(nested, bodyLoc, read);
        for (auto [value, output] : llvm::zip_equal(made, outputs))
          value = narrowScalar(nested, bodyLoc, value, storedElementOf(output));
        linalg::YieldOp::create(nested, bodyLoc, made);
      });
}

void buildFill(OpBuilder &builder, Location loc, Value output, double value) {
  Value scalar =
      ScalarBuilder(builder, loc).constant(storedElementOf(output), value);
  linalg::FillOp::create(builder, loc, scalar, output);
}

void buildCopy(OpBuilder &builder, Location loc, Value input, Value output) {
  unsigned rank = shapeOf(output).size();
  AffineMap map = identityMap(builder, rank);
  buildGeneric(builder, loc, rank, {map, map}, input, output,
               [](OpBuilder &, Location, ValueRange elements) {
                 return SmallVector<Value>{elements[0]};
               });
}

Value buildTemporary(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape,
                     Type element) {
  return memref::AllocaOp::create(builder, loc, MemRefType::get(shape, element),
                                  builder.getI64IntegerAttr(64));
}

AffineMap broadcastMap(OpBuilder &builder, unsigned rank,
                       ArrayRef<int64_t> inputShape,
                       ArrayRef<int64_t> outputShape, ArrayRef<int64_t> dims) {
  SmallVector<AffineExpr> results;
  for (auto [dim, target] : llvm::enumerate(dims)) {
    bool repeated = inputShape[dim] == 1 && outputShape[target] != 1;
    results.push_back(repeated ? builder.getAffineConstantExpr(0)
                               : builder.getAffineDimExpr(target));
  }
  return AffineMap::get(rank, 0, results, builder.getContext());
}

AffineMap transposeMap(OpBuilder &builder, ArrayRef<int64_t> permutation) {
  SmallVector<AffineExpr> results(permutation.size());
  for (auto [dim, source] : llvm::enumerate(permutation))
    results[source] = builder.getAffineDimExpr(dim);
  return AffineMap::get(permutation.size(), 0, results, builder.getContext());
}

Value buildWindow(OpBuilder &builder, Location loc, Value buffer,
                  ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes,
                  ArrayRef<int64_t> strides) {
  return memref::SubViewOp::create(builder, loc, buffer, offsets, sizes,
                                   strides);
}

void buildElementwiseLinalg(Operation *op, OpBuilder &builder, Location loc,
                            ValueRange inputs, ValueRange outputs) {
  unsigned rank = shapeOf(outputs[0]).size();
  SmallVector<AffineMap> maps(inputs.size() + 1, identityMap(builder, rank));
  buildGeneric(builder, loc, rank, maps, inputs, outputs,
               [&](OpBuilder &nested, Location bodyLoc, ValueRange elements) {
                 auto scalar = cast<ElementwiseOpInterface>(op).buildScalar(
                     nested, bodyLoc, elements.take_front(inputs.size()));
                 return SmallVector<Value>{scalar};
               });
}

void buildLinalgForm(Operation *op, OpBuilder &builder, Location loc,
                     ValueRange inputs, ValueRange outputs) {
  auto form = cast<LinalgFormOpInterface>(op);
  SmallVector<Value> made(outputs);
  for (auto [index, output] : llvm::enumerate(made))
    if (isNarrow(storedElementOf(output)) && form.accumulates(index))
      output = buildTemporary(builder, loc, shapeOf(output), elementOf(output));
  form.buildLinalg(builder, loc, inputs, made);
  for (auto [output, sum] : llvm::zip_equal(outputs, made))
    if (output != sum)
      buildCopy(builder, loc, sum, output);
}

void giveToWinner(OpBuilder &builder, Operation *op, Predicate wins, Value grad,
                  ArrayRef<bool> wanted, MutableArrayRef<Value> operandGrads) {
  Location loc = op->getLoc();
  Value zero = splat(builder, loc, grad.getType(), 0);
  Value half = MulOp::create(builder, loc, grad,
                             splat(builder, loc, grad.getType(), 0.5));
  Value equal = compare(builder, loc, Predicate::Eq, op->getOperand(0),
                        op->getOperand(1));
  for (unsigned side : {0u, 1u}) {
    if (!wanted[side])
      continue;
    Value isWinner = compare(builder, loc, wins, op->getOperand(side),
                             op->getOperand(1 - side));
    Value shared = SelectOp::create(builder, loc, equal, half, zero);
    operandGrads[side] = SelectOp::create(builder, loc, isWinner, grad, shared);
  }
}

ShardingRule keptDimsRule(Operation *op) {
  ShardingRule rule = ShardingRule::whole(op);
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  for (int64_t dim = 0; dim < to.getRank(); ++dim)
    if (from.getDimSize(dim) == to.getDimSize(dim))
      rule.operandDims[0][dim] = rule.resultDims[0][dim] =
          rule.addFactor(to.getDimSize(dim));
  rule.linearity[0] = Linearity::Joint;
  return rule;
}

} // namespace zc::train
