//===- Indexing.cpp - Gather*, ReverseSequence, OneHot, Trilu -------------===//
#include "passes/Import/Lowering/Indexing.h"
#include "passes/Import/Lowering/LoweringRegistry.h"

using namespace mlir;
using namespace zc;

LogicalResult zc::requireIndices(NodeContext &context, unsigned index) {
  auto type = dyn_cast<IntegerType>(elementTypeOf(context.operand(index)));
  if (type && type.isSignless() && type.getWidth() > 1)
    return success();
  return context.emitError()
         << "expected input " << index << " to hold signed integers, found "
         << context.operand(index).getType();
}

// Negative indices count from the end.
static Value wrapIndices(TensorBuilder &build, Value indices, int64_t size) {
  return build.select(build.compare(Predicate::Lt, indices, 0.0),
                      build.add(indices, size), indices);
}

SmallVector<int64_t> zc::rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = shape.size() - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

// --- Gather ----------------------------------------------------------------

// Indices that count up evenly (a table of positions) make a slice.
static FailureOr<Value> takeConstant(NodeContext &context, int64_t dim,
                                     DenseElementsAttr indices) {
  Value table = context.operand(0);
  int64_t size = shapeOf(table)[dim];
  SmallVector<int64_t> wrapped;
  for (APInt element : indices.getValues<APInt>()) {
    int64_t index = element.getSExtValue();
    if (index < -size || index >= size) {
      context.emitError() << "index " << index << " is outside dim " << dim
                          << " of " << table.getType();
      return failure();
    }
    wrapped.push_back(index < 0 ? index + size : index);
  }
  return context.build.reshape(context.build.take(table, wrapped, dim),
                               context.resultShape());
}

static LogicalResult lowerGather(NodeContext &context) {
  if (failed(requireIndices(context, 1)))
    return failure();
  Value table = context.operand(0);
  FailureOr<int64_t> dim =
      context.getAxis(context.node.getInt("axis", 0), rankOf(table));
  if (failed(dim))
    return failure();
  // The row without a gradient of its own is no slice like the others.
  double padding = context.node.getFloat(onnx::kPaddingIndex, -1);
  onnx::InitializerOp source = context.initializer(1);
  if (source && padding < 0)
    if (auto value = dyn_cast_or_null<DenseElementsAttr>(
            source.getValue().value_or(nullptr))) {
      FailureOr<Value> taken = takeConstant(context, *dim, value);
      return failed(taken) ? failure() : context.set(*taken);
    }
  Value indices = context.operand(1);
  int64_t size = shapeOf(table)[*dim];
  context.ranges.restrict(indices, -size, size);
  Value slices = context.build.gather(table, indices, *dim);
  if (auto op = slices.getDefiningOp<train::GatherOp>(); op && padding >= 0)
    op.setPaddingIndex(static_cast<int64_t>(padding));
  return context.set(slices);
}

// --- GatherElements: by position in the flat table -------------------------

Value zc::addPositions(TensorBuilder &build, Value sum, ArrayRef<int64_t> shape,
                       int64_t dim, int64_t stride) {
  if (shape[dim] == 1)
    return sum;
  SmallVector<int64_t> steps;
  for (int64_t at = 0; at < shape[dim]; ++at)
    steps.push_back(at * stride);
  return build.add(sum, build.broadcast(build.integers(steps), shape, dim));
}

// No element leaves its row: dims before the axis that both have stay dims.
static int64_t countRowDims(Value table, Value indices, int64_t axis) {
  int64_t dims = 0;
  while (dims < axis && shapeOf(table)[dims] == shapeOf(indices)[dims])
    ++dims;
  return dims;
}

FailureOr<ElementPositions> zc::elementPositions(NodeContext &context) {
  TensorBuilder &build = context.build;
  Value table = context.operand(0), indices = context.operand(1);
  FailureOr<int64_t> axis =
      context.getAxis(context.node.getInt("axis", 0), rankOf(table));
  if (failed(requireIndices(context, 1)) || failed(axis))
    return failure();
  int64_t rowDims = countRowDims(table, indices, *axis);
  ArrayRef<int64_t> shape = shapeOf(table);
  SmallVector<int64_t> strides = rowMajorStrides(shape);
  context.ranges.restrict(indices, -shape[*axis], shape[*axis]);
  Value at = build.convert(indices, build.builder.getI64Type());
  at = build.mul(wrapIndices(build, at, shape[*axis]), strides[*axis]);
  for (int64_t dim = rowDims; dim < rankOf(table); ++dim)
    if (dim != *axis)
      at = addPositions(build, at, shapeOf(indices), dim, strides[dim]);
  return ElementPositions{at, rowDims};
}

Value zc::flatten(TensorBuilder &build, Value value, int64_t kept) {
  SmallVector<int64_t> shape(shapeOf(value).take_front(kept));
  shape.push_back(ShapedType::getNumElements(shapeOf(value).drop_front(kept)));
  return build.reshape(value, shape);
}

static LogicalResult lowerGatherElements(NodeContext &context) {
  FailureOr<ElementPositions> positions = elementPositions(context);
  if (failed(positions))
    return failure();
  int64_t rowDims = positions->rowDims;
  Value table = flatten(context.build, context.operand(0), rowDims);
  return context.set(
      context.build.gather(table, positions->at, rowDims, rowDims));
}

// --- Index vectors ---------------------------------------------------------

LogicalResult zc::requireIndexVectors(NodeContext &context, int64_t batch) {
  if (failed(requireIndices(context, 1)))
    return failure();
  Value table = context.operand(0), indices = context.operand(1);
  int64_t depth = rankOf(indices) ? shapeOf(indices).back() : 0;
  if (batch >= 0 && batch < rankOf(indices) && batch + depth <= rankOf(table) &&
      shapeOf(table).take_front(batch) == shapeOf(indices).take_front(batch))
    return success();
  return context.emitError()
         << "cannot index " << table.getType() << " with " << indices.getType();
}

// Element `part` of vectors, from what they are put together of: a part that is
// not read need not exist.
static Value takePart(TensorBuilder &build, Value vectors, int64_t part) {
  int64_t last = rankOf(vectors) - 1;
  auto concat = vectors.getDefiningOp<train::ConcatOp>();
  if (!concat || static_cast<int64_t>(concat.getDim()) != last)
    return build.slice(vectors, last, part, 1);
  for (Value input : concat.getInputs()) {
    int64_t size = shapeOf(input)[last];
    if (part < size)
      return takePart(build, input, part);
    part -= size;
  }
  llvm_unreachable("a part of the operands");
}

Value zc::flatPosition(TensorBuilder &build, Value indices,
                       ArrayRef<int64_t> parts, ArrayRef<int64_t> sizes) {
  Type integer = build.builder.getI64Type();
  SmallVector<int64_t> places(shapeOf(indices).drop_back());
  SmallVector<int64_t> strides = rowMajorStrides(sizes);
  Value at = build.splat(RankedTensorType::get(places, integer), 0);
  for (auto [part, size, stride] : llvm::zip(parts, sizes, strides)) {
    Value index = build.reshape(takePart(build, indices, part), places);
    index = wrapIndices(build, build.convert(index, integer), size);
    at = build.add(at, build.mul(index, stride));
  }
  return at;
}

// --- ReverseSequence -------------------------------------------------------

// Reverses the first elements of each sequence, as many as its length says.
static LogicalResult lowerReverseSequence(NodeContext &context) {
  TensorBuilder &build = context.build;
  Value x = context.operand(0), lengths = context.operand(1);
  int64_t time = context.node.getInt("time_axis", 0);
  int64_t batch = context.node.getInt("batch_axis", 1);
  if (failed(requireIndices(context, 1)))
    return failure();
  if (rankOf(x) < 2 || time + batch != 1 || time * batch != 0 ||
      shapeOf(lengths) != shapeOf(x).slice(batch, 1))
    return context.emitError()
           << "expected axes 0 and 1, and a length for each of the sequences; "
              "found time_axis "
           << time << ", batch_axis " << batch << ", " << x.getType() << " and "
           << lengths.getType();
  ArrayRef<int64_t> places = shapeOf(x).take_front(2);
  Type integer = build.builder.getI64Type();
  context.ranges.restrict(lengths, 0, places[time] + 1);
  Value length =
      build.broadcast(build.convert(lengths, integer), places, batch);
  Value at = build.iota(places, time, integer);
  Value backwards = build.add(build.sub(length, at), -1.0);
  at = build.select(build.compare(Predicate::Lt, at, length), backwards, at);
  if (batch == 0)
    return context.set(build.gather(x, at, 1, /*batchDims=*/1));
  SmallVector<int64_t> strides = rowMajorStrides(places);
  at = build.mul(at, build.splatLike(at, strides[time]));
  at = addPositions(build, at, places, batch, strides[batch]);
  SmallVector<int64_t> rows{places[0] * places[1]};
  llvm::append_range(rows, shapeOf(x).drop_front(2));
  return context.set(build.gather(build.reshape(x, rows), at, 0));
}

// --- OneHot, Trilu ---------------------------------------------------------

static LogicalResult lowerOneHot(NodeContext &context) {
  TensorBuilder &build = context.build;
  Value indices = context.operand(0), values = context.operand(2);
  ArrayRef<int64_t> shape = context.resultShape();
  if (shapeOf(values) != ArrayRef<int64_t>{2})
    return context.emitError() << "expected input 2 ('values') to hold two "
                                  "elements, found "
                               << values.getType();
  FailureOr<int64_t> axis =
      context.getAxis(context.node.getInt("axis", -1), shape.size());
  if (failed(axis))
    return failure();
  Type integer = build.builder.getI64Type();
  SmallVector<int64_t> dims;
  for (int64_t dim = 0, rank = shape.size(); dim < rank; ++dim)
    if (dim != *axis)
      dims.push_back(dim);
  Value hot = wrapIndices(build, build.convert(indices, integer), shape[*axis]);
  Value isHot = build.compare(Predicate::Eq, build.broadcast(hot, shape, dims),
                              build.iota(shape, *axis, integer));
  auto value = [&](int64_t at) {
    return build.broadcast(build.slice(values, 0, at, 1), shape);
  };
  return context.set(build.select(isHot, value(1), value(0)));
}

static LogicalResult lowerTrilu(NodeContext &context) {
  TensorBuilder &build = context.build;
  Value x = context.operand(0);
  double offset = 0;
  if (context.has(1)) {
    FailureOr<double> k = context.number(1, "k");
    if (failed(k))
      return failure();
    offset = *k;
  }
  if (rankOf(x) < 2)
    return context.emitError() << "expected an input of at least 2 dims";
  Type integer = build.builder.getI64Type();
  ArrayRef<int64_t> shape = shapeOf(x);
  Value row = build.iota(shape, rankOf(x) - 2, integer);
  Value column = build.iota(shape, rankOf(x) - 1, integer);
  bool upper = context.node.getInt("upper", 1) != 0;
  Value kept = build.compare(upper ? Predicate::Ge : Predicate::Le, column,
                             build.add(row, offset));
  return context.set(build.select(kept, x, build.splatLike(x, 0)));
}

void zc::registerIndexing(LoweringRegistry &registry) {
  registry.add("Gather", 1, 13, lowerGather);
  registry.add("GatherElements", 11, 13, lowerGatherElements);
  registry.add("GatherND", 11, 13, lowerGatherNd);
  registry.add("ReverseSequence", 10, 28, lowerReverseSequence);
  registry.add("OneHot", 9, 28, lowerOneHot);
  registry.add("Trilu", 14, 14, lowerTrilu);
}
