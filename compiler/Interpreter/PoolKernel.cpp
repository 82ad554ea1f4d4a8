//===- PoolKernel.cpp - maxima of windows, interpreted in one piece -------===//
#include "compiler/Interpreter/PoolKernel.h"

#include "compiler/Interpreter/Field.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

#include <cmath>

using namespace mlir;

namespace zc::interpreter {

namespace {
/// Slots as doubles.
struct Doubles {
  static Slot least() {
    Slot slot;
    slot.f = -std::numeric_limits<double>::infinity();
    return slot;
  }
  static bool isNone(Slot a) { return std::isnan(a.f); }
  static bool isLess(Slot a, Slot b) { return a.f < b.f; }
  static bool areEqual(Slot a, Slot b) { return a.f == b.f; }
  static void add(Slot &sum, Slot a) { sum.f += a.f; }
};

/// Slots as numbers modulo a prime.
struct Residues {
  static Slot least() {
    Slot slot;
    slot.i = -field::kInfinity;
    return slot;
  }
  static bool isNone(Slot a) { return a.i == field::kNotANumber; }
  static bool isLess(Slot a, Slot b) { return a.i < b.i; }
  static bool areEqual(Slot a, Slot b) { return a.i == b.i; }
  static void add(Slot &sum, Slot a) { sum.i = field::add(sum.i, a.i); }
};
} // namespace

void PoolKernel::setShapes(const train::Window &given,
                           ArrayRef<int64_t> imageShape,
                           ArrayRef<int64_t> pooledShape) {
  const int64_t channelDim = given.channelDim();
  const auto byImage = computeStrides(imageShape),
             byPooled = computeStrides(pooledShape);
  samples = imageShape[0];
  channels = imageShape[channelDim];
  ofImage = {byImage[0], byImage[channelDim], {0, 0, 0}};
  ofPlaces = {byPooled[0], byPooled[channelDim], {0, 0, 0}};
  for (auto [i, dim] : llvm::enumerate(given.spatialDims())) {
    setDim(int(i), given, i, imageShape[dim], pooledShape[dim], given.sizes[i]);
    ofImage.spatial[i] = byImage[dim];
    ofPlaces.spatial[i] = byPooled[dim];
  }
}

std::optional<PoolKernel> PoolKernel::create(Operation *op, Shapes operands,
                                             Shapes results,
                                             Precision precision) {
  if (!isa<train::MaxPoolOp, train::MaxPoolGradOp>(op) ||
      precision == Precision::Single)
    return std::nullopt;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (type.getElementType().getIntOrFloatBitWidth() < 32 ||
      type.getRank() > 2 + kDims)
    return std::nullopt;
  PoolKernel kernel;
  kernel.isExact = precision == Precision::Exact;
  kernel.isGradient = isa<train::MaxPoolGradOp>(op);
  ArrayRef<int64_t> image = operands[0],
                    pooled = kernel.isGradient ? operands[1] : results[0];
  const train::Window window =
      kernel.isGradient
          ? train::windowOf(cast<train::MaxPoolGradOp>(op),
                            cast<train::MaxPoolGradOp>(op).getWindow())
          : train::windowOf(cast<train::MaxPoolOp>(op),
                            cast<train::MaxPoolOp>(op).getWindow());
  // Parts that a wrong rule makes may have nothing to do with one another.
  if (image[0] != pooled[0] ||
      image[window.channelDim()] != pooled[window.channelDim()] ||
      (kernel.isGradient && (ArrayRef<int64_t>(results[0]) != image ||
                             ArrayRef<int64_t>(operands[2]) != pooled)))
    return std::nullopt;
  kernel.setShapes(window, image, pooled);
  return kernel;
}

template <typename Visit>
void PoolKernel::forEachElement(const Sizes &place, Visit visit) const {
  auto walk = [&](auto &self, int dim, int64_t at) -> void {
    if (dim == kDims)
      return visit(at);
    int64_t index = place[dim] * strides[dim] - pads[dim];
    for (int64_t w = 0; w < window[dim]; ++w, index += dilations[dim])
      if (index >= 0 && index < image[dim])
        self(self, dim + 1, at + index * ofImage.spatial[dim]);
  };
  walk(walk, 0, 0);
}

template <typename Visit> void PoolKernel::forEachPlace(Visit visit) const {
  Sizes place;
  for (int64_t n = 0; n < samples; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (place[0] = 0; place[0] < places[0]; ++place[0])
        for (place[1] = 0; place[1] < places[1]; ++place[1])
          for (place[2] = 0; place[2] < places[2]; ++place[2])
            visit(n * ofImage.outer + c * ofImage.inner, place,
                  n * ofPlaces.outer + c * ofPlaces.inner +
                      place[0] * ofPlaces.spatial[0] +
                      place[1] * ofPlaces.spatial[1] +
                      place[2] * ofPlaces.spatial[2]);
}

template <typename Number>
void PoolKernel::takeMaxima(ArrayRef<std::vector<Slot> *> buffers) const {
  const Slot *input = buffers[0]->data();
  Slot *pooled = buffers[1]->data();
  forEachPlace([&](int64_t channel, const Sizes &place, int64_t at) {
    Slot largest = Number::least();
    forEachElement(place, [&](int64_t element) {
      const Slot each = input[channel + element];
      if (Number::isNone(each) ||
          (Number::isLess(largest, each) && !Number::isNone(largest)))
        largest = each;
    });
    pooled[at] = largest;
  });
}

template <typename Number>
void PoolKernel::giveGradients(ArrayRef<std::vector<Slot> *> buffers) const {
  const Slot *input = buffers[0]->data(), *pooled = buffers[1]->data(),
             *gradient = buffers[2]->data();
  Slot zero, *result = buffers[3]->data();
  zero.i = 0; // a float of 0, too
  std::fill(buffers[3]->begin(), buffers[3]->end(), zero);
  // The first element that equals the maximum takes the place's gradient; one
  // that is no number equals all.
  forEachPlace([&](int64_t channel, const Sizes &place, int64_t at) {
    bool isTaken = false;
    forEachElement(place, [&](int64_t element) {
      const Slot each = input[channel + element];
      if (isTaken || !(Number::areEqual(each, pooled[at]) ||
                       Number::isNone(each) || Number::isNone(pooled[at])))
        return;
      Number::add(result[channel + element], gradient[at]);
      isTaken = true;
    });
  });
}

void PoolKernel::run(ArrayRef<std::vector<Slot> *> buffers) const {
  if (isGradient)
    isExact ? giveGradients<Residues>(buffers)
            : giveGradients<Doubles>(buffers);
  else
    isExact ? takeMaxima<Residues>(buffers) : takeMaxima<Doubles>(buffers);
}

} // namespace zc::interpreter
