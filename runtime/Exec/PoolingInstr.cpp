#include "runtime/Exec/Instructions.h"

namespace zc {

static kernels::PoolingKind poolingKind(plan::PoolingKind kind) {
  switch (kind) {
  case plan::AVERAGE:
    return kernels::PoolingKind::Average;
  case plan::AVERAGE_GRADIENT:
    return kernels::PoolingKind::AverageGradient;
  default:
    return kernels::PoolingKind::Maximum;
  }
}

PoolingLaunch makePoolingLaunch(const AddressMap &map,
                                const plan::PoolingCall &call) {
  PoolingLaunch launch = {};
  kernels::PoolingSpec &spec = launch.spec;
  spec.kind = poolingKind(call.kind());
  spec.image = makeStridedTensor(map, call.image());
  spec.pooled = makeStridedTensor(map, call.pooled());
  spec.window.assign(call.window().begin(), call.window().end());
  spec.strides.assign(call.strides().begin(), call.strides().end());
  spec.padsLow.assign(call.pads_low().begin(), call.pads_low().end());
  spec.padsHigh.assign(call.pads_high().begin(), call.pads_high().end());
  spec.countIncludePad = call.count_include_pad();
  launch.image = map.address(call.image().buffer());
  launch.pooled = map.address(call.pooled().buffer());
  return launch;
}

} // namespace zc
