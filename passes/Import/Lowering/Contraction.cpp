//===- Contraction.cpp - MatMul, Gemm, Conv, ConvTranspose ----------------===//
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/Windows.h"

using namespace mlir;
using namespace zc;

// --- MatMul ----------------------------------------------------------------

// One matrix on the right: all rows of the left operand make one matrix too.
static Value multiplyRows(TensorBuilder &build, Value lhs, Value matrix) {
  ArrayRef<int64_t> shape = shapeOf(lhs);
  int64_t rows = ShapedType::getNumElements(shape.drop_back());
  SmallVector<int64_t> result(shape.drop_back());
  result.push_back(shapeOf(matrix)[1]);
  Value product =
      build.matmul(build.reshape(lhs, {rows, shape.back()}), matrix);
  return build.reshape(product, result);
}

static bool isOneMatrix(Value value) {
  return llvm::all_of(shapeOf(value).drop_back(2),
                      [](int64_t size) { return size == 1; });
}

// Integers have no product of their own: sums of products, which need no memory
// in between.
static Value multiplyIntegers(TensorBuilder &build, Value lhs, Value rhs) {
  int64_t last = rankOf(lhs);
  SmallVector<int64_t> shape(shapeOf(lhs)), left, right;
  shape.push_back(shapeOf(rhs).back());
  for (int64_t dim = 0; dim < last; ++dim) {
    left.push_back(dim);
    right.push_back(dim < last - 2 ? dim : dim + 1);
  }
  Value product = build.mul(build.broadcast(lhs, shape, left),
                            build.broadcast(rhs, shape, right));
  return build.reduce(ReduceKind::Sum, product, last - 1);
}

// Both operands have at least two dims.
static FailureOr<Value> multiply(NodeContext &context, Value lhs, Value rhs) {
  TensorBuilder &build = context.build;
  ArrayRef<int64_t> left = shapeOf(lhs), right = shapeOf(rhs);
  if (left.back() != right[right.size() - 2]) {
    context.emitError() << "cannot multiply " << lhs.getType() << " and "
                        << rhs.getType();
    return failure();
  }
  if (isFloat(lhs) && isOneMatrix(rhs) && left.size() >= right.size())
    return multiplyRows(build, lhs, build.reshape(rhs, right.take_back(2)));
  auto batch = broadcastShapes(left.drop_back(2), right.drop_back(2));
  if (!batch) {
    context.emitError() << "cannot broadcast the batch dims of "
                        << lhs.getType() << " and " << rhs.getType();
    return failure();
  }
  auto withBatch = [&](ArrayRef<int64_t> matrix) {
    SmallVector<int64_t> shape(*batch);
    llvm::append_range(shape, matrix);
    return shape;
  };
  lhs = build.broadcast(lhs, withBatch(left.take_back(2)));
  rhs = build.broadcast(rhs, withBatch(right.take_back(2)));
  return isFloat(lhs) ? build.matmul(lhs, rhs)
                      : multiplyIntegers(build, lhs, rhs);
}

static LogicalResult lowerMatMul(NodeContext &context) {
  TensorBuilder &build = context.build;
  Value lhs = context.operand(0), rhs = context.operand(1);
  if (elementTypeOf(lhs) != elementTypeOf(rhs))
    return context.emitError()
           << "cannot multiply " << lhs.getType() << " and " << rhs.getType();
  if (rankOf(lhs) == 0 || rankOf(rhs) == 0)
    return context.emitError() << "expected operands of at least one dim";
  // As numpy: a vector is a row on the left and a column on the right.
  if (rankOf(lhs) == 1)
    lhs = build.reshape(lhs, {1, shapeOf(lhs)[0]});
  if (rankOf(rhs) == 1)
    rhs = build.reshape(rhs, {shapeOf(rhs)[0], 1});
  FailureOr<Value> product = multiply(context, lhs, rhs);
  if (failed(product))
    return failure();
  return context.set(build.reshape(*product, context.resultShape()));
}

// --- Gemm ------------------------------------------------------------------

static LogicalResult lowerGemm(NodeContext &context) {
  if (failed(context.requireFloat(0)) || failed(context.requireFloat(1)))
    return failure();
  TensorBuilder &build = context.build;
  Value lhs = context.operand(0), rhs = context.operand(1);
  if (rankOf(lhs) != 2 || rankOf(rhs) != 2)
    return context.emitError() << "expected two matrices, found "
                               << lhs.getType() << " and " << rhs.getType();
  bool transposeLhs = context.node.getInt("transA", 0) != 0;
  bool transposeRhs = context.node.getInt("transB", 0) != 0;
  if (shapeOf(lhs)[transposeLhs ? 0 : 1] != shapeOf(rhs)[transposeRhs ? 1 : 0])
    return context.emitError()
           << "cannot multiply " << lhs.getType() << " and " << rhs.getType();
  Value result = build.matmul(lhs, rhs, transposeLhs, transposeRhs);
  if (double alpha = context.getFloat("alpha", 1.0); alpha != 1)
    result = build.mul(result, alpha);
  double beta = context.getFloat("beta", 1.0);
  Value addend = context.operand(2);
  if (!addend || beta == 0)
    return context.set(result);
  if (beta != 1)
    addend = build.mul(addend, beta);
  if (broadcastShapes(shapeOf(addend), shapeOf(result)) !=
      SmallVector<int64_t>(shapeOf(result)))
    return context.emitError() << "cannot broadcast " << addend.getType()
                               << " to " << result.getType();
  return context.set(
      build.add(result, build.broadcast(addend, shapeOf(result))));
}

// --- Conv ------------------------------------------------------------------

static Value addPerChannel(TensorBuilder &build, Value value, Value bias) {
  if (!bias)
    return value;
  return build.add(value, build.broadcast(bias, shapeOf(value), {1}));
}

static Value convolve(NodeContext &context, Value input, Value filter,
                      const Windows &windows, int64_t groups) {
  TensorBuilder &build = context.build;
  return train::ConvOp::create(build.builder, build.loc, context.resultType(),
                               input, filter, windows.strides,
                               windows.dilations, windows.low, windows.high,
                               groups, /*channels_last=*/false);
}

// The result is what the windows and the filter say, not what the model says.
static LogicalResult checkConv(NodeContext &context, const Windows &windows,
                               int64_t groups) {
  ArrayRef<int64_t> input = shapeOf(context.operand(0));
  ArrayRef<int64_t> filter = shapeOf(context.operand(1));
  if (groups < 1 || filter[1] * groups != input[1] || filter[0] % groups != 0)
    return context.emitError()
           << "cannot convolve " << input[1] << " channels with a "
           << context.operand(1).getType() << " in " << groups << " groups";
  SmallVector<int64_t> shape{input[0], filter[0]};
  for (unsigned dim = 0; dim < windows.rank(); ++dim)
    shape.push_back(windows.count(dim, input[dim + 2]));
  if (ArrayRef(shape) == context.resultShape())
    return success();
  return context.emitError()
         << "its windows do not give the model's " << context.resultType();
}

static LogicalResult requireFilter(NodeContext &context) {
  if (failed(context.requireFloat(0)) || failed(context.requireFloat(1)))
    return failure();
  Value input = context.operand(0), filter = context.operand(1);
  if (rankOf(filter) == rankOf(input))
    return success();
  return context.emitError() << "expected a filter of " << rankOf(input)
                             << " dims, found " << filter.getType();
}

static LogicalResult lowerConv(NodeContext &context) {
  if (failed(requireFilter(context)))
    return failure();
  Value input = context.operand(0), filter = context.operand(1);
  FailureOr<Windows> windows =
      readWindows(context, shapeOf(input), shapeOf(filter).drop_front(2));
  int64_t groups = context.node.getInt("group", 1);
  if (failed(windows) || failed(checkConv(context, *windows, groups)))
    return failure();
  Value result = convolve(context, input, filter, *windows, groups);
  return context.set(addPerChannel(context.build, result, context.operand(2)));
}

// --- ConvTranspose ---------------------------------------------------------

// [G C, K, spatial...] -> [G K, C, spatial...], each kernel read backwards.
static Value reverseFilter(TensorBuilder &build, Value filter, int64_t groups) {
  SmallVector<int64_t> shape(shapeOf(filter));
  SmallVector<int64_t> split{groups, shape[0] / groups, shape[1]};
  split.append(shape.begin() + 2, shape.end());
  SmallVector<int64_t> permutation{0, 2, 1};
  for (int64_t dim = 3; dim < static_cast<int64_t>(split.size()); ++dim)
    permutation.push_back(dim);
  Value swapped = build.transpose(build.reshape(filter, split), permutation);
  SmallVector<int64_t> joined{groups * shape[1], shape[0] / groups};
  joined.append(shape.begin() + 2, shape.end());
  Value result = build.reshape(swapped, joined);
  for (int64_t dim = 2; dim < rankOf(result); ++dim) {
    auto backwards = llvm::to_vector(
        llvm::reverse(llvm::seq<int64_t>(0, shapeOf(result)[dim])));
    result = build.take(result, backwards, dim);
  }
  return result;
}

// stride - 1 zeros between the elements.
static Value spreadOut(TensorBuilder &build, Value input,
                       ArrayRef<int64_t> strides) {
  SmallVector<int64_t> shape(shapeOf(input)), interior(shape.size(), 0);
  for (auto [dim, stride] : llvm::enumerate(strides)) {
    interior[dim + 2] = stride - 1;
    shape[dim + 2] = (shape[dim + 2] - 1) * stride + 1;
  }
  auto type = RankedTensorType::get(shape, elementTypeOf(input));
  if (type == input.getType())
    return input;
  return train::PadOp::create(build.builder, build.loc, type, input,
                              SmallVector<int64_t>(shape.size(), 0), interior);
}

// Where the result's first element lies in the full one, per spatial dim.
static SmallVector<int64_t> transposedPads(NodeContext &context,
                                           const Windows &windows,
                                           ArrayRef<int64_t> input) {
  StringRef automatic = context.node.getString("auto_pad", "NOTSET");
  bool givenShape = context.node.hasAttribute("output_shape");
  if (automatic == "VALID" || (automatic == "NOTSET" && !givenShape))
    return windows.low;
  SmallVector<int64_t> low;
  auto extra = context.node.getInts("output_padding");
  for (unsigned dim = 0; dim < windows.rank(); ++dim) {
    int64_t full = (input[dim + 2] - 1) * windows.strides[dim] +
                   windows.span(dim) + (extra ? (*extra)[dim] : 0);
    int64_t total = std::max<int64_t>(full - context.resultShape()[dim + 2], 0);
    low.push_back(automatic == "SAME_UPPER" ? total / 2 : total - total / 2);
  }
  return low;
}

// The gradient of a convolution in its input, written as one that has a
// gradient itself: zeros between the elements, then a convolution with the
// filter read backwards.
static LogicalResult lowerConvTranspose(NodeContext &context) {
  if (failed(requireFilter(context)))
    return failure();
  TensorBuilder &build = context.build;
  Value input = context.operand(0), filter = context.operand(1);
  FailureOr<Windows> windows =
      readWindows(context, shapeOf(input), shapeOf(filter).drop_front(2));
  int64_t groups = context.node.getInt("group", 1);
  if (failed(windows))
    return failure();
  auto extra = context.node.getInts("output_padding");
  if (extra && extra->size() != windows->rank())
    return context.emitError()
           << "expected output_padding to have " << windows->rank()
           << " entries, found " << extra->size();
  if (groups < 1 || shapeOf(filter)[0] != shapeOf(input)[1] ||
      shapeOf(filter)[0] % groups != 0)
    return context.emitError() << "cannot convolve " << input.getType()
                               << " with " << filter.getType();
  SmallVector<int64_t> pads = transposedPads(context, *windows, shapeOf(input));
  Value spread = spreadOut(build, input, windows->strides);
  SmallVector<int64_t> low(2, 0), high(2, 0);
  for (unsigned dim = 0; dim < windows->rank(); ++dim) {
    low.push_back(windows->span(dim) - 1 - pads[dim]);
    high.push_back(context.resultShape()[dim + 2] + windows->span(dim) - 1 -
                   shapeOf(spread)[dim + 2] - low.back());
  }
  Windows unit = *windows;
  unit.strides.assign(unit.rank(), 1);
  unit.low.assign(unit.rank(), 0);
  unit.high.assign(unit.rank(), 0);
  Value result = convolve(context, build.pad(spread, low, high),
                          reverseFilter(build, filter, groups), unit, groups);
  return context.set(addPerChannel(build, result, context.operand(2)));
}

void zc::registerContraction(LoweringRegistry &registry) {
  registry.add("MatMul", 1, 13, lowerMatMul);
  registry.add("Gemm", 7, 13, lowerGemm);
  registry.add("Conv", 1, 22, lowerConv);
  registry.add("ConvTranspose", 1, 22, lowerConvTranspose);
}
