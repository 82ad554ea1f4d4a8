#include "runtime/Exec/Instructions.h"

namespace zc {

Launch makeLaunch(const AddressMap &map, const plan::Instruction &instruction) {
  switch (instruction.kind_case()) {
  case plan::Instruction::kKernel:
    return makeKernelLaunch(map, instruction);
  case plan::Instruction::kLibrary:
    return makeLibraryLaunch(map, instruction.library());
  default:
    assert(instruction.has_copy() && "verified plans have no other kind");
    return makeCopyLaunch(map, instruction.copy());
  }
}

} // namespace zc
