//===- Shape.cpp - moving elements, and doing nothing ---------------------===//
//
// The importer has inferred every shape, so an operand that holds a shape is
// never read here: the result's type says it all.
//
//===----------------------------------------------------------------------===//
#include "dialects/Onnx/Float8.h"
#include "dialects/Train/GradientOps.h"
#include "passes/Import/Lowering/Float8.h"
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"
#include "passes/Import/Lowering/Random.h"

using namespace mlir;
using namespace zc;

// --- The same elements -----------------------------------------------------

// Reshape, Flatten, Squeeze, Unsqueeze.
static LogicalResult lowerReshape(NodeContext &context) {
  Value x = context.operand(0);
  int64_t found = cast<RankedTensorType>(x.getType()).getNumElements();
  if (found != context.resultType().getNumElements())
    return context.emitError() << "cannot reshape " << x.getType() << " to "
                               << context.resultType();
  return context.set(context.build.reshape(x, context.resultShape()));
}

static LogicalResult lowerIdentity(NodeContext &context) {
  return context.set(context.operand(0));
}

// The importer's own operator.
static LogicalResult lowerStopGradient(NodeContext &context) {
  TensorBuilder &build = context.build;
  Value x = context.operand(0);
  return context.set(
      train::StopGradientOp::create(build.builder, build.loc, x.getType(), x));
}

// The low `bits` bits of whole numbers, as an integer of so many.
static Value keepBits(TensorBuilder &build, Value value, int64_t bits,
                      bool isSigned) {
  value = build.convert(value, build.builder.getI32Type());
  double size = static_cast<double>(1 << bits);
  Value base = build.splatLike(value, size), zero = build.splatLike(value, 0);
  Value rest = build.sub(value, build.mul(build.div(value, base), base));
  rest = build.select(build.compare(Predicate::Lt, rest, zero),
                      build.add(rest, base), rest);
  if (!isSigned)
    return rest;
  return build.select(build.compare(Predicate::Ge, rest, size / 2),
                      build.sub(rest, base), rest);
}

static LogicalResult lowerCast(NodeContext &context) {
  Value value = context.operand(0);
  Type element = context.resultType().getElementType();
  TensorBuilder &build = context.build;
  if (auto from =
          Float8::get(context.node.getString((onnx::kFloat8 + ".0").str(), "")))
    value = from->decode(build, value);
  if (auto to = Float8::get(context.node.getString(onnx::kFloat8, ""))) {
    if (!to->holdsZero())
      return context.emitError() << "rounds to powers of two, which zc only "
                                    "reads";
    Value x = build.convert(value, build.builder.getF32Type());
    bool saturates = context.node.getInt("saturate", 1);
    return context.set(to->encode(build, to->round(build, x, saturates), x));
  }
  if (int64_t bits = context.node.getInt(onnx::kPackedBits, 0))
    value = keepBits(context.build, value, bits, !element.isUnsignedInteger());
  if (Value bits = drawnBits(value); bits && isa<FloatType>(element))
    value = bits;
  return context.set(context.build.convert(value, element));
}

// The share of elements that are dropped in training. Before opset 12 a node
// drops nothing: exporters wrote it for inference; later without a
// training_mode neither, unless PyTorch's call says that it trained.
static FailureOr<double> getDropoutRatio(NodeContext &context) {
  if (!context.options.dropout || context.node.getSinceVersion() < 12)
    return 0.0;
  if (!context.has(2))
    return context.node.getFloat(onnx::kDropoutRatio, 0);
  FailureOr<double> training = context.number(2, "training_mode");
  if (failed(training) || *training == 0)
    return training;
  return context.has(1) ? context.number(1, "ratio") : 0.5;
}

static LogicalResult lowerDropout(NodeContext &context) {
  FailureOr<double> ratio = getDropoutRatio(context);
  if (failed(ratio))
    return failure();
  if (!(*ratio >= 0 && *ratio < 1))
    return context.emitError()
           << "expected a ratio of at least 0 and below 1, found " << *ratio;
  Value x = context.operand(0);
  TensorBuilder &build = context.build;
  if (!context.isUsed(1))
    return context.set(*ratio == 0
                           ? x
                           : train::DropoutOp::create(build.builder, build.loc,
                                                      x, APFloat(*ratio)));
  if (*ratio == 0)
    return failure(
        failed(context.set(x)) ||
        failed(context.set(1, build.splat(context.resultType(1), 1))));
  // Both results are of one draw: what became of ones.
  Value drawn = train::DropoutOp::create(
      build.builder, build.loc, build.splatLike(x, 1), APFloat(*ratio));
  return failure(
      failed(context.set(build.mul(x, drawn))) ||
      failed(context.set(1, build.compare(Predicate::Ne, drawn, 0))));
}

// --- The same elements in another order ------------------------------------

static LogicalResult lowerTranspose(NodeContext &context) {
  Value x = context.operand(0);
  auto given = context.node.getInts("perm");
  SmallVector<int64_t> permutation;
  if (given)
    permutation.assign(given->begin(), given->end());
  else
    permutation =
        llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rankOf(x))));
  FailureOr<SmallVector<int64_t>> dims =
      context.getAxes(permutation, rankOf(x));
  if (failed(dims))
    return failure();
  if (static_cast<int64_t>(dims->size()) != rankOf(x))
    return context.emitError() << "expected perm to have " << rankOf(x)
                               << " entries, found " << dims->size();
  return context.set(context.build.transpose(x, *dims));
}

static FailureOr<int64_t> blockSize(NodeContext &context) {
  Value x = context.operand(0);
  int64_t block = context.node.getInt("blocksize", 0);
  if (rankOf(x) == 4 && block > 0)
    return block;
  context.emitError() << "expected an input of 4 dims and a positive blocksize";
  return failure();
}

static LogicalResult lowerDepthToSpace(NodeContext &context) {
  FailureOr<int64_t> block = blockSize(context);
  if (failed(block))
    return failure();
  int64_t b = *block;
  Value x = context.operand(0);
  ArrayRef<int64_t> s = shapeOf(x);
  if (s[1] % (b * b) != 0)
    return context.emitError()
           << "cannot split " << s[1] << " channels into blocks of " << b * b;
  int64_t depth = s[1] / (b * b);
  bool columnRow = context.node.getString("mode", "DCR") == "CRD";
  TensorBuilder &build = context.build;
  Value split = columnRow ? build.reshape(x, {s[0], depth, b, b, s[2], s[3]})
                          : build.reshape(x, {s[0], b, b, depth, s[2], s[3]});
  Value moved = columnRow ? build.transpose(split, {0, 1, 4, 2, 5, 3})
                          : build.transpose(split, {0, 3, 4, 1, 5, 2});
  return context.set(build.reshape(moved, {s[0], depth, s[2] * b, s[3] * b}));
}

static LogicalResult lowerSpaceToDepth(NodeContext &context) {
  FailureOr<int64_t> block = blockSize(context);
  if (failed(block))
    return failure();
  int64_t b = *block;
  Value x = context.operand(0);
  ArrayRef<int64_t> s = shapeOf(x);
  if (s[2] % b != 0 || s[3] % b != 0)
    return context.emitError() << "cannot split " << x.getType()
                               << " into blocks of " << b << " x " << b;
  TensorBuilder &build = context.build;
  Value split = build.reshape(x, {s[0], s[1], s[2] / b, b, s[3] / b, b});
  bool columnRow = context.node.getString("mode", "DCR") == "CRD";
  Value moved = columnRow ? build.transpose(split, {0, 1, 3, 5, 2, 4})
                          : build.transpose(split, {0, 3, 5, 1, 2, 4});
  return context.set(
      build.reshape(moved, {s[0], s[1] * b * b, s[2] / b, s[3] / b}));
}

// --- Some of the elements --------------------------------------------------

namespace {
struct SliceRange {
  int64_t start, end, step;
};
} // namespace

// The elements that numpy's start:end:step takes of `size`.
static SmallVector<int64_t> takenElements(SliceRange range, int64_t size) {
  auto clamp = [&](int64_t at, int64_t low, int64_t high) {
    return std::clamp(at < 0 ? at + size : at, low, high);
  };
  SmallVector<int64_t> taken;
  if (range.step > 0) {
    int64_t end = clamp(range.end, 0, size);
    for (int64_t at = clamp(range.start, 0, size); at < end; at += range.step)
      taken.push_back(at);
    return taken;
  }
  int64_t end = clamp(range.end, -1, size - 1);
  for (int64_t at = clamp(range.start, 0, size - 1); at > end; at += range.step)
    taken.push_back(at);
  return taken;
}

static LogicalResult lowerSlice(NodeContext &context) {
  Value x = context.operand(0);
  auto starts = context.integersOrAttribute(1, "starts");
  auto ends = context.integersOrAttribute(2, "ends");
  auto axes = context.integersOrAttribute(3, "axes");
  auto steps = context.integersOrAttribute(4, "steps");
  if (failed(starts) || failed(ends) || failed(axes) || failed(steps))
    return failure();
  if (!*starts || !*ends || (*starts)->size() != (*ends)->size() ||
      (*axes && (*axes)->size() != (*starts)->size()) ||
      (*steps && (*steps)->size() != (*starts)->size()))
    return context.emitError()
           << "expected starts, ends, axes and steps of one length";
  FailureOr<SmallVector<int64_t>> dims = context.getAxes(
      *axes ? **axes
            : llvm::to_vector(llvm::seq<int64_t>(0, (*starts)->size())),
      rankOf(x));
  if (failed(dims))
    return failure();
  for (auto [index, dim] : llvm::enumerate(*dims)) {
    int64_t step = *steps ? (**steps)[index] : 1;
    if (step == 0)
      return context.emitError() << "expected steps other than 0";
    SliceRange range{(**starts)[index], (**ends)[index], step};
    int64_t size = shapeOf(x)[dim];
    SmallVector<int64_t> taken = takenElements(range, size);
    x = taken.empty() ? context.build.slice(x, dim, 0, 0)
                      : context.build.take(x, taken, dim);
  }
  return context.set(x);
}

static LogicalResult lowerSplit(NodeContext &context) {
  Value x = context.operand(0);
  FailureOr<int64_t> dim =
      context.getAxis(context.node.getInt("axis", 0), rankOf(x));
  if (failed(dim))
    return failure();
  int64_t offset = 0;
  for (unsigned part = 0; part < context.node.getNumResults(); ++part) {
    int64_t size = context.resultShape(part)[*dim];
    if (offset + size > shapeOf(x)[*dim])
      return context.emitError() << "its parts are larger than " << x.getType();
    if (failed(context.set(part, context.build.slice(x, *dim, offset, size))))
      return failure();
    offset += size;
  }
  return success();
}

// --- More elements ---------------------------------------------------------

static LogicalResult lowerExpand(NodeContext &context) {
  Value x = context.operand(0);
  SmallVector<int64_t> shape(context.resultShape());
  if (broadcastShapes(shapeOf(x), shape) != shape)
    return context.emitError() << "cannot broadcast " << x.getType() << " to "
                               << context.resultType();
  return context.set(context.build.broadcast(x, shape));
}

static LogicalResult lowerConcat(NodeContext &context) {
  SmallVector<Value> parts = context.operands();
  if (parts.empty())
    return context.emitError() << "expected at least one input, found none";
  FailureOr<int64_t> dim =
      context.getAxis(context.node.getInt("axis", 1), rankOf(parts.front()));
  if (failed(dim))
    return failure();
  for (Value part : parts) {
    SmallVector<int64_t> shape(shapeOf(part));
    SmallVector<int64_t> expected(shapeOf(parts.front()));
    if (shape.size() == expected.size())
      shape[*dim] = expected[*dim];
    if (shape != expected)
      return context.emitError()
             << "cannot concatenate " << parts.front().getType() << " and "
             << part.getType() << " along dim " << *dim;
  }
  // A part without elements, such as an empty cache, adds nothing.
  if (context.resultType().getNumElements() != 0)
    llvm::erase_if(parts, [](Value part) {
      return cast<ShapedType>(part.getType()).getNumElements() == 0;
    });
  return context.set(context.build.concat(parts, *dim));
}

// Each dim of size d, repeated r times, is r x d first, then r d.
static LogicalResult lowerTile(NodeContext &context) {
  Value x = context.operand(0);
  SmallVector<int64_t> shape, dims;
  for (auto [from, to] : llvm::zip(shapeOf(x), context.resultShape())) {
    shape.push_back(from == 0 ? 0 : to / from);
    dims.push_back(shape.size());
    shape.push_back(from);
  }
  Value repeated = context.build.broadcast(x, shape, dims);
  return context.set(context.build.reshape(repeated, context.resultShape()));
}

// --- Pad -------------------------------------------------------------------

namespace {
struct Pads {
  SmallVector<int64_t> low, high;
};
} // namespace

static FailureOr<Pads> readPads(NodeContext &context, int64_t rank) {
  auto given = context.integersOrAttribute(1, "pads");
  auto axes = context.integersOrAttribute(3, "axes");
  if (failed(given) || failed(axes))
    return failure();
  FailureOr<SmallVector<int64_t>> dims = context.getAxes(
      *axes ? **axes : llvm::to_vector(llvm::seq<int64_t>(0, rank)), rank);
  if (failed(dims))
    return failure();
  size_t count = dims->size();
  if (!*given || (*given)->size() != 2 * count) {
    context.emitError() << "expected pads to have " << 2 * count << " entries";
    return failure();
  }
  Pads pads{SmallVector<int64_t>(rank, 0), SmallVector<int64_t>(rank, 0)};
  for (auto [index, dim] : llvm::enumerate(*dims)) {
    pads.low[dim] = (**given)[index];
    pads.high[dim] = (**given)[index + count];
  }
  return pads;
}

// The element of `size` that stands at `at`, outside or inside, in a pad mode.
static int64_t sourceElement(StringRef mode, int64_t at, int64_t size) {
  if (mode == "edge")
    return std::clamp<int64_t>(at, 0, size - 1);
  if (mode == "wrap")
    return ((at % size) + size) % size;
  int64_t period = std::max<int64_t>(2 * (size - 1), 1);
  int64_t folded = ((at % period) + period) % period;
  return folded < size ? folded : period - folded;
}

static Value padByCopies(TensorBuilder &build, Value x, const Pads &pads,
                         StringRef mode) {
  for (int64_t dim = 0; dim < rankOf(x); ++dim) {
    int64_t size = shapeOf(x)[dim];
    SmallVector<int64_t> sources;
    for (int64_t at = -pads.low[dim]; at < size + pads.high[dim]; ++at)
      sources.push_back(sourceElement(mode, at, size));
    x = build.take(x, sources, dim);
  }
  return x;
}

// Zeros are train.pad's own; another value comes in where the mask says so.
static Value padByConstant(TensorBuilder &build, Value x, const Pads &pads,
                           Value constant) {
  Value padded = build.pad(x, pads.low, pads.high);
  if (!constant)
    return padded;
  auto maskType = RankedTensorType::get(shapeOf(x), build.builder.getI1Type());
  Value inside = build.pad(build.splat(maskType, 1), pads.low, pads.high);
  Value scalar = build.reshape(constant, {});
  return build.select(inside, padded, build.broadcast(scalar, shapeOf(padded)));
}

static bool isZero(NodeContext &context, unsigned index) {
  onnx::InitializerOp source = context.initializer(index);
  if (!source || !source.getValue())
    return false;
  auto value = dyn_cast<DenseElementsAttr>(*source.getValue());
  if (!value || !value.isSplat())
    return false;
  if (isa<FloatType>(value.getElementType()))
    return value.getSplatValue<APFloat>().isZero();
  return value.getSplatValue<APInt>().isZero();
}

static LogicalResult lowerPad(NodeContext &context) {
  Value x = context.operand(0);
  FailureOr<Pads> pads = readPads(context, rankOf(x));
  if (failed(pads))
    return failure();
  StringRef mode = context.node.getString("mode", "constant");
  if (mode != "constant")
    return context.set(padByCopies(context.build, x, *pads, mode));
  Value constant;
  if (context.has(2) && !isZero(context, 2))
    constant = context.operand(2);
  else if (double value = context.getFloat("value", 0); value != 0)
    constant =
        context.build.splat(RankedTensorType::get({}, elementTypeOf(x)), value);
  return context.set(padByConstant(context.build, x, *pads, constant));
}

void zc::registerShape(LoweringRegistry &registry) {
  registry.add("Reshape", 1, 25, lowerReshape);
  registry.add("Flatten", 1, 25, lowerReshape);
  registry.add("Squeeze", 1, 25, lowerReshape);
  registry.add("Unsqueeze", 1, 25, lowerReshape);
  registry.add("Identity", 1, 25, lowerIdentity);
  registry.add("StopGradient", 1, 1, lowerStopGradient);
  registry.add("Cast", 6, 28, lowerCast);
  registry.add("CastLike", 15, 25, lowerCast);
  registry.add("Dropout", 7, 22, lowerDropout);
  registry.add("Transpose", 1, 25, lowerTranspose);
  registry.add("DepthToSpace", 1, 28, lowerDepthToSpace);
  registry.add("SpaceToDepth", 1, 28, lowerSpaceToDepth);
  registry.add("Slice", 1, 13, lowerSlice);
  registry.add("Split", 2, 18, lowerSplit);
  registry.add("Expand", 8, 13, lowerExpand);
  registry.add("Concat", 1, 13, lowerConcat);
  registry.add("Tile", 6, 13, lowerTile);
  registry.add("Pad", 2, 25, lowerPad);
}
