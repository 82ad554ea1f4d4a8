//===- ConvKernel.cpp - convolutions, interpreted in one piece ------------===//
#include "compiler/Interpreter/ConvKernel.h"

#include "compiler/Interpreter/Field.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace zc::interpreter {

/// The numbers of the op's image, filter and output: the first or second
/// operand, or 2, the result.
static std::array<int, 3> buffersOf(train::ConvOp) { return {0, 1, 2}; }
static std::array<int, 3> buffersOf(train::ConvInputGradOp) {
  return {2, 1, 0};
}
static std::array<int, 3> buffersOf(train::ConvFilterGradOp) {
  return {0, 2, 1};
}

/// Whether samples and channels of the three are the same ones. Those of a part
/// that a wrong rule makes may not be.
static bool doMeet(const train::Window &window, ArrayRef<int64_t> image,
                   ArrayRef<int64_t> filter, ArrayRef<int64_t> output) {
  const int64_t channels = image[window.channelDim()], each = filter[1];
  return image[0] == output[0] && each > 0 && channels > 0 &&
         channels % each == 0 && filter[0] % (channels / each) == 0 &&
         output[window.channelDim()] == filter[0];
}

void ConvKernel::setShapes(const train::Window &given,
                           ArrayRef<int64_t> imageShape,
                           ArrayRef<int64_t> filterShape,
                           ArrayRef<int64_t> outputShape) {
  const int64_t channelDim = given.channelDim();
  samples = imageShape[0];
  groupChannels = filterShape[1];
  groups = imageShape[channelDim] / groupChannels;
  groupOutputs = filterShape[0] / groups;
  const auto byImage = computeStrides(imageShape),
             byFilter = computeStrides(filterShape),
             byOutput = computeStrides(outputShape);
  ofImage = {byImage[0], byImage[channelDim], {0, 0, 0}};
  ofPlaces = {byOutput[0], byOutput[channelDim], {0, 0, 0}};
  ofFilter = {byFilter[0], byFilter[1], {0, 0, 0}};
  const SmallVector<int64_t> spatial = given.spatialDims();
  for (auto [number, dim] : llvm::enumerate(spatial)) {
    // The last one is always there, and its rows are the longest pieces.
    const size_t i = kDims - spatial.size() + number;
    setDim(int(i), given, number, imageShape[dim], outputShape[dim],
           filterShape[2 + number]);
    ofImage.spatial[i] = byImage[dim];
    ofPlaces.spatial[i] = byOutput[dim];
    ofFilter.spatial[i] = byFilter[2 + number];
  }
  joinDims();
}

/// Windows of one element that touch all of a dim make one row of it and of the
/// one before.
void ConvKernel::joinDims() {
  auto isWhole = [&](int dim) {
    return window[dim] == 1 && strides[dim] == 1 && pads[dim] == 0 &&
           image[dim] == places[dim];
  };
  constexpr int last = kDims - 1;
  for (int dim = last; dim-- > 0;) {
    const bool isRow =
        isWhole(last) && isWhole(dim) &&
        ofImage.spatial[dim] == image[last] * ofImage.spatial[last] &&
        ofPlaces.spatial[dim] == places[last] * ofPlaces.spatial[last];
    if (!isRow)
      return;
    image[last] *= image[dim];
    places[last] *= places[dim];
    image[dim] = places[dim] = 1;
  }
}

std::optional<ConvKernel> ConvKernel::create(Operation *op, Shapes operands,
                                             Shapes results,
                                             Precision precision) {
  auto type = op->getNumResults() == 1
                  ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                  : RankedTensorType();
  // A product of 16 bits is rounded in its own way.
  if (!type || precision == Precision::Single ||
      type.getElementType().getIntOrFloatBitWidth() < 32)
    return std::nullopt;
  ConvKernel kernel;
  kernel.isExact = precision == Precision::Exact;
  auto set = [&](auto conv, std::array<int, 3> bufferOf, Role target) {
    auto shapeOf = [&](Role role) -> ArrayRef<int64_t> {
      const int buffer = bufferOf[role];
      return buffer < 2 ? operands[buffer] : results[0];
    };
    const train::Window window =
        train::windowOf(conv, shapeOf(Filter).drop_front(2));
    if (!doMeet(window, shapeOf(Image), shapeOf(Filter), shapeOf(Output)))
      return std::optional<ConvKernel>();
    kernel.bufferOf = bufferOf;
    kernel.target = target;
    kernel.setShapes(window, shapeOf(Image), shapeOf(Filter), shapeOf(Output));
    return std::optional(kernel);
  };
  if (auto conv = dyn_cast<train::ConvOp>(op))
    return set(conv, buffersOf(conv), Output);
  if (auto conv = dyn_cast<train::ConvInputGradOp>(op))
    return set(conv, buffersOf(conv), Image);
  if (auto conv = dyn_cast<train::ConvFilterGradOp>(op))
    return set(conv, buffersOf(conv), Filter);
  return std::nullopt;
}

template <bool isExact> static void addProduct(Slot &sum, Slot a, Slot b) {
  if (isExact)
    sum.i = field::add(sum.i, field::multiply(a.i, b.i));
  else
    sum.f += a.f * b.f;
}

/// sum[i] += a[i] * b, where rows are as long as the compiler likes them.
template <bool isExact>
static void addRow(Slot *sum, int64_t bySum, const Slot *a, int64_t byA, Slot b,
                   int64_t count) {
  if (bySum == 1 && byA == 1)
    for (int64_t i = 0; i < count; ++i)
      addProduct<isExact>(sum[i], a[i], b);
  else
    for (int64_t i = 0; i < count; ++i)
      addProduct<isExact>(sum[i * bySum], a[i * byA], b);
}

ConvKernel::Range ConvKernel::placesInside(int dim, int64_t inWindow) const {
  const int64_t first = inWindow * dilations[dim] - pads[dim];
  const int64_t begin = first >= 0 ? 0 : llvm::divideCeil(-first, strides[dim]);
  const int64_t room = image[dim] - 1 - first;
  const int64_t end =
      room < 0 ? 0 : std::min(places[dim], room / strides[dim] + 1);
  return {begin, std::max(begin, end), begin * strides[dim] + first};
}

template <bool isExact, ConvKernel::Role target>
void ConvKernel::runAll(ArrayRef<std::vector<Slot> *> buffers) const {
  Slot zero;
  zero.i = 0; // a float of 0, too
  std::fill(buffers[2]->begin(), buffers[2]->end(), zero);
  Slot *data[3];
  for (int role : {Image, Filter, Output})
    data[role] = buffers[bufferOf[role]]->data();

  // One element of the filter at a row of places.
  auto multiplyRow = [&](Slot *i, Slot *f, Slot *o, int64_t count) {
    const int64_t byImage = strides[kDims - 1] * ofImage.spatial[kDims - 1];
    const int64_t byOutput = ofPlaces.spatial[kDims - 1];
    if (target == Output)
      return addRow<isExact>(o, byOutput, i, byImage, *f, count);
    if (target == Image)
      return addRow<isExact>(i, byImage, o, byOutput, *f, count);
    Slot sum = *f;
    for (int64_t place = 0; place < count; ++place)
      addProduct<isExact>(sum, i[place * byImage], o[place * byOutput]);
    *f = sum;
  };
  // The rows of channels at a row of places and an element of the window.
  auto multiply = [&](Slot *i, Slot *f, Slot *o, int64_t count) {
    for (int64_t k = 0; k < groupOutputs; ++k)
      for (int64_t c = 0; c < groupChannels; ++c)
        multiplyRow(i + c * ofImage.inner,
                    f + k * ofFilter.outer + c * ofFilter.inner,
                    o + k * ofPlaces.inner, count);
  };
  // Elements of the window, then places, dim by dim.
  auto walk = [&](auto &self, int dim, Slot *i, Slot *f, Slot *o) -> void {
    for (int64_t w = 0; w < window[dim]; ++w) {
      const Range at = placesInside(dim, w);
      Slot *image = i + at.inImage * ofImage.spatial[dim];
      Slot *filter = f + w * ofFilter.spatial[dim];
      Slot *output = o + at.begin * ofPlaces.spatial[dim];
      if (dim == kDims - 1) {
        multiply(image, filter, output, at.end - at.begin);
        continue;
      }
      for (int64_t place = at.begin; place < at.end; ++place) {
        self(self, dim + 1, image, filter, output);
        image += strides[dim] * ofImage.spatial[dim];
        output += ofPlaces.spatial[dim];
      }
    }
  };
  for (int64_t n = 0; n < samples; ++n)
    for (int64_t g = 0; g < groups; ++g)
      walk(walk, 0,
           data[Image] + n * ofImage.outer + g * groupChannels * ofImage.inner,
           data[Filter] + g * groupOutputs * ofFilter.outer,
           data[Output] + n * ofPlaces.outer +
               g * groupOutputs * ofPlaces.inner);
}

void ConvKernel::run(ArrayRef<std::vector<Slot> *> buffers) const {
  if (target == Image)
    isExact ? runAll<true, Image>(buffers) : runAll<false, Image>(buffers);
  else if (target == Filter)
    isExact ? runAll<true, Filter>(buffers) : runAll<false, Filter>(buffers);
  else
    isExact ? runAll<true, Output>(buffers) : runAll<false, Output>(buffers);
}

} // namespace zc::interpreter
