#include "kernels/Calls/Convolution.h"

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
  return {CallRate::Convolution, call.inputs[0].type};
}

} // namespace zc::kernels
