#include "runtime/Exec/Instructions.h"

namespace zc {

MatmulLaunch makeMatmulLaunch(const AddressMap &map,
                              const plan::MatmulCall &call) {
  MatmulLaunch launch = {};
  launch.spec.a = makeStridedTensor(map, call.a());
  launch.spec.b = makeStridedTensor(map, call.b());
  launch.spec.c = makeStridedTensor(map, call.c());
  launch.spec.accumulate = call.accumulate();
  launch.a = map.address(call.a().buffer());
  launch.b = map.address(call.b().buffer());
  launch.c = map.address(call.c().buffer());
  if (call.has_workspace()) {
    launch.workspace = map.address(call.workspace());
    launch.workspaceBytes = map.buffer(call.workspace()).type().dims(0);
  }
  return launch;
}

} // namespace zc
