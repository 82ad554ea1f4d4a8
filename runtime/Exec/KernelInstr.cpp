#include "runtime/Exec/Instructions.h"

namespace zc {

KernelLaunch makeKernelLaunch(const AddressMap &map,
                              const plan::Instruction &instruction) {
  const plan::KernelCall &call = instruction.kernel();
  KernelLaunch launch{call.symbol(), {}, call.grid(), instruction.bytes()};
  for (uint32_t index : call.buffers())
    launch.buffers.push_back(map.address(index));
  return launch;
}

} // namespace zc
