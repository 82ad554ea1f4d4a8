#include "runtime/Exec/Instructions.h"
#include "runtime/Plan/Types.h"

namespace zc {

KernelLaunch makeKernelLaunch(const AddressMap &map,
                              const plan::Instruction &instruction) {
  const plan::KernelCall &call = instruction.kernel();
  KernelLaunch launch{
      call.symbol(),      {}, {}, call.grid(), instruction.flops(),
      instruction.bytes()};
  for (uint32_t index : call.buffers()) {
    launch.buffers.push_back(map.address(index));
    launch.bufferBytes.push_back(*byteCount(map.buffer(index).type()));
  }
  return launch;
}

} // namespace zc
