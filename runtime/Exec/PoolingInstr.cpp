#include "runtime/Exec/Instructions.h"

namespace zc {

PoolingLaunch makePoolingLaunch(const AddressMap &map,
                                const plan::PoolingCall &call) {
  PoolingLaunch launch = {};
  kernels::PoolingSpec &spec = launch.spec;
  spec.source = makeStridedTensor(map, call.source());
  spec.destination = makeStridedTensor(map, call.destination());
  spec.window.assign(call.window().begin(), call.window().end());
  spec.strides.assign(call.strides().begin(), call.strides().end());
  spec.pads.assign(call.pads().begin(), call.pads().end());
  launch.source = map.address(call.source().buffer());
  launch.destination = map.address(call.destination().buffer());
  return launch;
}

} // namespace zc
