#include "runtime/Exec/Instructions.h"

namespace zc {

static kernels::ConvolutionKind convolutionKind(plan::ConvolutionKind kind) {
  switch (kind) {
  case plan::BACKWARD_INPUT:
    return kernels::ConvolutionKind::BackwardInput;
  case plan::BACKWARD_FILTER:
    return kernels::ConvolutionKind::BackwardFilter;
  default:
    return kernels::ConvolutionKind::Forward;
  }
}

ConvolutionLaunch makeConvolutionLaunch(const AddressMap &map,
                                        const plan::ConvolutionCall &call) {
  ConvolutionLaunch launch = {};
  kernels::ConvolutionSpec &spec = launch.spec;
  spec.kind = convolutionKind(call.kind());
  spec.source = makeStridedTensor(map, call.source());
  spec.filter = makeStridedTensor(map, call.filter());
  spec.destination = makeStridedTensor(map, call.destination());
  spec.strides.assign(call.strides().begin(), call.strides().end());
  spec.dilations.assign(call.dilations().begin(), call.dilations().end());
  spec.padsLow.assign(call.pads_low().begin(), call.pads_low().end());
  spec.padsHigh.assign(call.pads_high().begin(), call.pads_high().end());
  spec.groups = call.groups();
  launch.source = map.address(call.source().buffer());
  launch.filter = map.address(call.filter().buffer());
  launch.destination = map.address(call.destination().buffer());
  if (call.has_workspace()) {
    launch.workspace = map.address(call.workspace());
    launch.workspaceBytes = map.buffer(call.workspace()).type().dims(0);
  }
  return launch;
}

} // namespace zc
