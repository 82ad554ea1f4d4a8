//===- PoolThreads.cpp - max poolings on GPUs -----------------------------===//
//
// A thread has one element of the result, or neighbouring channels at one place
// where these lie side by side in memory. It looks at all elements of their
// window; in the gradient, at all places whose window may have its element, so
// that no two threads add to one element.
//
//===----------------------------------------------------------------------===//
#include "passes/Codegen/Cuda/PoolThreads.h"

#include "dialects/Train/Ops/WindowSupport.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numeric>

using namespace mlir;

namespace zc::cuda {

namespace {

constexpr int64_t kPoolThreads = 256;
/// Bytes that a thread reads at once.
constexpr int64_t kLoadBytes = 16;

/// An image's, or its places', extent: [outer, spatial.., channels] with the
/// channels last, else [outer x channels, spatial.., 1].
struct Extent {
  int64_t outer, channels;
  SmallVector<int64_t> spatial;

  Extent(RankedTensorType type, bool channelsLast) {
    ArrayRef<int64_t> shape = type.getShape();
    outer = channelsLast ? shape[0] : shape[0] * shape[1];
    channels = channelsLast ? shape.back() : 1;
    llvm::append_range(spatial, channelsLast ? shape.slice(1).drop_back()
                                             : shape.drop_front(2));
  }
};

/// Indices of some neighbouring channels at one place of an image.
struct Place {
  Value outer, channel;
  SmallVector<Value> spatial;
};

class Pool : public TiledOp {
public:
  int64_t teams() const override {
    return llvm::divideCeil(typeOf(op->getResult(0)).getNumElements(),
                            width * kPoolThreads);
  }
  int64_t threads() const override { return kPoolThreads; }

  MemRefType bufferType(unsigned number) const override {
    unsigned operands = op->getNumOperands();
    return flatBuffer(number < operands
                          ? typeOf(op->getOperand(number))
                          : typeOf(op->getResult(number - operands)));
  }

  void build(DeviceCode code, ValueRange buffers, Value team) override {
    Value thread =
        gpu::ThreadIdOp::create(code.builder, code.loc, gpu::Dimension::x);
    Value mine = code.add(code.mul(team, kPoolThreads), thread);
    int64_t all = typeOf(op->getResult(0)).getNumElements() / width;
    code.ifTrue(code.less(mine, code.index(all)),
                [&] { computeAt(code, buffers, findPlace(code, mine)); });
  }

protected:
  Pool(Operation *op, train::Window window, RankedTensorType image,
       RankedTensorType pooled, const Extent &ofResult)
      : op(op), window(window), image(image, window.channelsLast),
        pooled(pooled, window.channelsLast), result(ofResult) {
    int64_t bytes = llvm::divideCeil(image.getElementTypeBitWidth(), 8);
    // A power of two, so that loads are aligned.
    width = std::gcd(result.channels, kLoadBytes / bytes);
  }

  /// Computes the result's elements at `place`.
  virtual void computeAt(DeviceCode &code, ValueRange buffers,
                         const Place &place) = 0;

  /// The place of the result that has the number `mine`.
  Place findPlace(DeviceCode &code, Value mine) const {
    int64_t groups = result.channels / width;
    Place place;
    place.channel = code.mul(code.rem(mine, groups), width);
    Value rest = code.div(mine, groups);
    place.spatial = split(code, rest, result.spatial);
    place.outer = code.div(rest, ShapedType::getNumElements(result.spatial));
    return place;
  }

  /// The indices of `number`, the last of which runs fastest; the first one
  /// begins anew behind its size.
  static SmallVector<Value> split(DeviceCode &code, Value number,
                                  ArrayRef<int64_t> sizes) {
    SmallVector<Value> indices(sizes.size());
    for (size_t i = sizes.size(); i > 0; --i) {
      indices[i - 1] = code.rem(number, sizes[i - 1]);
      number = code.div(number, sizes[i - 1]);
    }
    return indices;
  }

  /// The neighbours' elements at `place`.
  SmallVector<Value> load(DeviceCode &code, Value buffer, const Extent &extent,
                          const Place &place) const {
    SmallVector<Value> elements;
    Value first = linear(code, extent, place);
    for (int64_t i = 0; i < width; ++i)
      elements.push_back(code.load(buffer, code.add(first, i)));
    return elements;
  }

  void store(DeviceCode &code, ValueRange elements, Value buffer,
             const Place &place) const {
    Value first = linear(code, result, place);
    for (auto [i, element] : llvm::enumerate(elements))
      code.store(element, buffer, code.add(first, i));
  }

  static Value linear(DeviceCode &code, const Extent &extent,
                      const Place &place) {
    Value index = place.outer;
    for (auto [size, at] : llvm::zip(extent.spatial, place.spatial))
      index = code.add(code.mul(index, size), at);
    return code.add(code.mul(index, extent.channels), place.channel);
  }

  Value integer(DeviceCode &code, Type type, int64_t value) const {
    return arith::ConstantIntOp::create(code.builder, code.loc, type, value);
  }
  Value truth(DeviceCode &code) const {
    return integer(code, code.builder.getI1Type(), 1);
  }

  /// Narrow floats are compared and added as float32.
  static Value widen(DeviceCode &code, Value element) {
    return train::widenScalar(code.builder, code.loc, element);
  }
  static Value narrow(DeviceCode &code, Value element, Type type) {
    return train::narrowScalar(code.builder, code.loc, element, type);
  }

  Operation *op;
  train::Window window;
  Extent image, pooled, result;
  int64_t width; // channels of one thread
};

class MaxPoolPlaces : public Pool {
public:
  explicit MaxPoolPlaces(train::MaxPoolPlacesOp op)
      : Pool(op, windowOf(op, op.getWindow()), typeOf(op.getInput()),
             typeOf(op.getResult()),
             Extent(typeOf(op.getResult()), op.getChannelsLast())) {}

private:
  void computeAt(DeviceCode &code, ValueRange buffers,
                 const Place &place) override {
    Type element = typeOf(op->getOperand(0)).getElementType();
    Type wide = train::getComputeType(element);
    Value least = arith::ConstantOp::create(
        code.builder, code.loc,
        code.builder.getFloatAttr(wide,
                                  -std::numeric_limits<double>::infinity()));
    SmallVector<Value> start(width, least);
    start.append(width, integer(code, code.builder.getI32Type(), -1));
    ValueRange found =
        code.loop(code.index(0), code.index(window.numElements()), 1, start,
                  [&](Value number, ValueRange now) {
                    return takeElement(code, buffers[0], place, number, now);
                  });
    auto places = cast<RankedTensorType>(op->getResult(1).getType());
    SmallVector<Value> maxima, indices;
    for (Value value : found.take_front(width))
      maxima.push_back(narrow(code, value, element));
    for (Value value : found.drop_front(width))
      indices.push_back(toPlace(code, value, places.getElementType()));
    store(code, maxima, buffers[1], place);
    store(code, indices, buffers[2], place);
  }

  static Value toPlace(DeviceCode &code, Value value, Type type) {
    unsigned bits = type.getIntOrFloatBitWidth();
    if (bits == 32)
      return value;
    return bits < 32
               ? arith::TruncIOp::create(code.builder, code.loc, type, value)
                     .getResult()
               : arith::ExtSIOp::create(code.builder, code.loc, type, value)
                     .getResult();
  }

  /// The maxima and their places with the window's element `number`, if it lies
  /// on the image. The first one that does is a maximum, also minus infinity.
  SmallVector<Value> takeElement(DeviceCode &code, Value buffer,
                                 const Place &place, Value number,
                                 ValueRange now) const {
    OpBuilder &builder = code.builder;
    Place at = place;
    Value exists = truth(code);
    SmallVector<Value> inWindow = split(code, number, window.sizes);
    for (int64_t i = 0; i < window.rank(); ++i) {
      Value padded = code.add(code.mul(place.spatial[i], window.strides[i]),
                              code.mul(inWindow[i], window.dilations[i]));
      // Before the image it is no number below the size.
      Value index = code.sub(padded, code.index(window.padsLow[i]));
      exists =
          code.both(exists, code.less(index, code.index(image.spatial[i])));
      at.spatial[i] = code.min(index, code.index(image.spatial[i] - 1));
    }
    Value own = arith::IndexCastOp::create(builder, code.loc,
                                           builder.getI32Type(), number);
    Value zero = integer(code, builder.getI32Type(), 0);
    SmallVector<Value> maxima, places;
    for (auto [i, element] : llvm::enumerate(load(code, buffer, image, at))) {
      Value largest = now[i], where = now[width + i];
      Value value = widen(code, element);
      Value none = arith::CmpIOp::create(
          builder, code.loc, arith::CmpIPredicate::slt, where, zero);
      Value larger = arith::CmpFOp::create(
          builder, code.loc, arith::CmpFPredicate::OGT, value, largest);
      Value takes = code.both(
          exists, arith::OrIOp::create(builder, code.loc, none, larger));
      Value maximum =
          arith::MaximumFOp::create(builder, code.loc, largest, value);
      maxima.push_back(code.select(exists, maximum, largest));
      places.push_back(code.select(takes, own, where));
    }
    llvm::append_range(maxima, places);
    return maxima;
  }
};

class MaxPoolPlacesGrad : public Pool {
public:
  explicit MaxPoolPlacesGrad(train::MaxPoolPlacesGradOp op)
      : Pool(op, windowOf(op, op.getWindow()), typeOf(op.getResult()),
             typeOf(op.getGrad()),
             Extent(typeOf(op.getResult()), op.getChannelsLast())) {
    for (int64_t i = 0; i < window.rank(); ++i)
      covering.push_back(llvm::divideCeil(extentOf(i), window.strides[i]));
  }

private:
  /// From a window's first element of dim `i` past its last.
  int64_t extentOf(int64_t i) const {
    return (window.sizes[i] - 1) * window.dilations[i] + 1;
  }

  void computeAt(DeviceCode &code, ValueRange buffers,
                 const Place &place) override {
    Type element = typeOf(op->getResult(0)).getElementType();
    Type wide = train::getComputeType(element);
    SmallVector<Value> start(width, code.zero(wide));
    int64_t all = ShapedType::getNumElements(covering);
    ValueRange sums =
        code.loop(code.index(0), code.index(all), 1, start,
                  [&](Value number, ValueRange now) {
                    return addPlace(code, buffers, place, number, now);
                  });
    SmallVector<Value> gradients;
    for (Value sum : sums)
      gradients.push_back(narrow(code, sum, element));
    store(code, gradients, buffers[2], place);
  }

  /// The sums with the gradient at the place `number` of those whose windows
  /// may have the element, if this was the window's maximum.
  SmallVector<Value> addPlace(DeviceCode &code, ValueRange buffers,
                              const Place &element, Value number,
                              ValueRange now) const {
    Place at = element;
    Value exists = truth(code), inWindow = code.index(0);
    SmallVector<Value> turns = split(code, number, covering);
    for (int64_t i = 0; i < window.rank(); ++i) {
      Value padded = code.add(element.spatial[i], window.padsLow[i]);
      // Before the first place it is no number below their count.
      Value place =
          code.sub(code.add(code.div(padded, window.strides[i]), turns[i]),
                   code.index(covering[i] - 1));
      Value offset = code.sub(padded, code.mul(place, window.strides[i]));
      exists =
          code.both(exists, code.less(place, code.index(pooled.spatial[i])));
      exists = code.both(exists, code.less(offset, code.index(extentOf(i))));
      if (window.dilations[i] > 1)
        exists =
            code.both(exists, code.equal(code.rem(offset, window.dilations[i]),
                                         code.index(0)));
      at.spatial[i] = code.min(place, code.index(pooled.spatial[i] - 1));
      inWindow = code.add(code.mul(inWindow, window.sizes[i]),
                          code.div(offset, window.dilations[i]));
    }
    SmallVector<Value> places = load(code, buffers[0], pooled, at);
    SmallVector<Value> gradients = load(code, buffers[1], pooled, at);
    Value own = arith::IndexCastOp::create(code.builder, code.loc,
                                           places[0].getType(), inWindow);
    SmallVector<Value> sums;
    for (int64_t i = 0; i < width; ++i) {
      Value gradient = widen(code, gradients[i]);
      Value takes = code.both(exists, code.equal(places[i], own));
      Value term = code.select(takes, gradient, code.zero(gradient.getType()));
      sums.push_back(
          arith::AddFOp::create(code.builder, code.loc, now[i], term));
    }
    return sums;
  }

  SmallVector<int64_t> covering; // places a dim
};

} // namespace

std::unique_ptr<TiledOp> makeMaxPoolPlaces(train::MaxPoolPlacesOp op) {
  return std::make_unique<MaxPoolPlaces>(op);
}
std::unique_ptr<TiledOp> makeMaxPoolPlacesGrad(train::MaxPoolPlacesGradOp op) {
  return std::make_unique<MaxPoolPlacesGrad>(op);
}

} // namespace zc::cuda
