//===- Unpooling.cpp - MaxUnpool, Col2Im ----------------------------------===//
//
// Elements go back to where windows took them from.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Import/Lowering/Indexing.h"
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/Windows.h"

using namespace mlir;
using namespace zc;

// --- MaxUnpool -------------------------------------------------------------

// Indices count the elements of the smallest tensor that the windows cover;
// output_shape may ask for a larger one, whose further elements are zeros.
static LogicalResult lowerMaxUnpool(NodeContext &context) {
  Value x = context.operand(0), indices = context.operand(1);
  FailureOr<Windows> windows = readWindows(context, shapeOf(x));
  if (failed(context.requireFloat(0)) || failed(requireIndices(context, 1)) ||
      failed(windows))
    return failure();
  ArrayRef<int64_t> result = context.resultShape();
  if (shapeOf(indices) != shapeOf(x) || result.size() != shapeOf(x).size())
    return context.emitError() << "cannot put the elements of " << x.getType()
                               << " at the places of " << indices.getType()
                               << " into " << context.resultType();
  SmallVector<int64_t> covered(shapeOf(x)), none(covered.size(), 0), missing;
  for (unsigned dim = 0; dim < windows->rank(); ++dim)
    covered[dim + 2] = (covered[dim + 2] - 1) * windows->strides[dim] +
                       windows->kernel[dim] - windows->low[dim] -
                       windows->high[dim];
  for (auto [wanted, size] : llvm::zip_equal(result, covered))
    missing.push_back(wanted - size);
  TensorBuilder &build = context.build;
  int64_t count = ShapedType::getNumElements(covered);
  context.ranges.restrict(indices, 0, count);
  Value empty =
      build.splat(RankedTensorType::get({count}, elementTypeOf(x)), 0);
  Value flat = putRows(build, empty, indices, x);
  return context.set(build.pad(build.reshape(flat, covered), none, missing));
}

// --- Col2Im ----------------------------------------------------------------

// Along one spatial dim, [..., block, ..., places, ...] at `blockDim` and
// `placeDim` becomes [..., image, ...] at `placeDim` - 1: element k of place p
// is added at p * stride + k * dilation - low.
static Value foldDim(TensorBuilder &build, Value x, int64_t blockDim,
                     int64_t placeDim, const Windows &windows, unsigned spatial,
                     int64_t image) {
  int64_t stride = windows.strides[spatial];
  int64_t places = shapeOf(x)[placeDim];
  SmallVector<int64_t> shape(shapeOf(x));
  shape.erase(shape.begin() + blockDim);
  --placeDim;
  int64_t spread = (places - 1) * stride + 1;
  Value sum;
  for (int64_t element = 0; element < windows.kernel[spatial]; ++element) {
    Value term = build.reshape(build.slice(x, blockDim, element, 1), shape);
    SmallVector<int64_t> none(shape.size(), 0), interior(none), low(none),
        high(none), spaced(shape);
    interior[placeDim] = stride - 1;
    spaced[placeDim] = spread;
    if (stride > 1)
      term = train::PadOp::create(build.builder, build.loc,
                                  train::withShape(term.getType(), spaced),
                                  term, none, interior);
    low[placeDim] = element * windows.dilations[spatial] - windows.low[spatial];
    high[placeDim] = image - spread - low[placeDim];
    term = build.pad(term, low, high);
    sum = sum ? build.add(sum, term) : term;
  }
  return sum;
}

// Blocks beside one another: their elements only change places.
static bool tilesImage(const Windows &windows, unsigned dim, int64_t places,
                       int64_t image) {
  return windows.strides[dim] == windows.kernel[dim] &&
         windows.dilations[dim] == 1 && windows.low[dim] == 0 &&
         places * windows.kernel[dim] == image;
}

static Value joinTiles(TensorBuilder &build, Value x, int64_t blockDim,
                       int64_t placeDim) {
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
  order.erase(order.begin() + blockDim);
  order.insert(order.begin() + placeDim, blockDim);
  SmallVector<int64_t> shape(shapeOf(x));
  shape[placeDim] *= shape[blockDim];
  shape.erase(shape.begin() + blockDim);
  return build.reshape(build.transpose(x, order), shape);
}

static LogicalResult lowerCol2Im(NodeContext &context) {
  FailureOr<SmallVector<int64_t>> image = context.integers(1, "image_shape");
  FailureOr<SmallVector<int64_t>> block = context.integers(2, "block_shape");
  if (failed(image) || failed(block))
    return failure();
  Value x = context.operand(0);
  int64_t rank = image->size(), size = ShapedType::getNumElements(*block);
  if (rankOf(x) != 3 || block->size() != image->size() || size < 1 ||
      shapeOf(x)[1] % size != 0)
    return context.emitError() << "cannot put the blocks of " << x.getType()
                               << " into an image of " << rank << " dims";
  SmallVector<int64_t> imageDims(shapeOf(x).take_front(2));
  llvm::append_range(imageDims, *image);
  FailureOr<Windows> windows = readWindows(context, imageDims, *block);
  if (failed(windows))
    return failure();
  // [N, C, block..., places...]: each step takes the first of the block dims.
  SmallVector<int64_t> shape{shapeOf(x)[0], shapeOf(x)[1] / size};
  llvm::append_range(shape, *block);
  int64_t count = 1;
  for (unsigned dim = 0; dim < windows->rank(); ++dim) {
    shape.push_back(windows->count(dim, (*image)[dim]));
    count *= shape.back();
  }
  if (count != shapeOf(x)[2])
    return context.emitError()
           << "expected " << count << " blocks, found " << shapeOf(x)[2];
  TensorBuilder &build = context.build;
  Value result = build.reshape(x, shape);
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t pixels = (*image)[dim], placeDim = 2 + rank;
    bool tiles = tilesImage(*windows, dim, shapeOf(result)[placeDim], pixels);
    result = tiles ? joinTiles(build, result, 2, placeDim)
                   : foldDim(build, result, 2, placeDim, *windows, dim, pixels);
  }
  return context.set(result);
}

void zc::registerUnpooling(LoweringRegistry &registry) {
  registry.add("MaxUnpool", 9, 22, lowerMaxUnpool);
  registry.add("Col2Im", 18, 18, lowerCol2Im);
}
