#include "kernels/Calls/Convolution.h"

#include "kernels/Calls/Division/FilterGradientSplit.h"
#include "kernels/Calls/Division/PointwiseProduct.h"
#include "kernels/Calls/Division/WinogradBlocks.h"
#include "kernels/Calls/Scratch.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace zc::kernels {
namespace {

ConvolutionKind kindOf(const LibraryCall &call) {
  if (call.op == "conv_input_grad")
    return ConvolutionKind::BackwardInput;
  return call.op == "conv_filter_grad" ? ConvolutionKind::BackwardFilter
                                       : ConvolutionKind::Forward;
}

/// Source, filter and destination among inputs and outputs.
template <typename Item> struct Parts {
  Item source, filter, destination;

  Parts(ConvolutionKind kind, const Item &first, const Item &second,
        const Item &made)
      : source(first), filter(second), destination(made) {
    if (kind == ConvolutionKind::BackwardInput)
      std::swap(source, destination); // from the result's gradient
    else if (kind == ConvolutionKind::BackwardFilter)
      std::swap(filter, destination);
  }
};

/// One spatial dim: all sizes agree.
bool dimAgrees(const ConvolutionSpec &spec, size_t i) {
  auto inRange = [](int64_t value, int64_t least) {
    return value >= least && value <= kMostOfDim;
  };
  const int64_t stride = spec.strides[i], dilation = spec.dilations[i],
                low = spec.padsLow[i], high = spec.padsHigh[i];
  if (!inRange(stride, 1) || !inRange(dilation, 1) || !inRange(low, 0) ||
      !inRange(high, 0))
    return false;
  __int128 extent = __int128(dilation) * (spec.filter.dims[i + 2] - 1) + 1;
  __int128 slack = __int128(spec.source.dims[i + 2]) + low + high - extent;
  return slack >= 0 && slack / stride + 1 == spec.destination.dims[i + 2];
}

bool isSound(const ConvolutionSpec &spec) {
  const std::vector<int64_t> &source = spec.source.dims,
                             &filter = spec.filter.dims,
                             &destination = spec.destination.dims;
  const size_t spatial = source.size() - 2;
  bool sound =
      filter.size() == source.size() && destination.size() == source.size() &&
      spec.groups >= 1 && spec.strides.size() == spatial &&
      spec.dilations.size() == spatial && spec.padsLow.size() == spatial &&
      spec.padsHigh.size() == spatial && source[0] == destination[0] &&
      filter[0] == destination[1] && filter[0] % spec.groups == 0 &&
      source[1] % spec.groups == 0 && source[1] / spec.groups == filter[1];
  for (size_t i = 0; sound && i < spatial; ++i)
    sound = dimAgrees(spec, i);
  return sound;
}

} // namespace

std::string ConvolutionCall::check(const LibraryCall &call) {
  if (std::string error = checkCounts(call, 2, 1); !error.empty())
    return error;
  for (const CallTensor &each :
       {call.inputs[0], call.inputs[1], call.outputs[0]})
    if (each.dims.size() < 3 || each.dims.size() > 5)
      return "it convolves " + print(each);
  const ConvolutionSpec spec = specOf(call);
  if (!isSound(spec))
    return "it convolves " + printDims(spec.source.dims) + " with " +
           printDims(spec.filter.dims) + " into " +
           printDims(spec.destination.dims) + " in " +
           std::to_string(spec.groups) + " groups";
  return checkTypes(
      {spec.source.type, spec.filter.type, spec.destination.type});
}

ConvolutionSpec ConvolutionCall::specOf(const LibraryCall &call) {
  const bool channelsLast = call.has("channels_last");
  const std::vector<int64_t> groups = call.integers("groups");
  ConvolutionSpec spec;
  spec.kind = kindOf(call);
  const Parts<CallTensor> parts(spec.kind, call.inputs[0], call.inputs[1],
                                call.outputs[0]);
  spec.source = asImage(parts.source, channelsLast);
  spec.filter = asItIs(parts.filter);
  spec.destination = asImage(parts.destination, channelsLast);
  spec.strides = call.integers("strides");
  spec.dilations = call.integers("dilations");
  spec.padsLow = call.integers("pads_low");
  spec.padsHigh = call.integers("pads_high");
  spec.groups = groups.empty() ? 0 : groups[0];
  spec.winograd = call.has("winograd");
  return spec;
}

ConvolutionLaunch ConvolutionCall::launch(const LibraryCall &call,
                                          const CallAddresses &addresses) {
  const Parts<void *> parts(kindOf(call), addresses.inputs[0],
                            addresses.inputs[1], addresses.outputs[0]);
  return {specOf(call),      parts.source,        parts.filter,
          parts.destination, addresses.workspace, addresses.workspaceBytes};
}

CallWork ConvolutionCall::workOf(const LibraryCall &call) {
  const ConvolutionSpec spec = specOf(call);
  auto pixelsOf = [](const StridedTensor &tensor) {
    return std::accumulate(tensor.dims.begin() + 2, tensor.dims.end(),
                           int64_t(1), std::multiplies<>());
  };
  return {"convolution",
          call.inputs[0].type,
          std::nullopt,
          {spec.filter.dims[0], spec.filter.dims[1], pixelsOf(spec.filter),
           pixelsOf(spec.source), pixelsOf(spec.destination)}};
}

//===----------------------------------------------------------------------===//
// Scratch memory
//===----------------------------------------------------------------------===//

namespace {

constexpr uint64_t kKiB = 1024;

/// The properties of a convolution that its workspace bound depends on.
struct Shape {
  uint64_t groups, channels, filters; // channels and filters of one group
  uint64_t taps = 1, sourcePixels = 1, destinationPixels = 1;
  bool strided = false, dilated = false, channelsLast = true, depthwise = false;
};

Shape summarize(const ConvolutionSpec &spec) {
  Shape shape;
  shape.groups = spec.groups;
  shape.channels = spec.filter.dims[1];
  shape.filters = spec.filter.dims[0] / spec.groups;
  for (size_t i = 2; i < spec.filter.dims.size(); ++i) {
    shape.taps *= spec.filter.dims[i];
    shape.sourcePixels *= spec.source.dims[i];
    shape.destinationPixels *= spec.destination.dims[i];
    shape.strided |= spec.strides[i - 2] > 1;
    shape.dilated |= spec.dilations[i - 2] > 1 && spec.filter.dims[i] > 1;
  }
  auto isChannelsLast = [](const StridedTensor &tensor) {
    return tensor.dims[1] == 1 || tensor.strides[1] == 1;
  };
  shape.channelsLast =
      isChannelsLast(spec.source) && isChannelsLast(spec.destination);
  shape.depthwise = shape.groups > 1 && shape.channels == 1 &&
                    shape.filters == 1 && spec.filter.dims.size() == 4;
  return shape;
}

/// The filter in the library's blocked layout.
uint64_t filterCopyBytes(const Shape &shape) {
  if (shape.depthwise && !shape.dilated && shape.taps > 1 && shape.taps <= 9)
    return 4 * shape.taps * roundUpBytes(shape.groups, 16);
  uint64_t filters = roundUpBytes(shape.filters, shape.filters > 64 ? 64 : 16);
  uint64_t channels = roundUpBytes(shape.channels, 16);
  channels += roundUpBytes(channels / 32, 16);
  return 4 * shape.taps * shape.groups * filters * channels;
}

/// Whether the library's kernels for AVX2 do not take a convolution whose
/// channels are last: it then multiplies unfolded patches. They take channels
/// and filters of groups by eights; without groups, only gradients of images in
/// steps need it.
bool isUnfoldedOnAvx2(const Shape &shape, ConvolutionKind kind) {
  if (!shape.channelsLast || shape.taps == 1 || shape.depthwise)
    return false;
  bool odd = shape.channels % 8 != 0;
  if (shape.groups > 1)
    return odd || shape.filters % 8 != 0;
  return odd && shape.strided && kind == ConvolutionKind::BackwardInput;
}

} // namespace

/// Enough for every number of threads up to `threads`.
static uint64_t filterGradientBytes(const ConvolutionSpec &spec, int threads) {
  FilterGradientShape shape = shapeFilterGradient(spec);
  int64_t floats = 0;
  for (int64_t team = 1; team <= std::max(1, threads); ++team)
    floats = std::max(
        floats, filterGradientFloats(shape, splitFilterGradient(shape, team)));
  return 4 * floats;
}

uint64_t ConvolutionCall::cpuWorkspace(const ConvolutionSpec &spec,
                                       int threads) {
  if (std::optional<MatmulSpec> matmul = pointwiseProduct(spec))
    return MatmulCall::cpuWorkspace(*matmul, threads);
  uint64_t ofOurs = filterGradientByTiles(spec)
                        ? roundUpBytes(filterGradientBytes(spec, threads), 64)
                        : 0;
  if (spec.winograd && winogradIsQuicker(spec))
    ofOurs =
        std::max(ofOurs, roundUpBytes(winogradWorkspace(spec, threads), 64));
  Shape shape = summarize(spec);
  uint64_t team = std::max(1, threads);
  uint64_t filter = filterCopyBytes(shape);
  bool forward = spec.kind == ConvolutionKind::Forward;
  bool backwardFilter = spec.kind == ConvolutionKind::BackwardFilter;

  uint64_t perThread = 20 * kKiB;
  if (backwardFilter)
    perThread += filter; // partial sums
  uint64_t channels = roundUpBytes(shape.channels * shape.groups, 16);
  bool byMatmul = !shape.channelsLast ||
                  (shape.dilated && (shape.strided || backwardFilter));
  if (shape.channelsLast && shape.taps == 1 && shape.strided)
    // A strided 1x1 convolution is made dense first.
    perThread +=
        4 * channels *
        (spec.kind == ConvolutionKind::BackwardInput ? shape.sourcePixels
                                                     : shape.destinationPixels);
  else if (byMatmul && (!forward || !shape.channelsLast))
    // Unfolded source patches of one image.
    perThread += (forward ? 4 : 8) * shape.channels *
                 saturatingProduct(shape.taps, shape.destinationPixels);
  uint64_t shared = filter + 4 * kKiB;
  if (isUnfoldedOnAvx2(shape, spec.kind))
    (backwardFilter ? perThread : shared) +=
        4 * shape.channels *
        saturatingProduct(shape.taps, shape.destinationPixels);
  return std::max(
      ofOurs, roundUpBytes(saturatingProduct(team, perThread) + shared, 64));
}

/// Enough for a copy of every tensor in the library's own layout, within
/// limits: implicit algorithms need far less, Winograd's about as much.
uint64_t ConvolutionCall::cudaWorkspace(const ConvolutionSpec &spec) {
  uint64_t all = countElements(spec.source) + countElements(spec.filter) +
                 countElements(spec.destination);
  return alignedForCuda(std::min(8 * kCudaScratch, 4 * all + (1u << 20)));
}

} // namespace zc::kernels
