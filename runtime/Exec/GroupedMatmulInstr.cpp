#include "runtime/Exec/Instructions.h"

namespace zc {

GroupedMatmulLaunch
makeGroupedMatmulLaunch(const AddressMap &map,
                        const plan::GroupedMatmulCall &call) {
  auto type = [&](uint32_t index) -> const plan::TensorType & {
    return map.buffer(index).type();
  };
  GroupedMatmulLaunch launch = {};
  kernels::GroupedMatmulSpec &spec = launch.spec;
  spec.gradient = call.gradient();
  spec.transposed = call.transposed();
  const auto &rows = type(call.a()).dims();
  spec.rows = rows.size() == 3 ? rows[0] * rows[1] : rows[0];
  spec.inner = *rows.rbegin();
  spec.columns = *type(call.gradient() ? call.b() : call.c()).dims().rbegin();
  spec.experts = type(call.ids()).dims(0);
  spec.type = elementType(type(call.a()).dtype());
  spec.resultType = elementType(type(call.c()).dtype());
  spec.groupType = elementType(type(call.groups()).dtype());
  spec.idType = elementType(type(call.ids()).dtype());
  launch.a = map.address(call.a());
  launch.b = map.address(call.b());
  launch.c = map.address(call.c());
  launch.groups = map.address(call.groups());
  launch.ids = map.address(call.ids());
  launch.workspace = map.address(call.workspace());
  launch.workspaceBytes = type(call.workspace()).dims(0);
  return launch;
}

} // namespace zc
