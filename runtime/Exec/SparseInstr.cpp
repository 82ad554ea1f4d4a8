#include "runtime/Exec/Instructions.h"

namespace zc {

SparseLaunch makeSparseLaunch(const AddressMap &map,
                              const plan::SparseCall &call) {
  const plan::TensorType &dense = map.buffer(call.dense()).type();
  SparseLaunch launch = {};
  launch.spec.decode = call.decode();
  launch.spec.type = elementType(dense.dtype());
  for (int64_t size : dense.dims())
    launch.spec.elements *= size;
  launch.spec.capacity = map.buffer(call.values()).type().dims(0);
  launch.dense = map.address(call.dense());
  launch.bits = map.address(call.bits());
  launch.offsets = map.address(call.offsets());
  launch.values = map.address(call.values());
  return launch;
}

} // namespace zc
