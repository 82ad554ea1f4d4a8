#include "kernels/Calls/Pooling.h"

namespace zc::kernels {
namespace {

bool isGradient(const LibraryCall &call) {
  return call.op == "average_pool_grad";
}

/// One spatial dim: the windows cover the image, and none lies in the padding
/// alone.
bool dimAgrees(const PoolingSpec &spec, size_t i) {
  const int64_t window = spec.window[i], stride = spec.strides[i],
                low = spec.padsLow[i], high = spec.padsHigh[i],
                size = spec.image.dims[i + 2];
  return window >= 1 && window <= kMostOfDim && stride >= 1 && low >= 0 &&
         high >= 0 && low < window && high < window &&
         size + low + high >= window &&
         (size + low + high - window) / stride + 1 == spec.pooled.dims[i + 2];
}

bool isSound(const PoolingSpec &spec) {
  const std::vector<int64_t> &image = spec.image.dims,
                             &pooled = spec.pooled.dims;
  const size_t spatial = image.size() - 2;
  bool sound = pooled.size() == image.size() && spec.window.size() == spatial &&
               spec.strides.size() == spatial &&
               spec.padsLow.size() == spatial &&
               spec.padsHigh.size() == spatial && image[0] == pooled[0] &&
               image[1] == pooled[1];
  for (size_t i = 0; sound && i < spatial; ++i)
    sound = dimAgrees(spec, i);
  return sound;
}

} // namespace

std::string PoolingCall::check(const LibraryCall &call) {
  if (std::string error = checkCounts(call, 1, 1); !error.empty())
    return error;
  for (const CallTensor &each : {call.inputs[0], call.outputs[0]})
    if (each.dims.size() != 4 && each.dims.size() != 5)
      return "it pools " + print(each);
  const PoolingSpec spec = specOf(call);
  if (!isSound(spec))
    return "it pools " + printDims(spec.image.dims) + " in windows " +
           printDims(spec.window) + " to " + printDims(spec.pooled.dims);
  return checkTypes({spec.image.type, spec.pooled.type});
}

PoolingSpec PoolingCall::specOf(const LibraryCall &call) {
  const CallTensor &given = call.inputs[0], &made = call.outputs[0];
  const bool channelsLast = call.has("channels_last");
  PoolingSpec spec;
  spec.kind = isGradient(call)            ? PoolingKind::AverageGradient
              : call.op == "average_pool" ? PoolingKind::Average
                                          : PoolingKind::Maximum;
  spec.image = asImage(isGradient(call) ? made : given, channelsLast);
  spec.pooled = asImage(isGradient(call) ? given : made, channelsLast);
  spec.window = call.integers("window");
  spec.strides = call.integers("strides");
  spec.padsLow = call.integers("pads_low");
  spec.padsHigh = call.integers("pads_high");
  spec.countIncludePad = call.has("count_include_pad");
  return spec;
}

PoolingLaunch PoolingCall::launch(const LibraryCall &call,
                                  const CallAddresses &addresses) {
  void *given = addresses.inputs[0], *made = addresses.outputs[0];
  return {specOf(call), isGradient(call) ? made : given,
          isGradient(call) ? given : made};
}

} // namespace zc::kernels
