#include "runtime/Exec/Instructions.h"

namespace zc {

AttentionLaunch makeAttentionLaunch(const AddressMap &map,
                                    const plan::AttentionCall &call) {
  AttentionLaunch launch = {};
  const auto &q = map.buffer(call.buffers(0)).type().dims();
  const auto &k = map.buffer(call.buffers(1)).type().dims();
  launch.spec = {call.backward(), q[0],         q[1], k[1], q[2], q[3],
                 call.scale(),    call.causal()};
  launch.spec.type = elementType(map.buffer(call.buffers(0)).type().dtype());
  launch.buffers.resize(10, nullptr);
  for (int i = 0; i < call.buffers_size(); ++i)
    launch.buffers[i] = map.address(call.buffers(i));
  if (call.has_mask()) {
    const auto &mask = map.buffer(call.mask()).type().dims();
    launch.spec.bounded = map.buffer(call.mask()).type().dtype() == plan::I64;
    launch.spec.masked = !launch.spec.bounded;
    int64_t stride = mask[3];
    for (int dim = 2; dim >= 0; --dim) {
      launch.spec.maskStrides[dim] = mask[dim] == 1 ? 0 : stride;
      stride *= mask[dim];
    }
    launch.buffers[9] = map.address(call.mask());
  }
  launch.workspace = map.address(call.workspace());
  launch.workspaceBytes = map.buffer(call.workspace()).type().dims(0);
  return launch;
}

} // namespace zc
