//===- ConvKernel.cpp - convolutions, interpreted in one piece ------------===//
#include "compiler/Interpreter/ConvKernel.h"

#include "compiler/Interpreter/Field.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace zc::interpreter {

/// Which of the op's tensors is the image, the filter and the output: the first
/// or second operand, or 2, the result.
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
  ofOutput = {byOutput[0], byOutput[channelDim], {0, 0, 0}};
  ofFilter = {byFilter[0], byFilter[1], {0, 0, 0}};
  for (auto [i, dim] : llvm::enumerate(given.spatialDims())) {
    image[i] = imageShape[dim];
    places[i] = outputShape[dim];
    window[i] = filterShape[2 + i];
    strides[i] = given.strides[i];
    dilations[i] = given.dilations[i];
    pads[i] = given.padsLow[i];
    ofImage.spatial[i] = byImage[dim];
    ofOutput.spatial[i] = byOutput[dim];
    ofFilter.spatial[i] = byFilter[2 + i];
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

template <bool isExact, ConvKernel::Role target>
void ConvKernel::runAll(ArrayRef<std::vector<Slot> *> buffers) const {
  Slot zero;
  zero.i = 0; // a float of 0, too
  std::fill(buffers[2]->begin(), buffers[2]->end(), zero);
  Slot *data[3];
  for (int role : {Image, Filter, Output})
    data[role] = buffers[bufferOf[role]]->data();

  // The rows of channels at a place and an element of the window.
  auto multiply = [&](Slot *imageRow, Slot *filterRow, Slot *outputRow) {
    for (int64_t k = 0; k < groupOutputs; ++k) {
      Slot *filters = filterRow + k * ofFilter.outer;
      Slot &kept = outputRow[k * ofOutput.inner];
      Slot o = kept;
      for (int64_t c = 0; c < groupChannels; ++c) {
        Slot &i = imageRow[c * ofImage.inner];
        Slot &f = filters[c * ofFilter.inner];
        if (target == Image)
          addProduct<isExact>(i, f, o);
        else if (target == Filter)
          addProduct<isExact>(f, i, o);
        else
          addProduct<isExact>(o, i, f);
      }
      if (target == Output)
        kept = o;
    }
  };
  // Places, then elements of the window, dim by dim.
  auto walk = [&](auto &self, int dim, Slot *i, Slot *f, Slot *o) -> void {
    if (dim == kDims)
      return multiply(i, f, o);
    for (int64_t place = 0; place < places[dim]; ++place)
      for (int64_t w = 0; w < window[dim]; ++w) {
        const int64_t at =
            place * strides[dim] - pads[dim] + w * dilations[dim];
        if (at >= 0 && at < image[dim])
          self(self, dim + 1, i + at * ofImage.spatial[dim],
               f + w * ofFilter.spatial[dim],
               o + place * ofOutput.spatial[dim]);
      }
  };
  for (int64_t n = 0; n < samples; ++n)
    for (int64_t g = 0; g < groups; ++g)
      walk(walk, 0,
           data[Image] + n * ofImage.outer + g * groupChannels * ofImage.inner,
           data[Filter] + g * groupOutputs * ofFilter.outer,
           data[Output] + n * ofOutput.outer +
               g * groupOutputs * ofOutput.inner);
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
