#include "runtime/Exec/Instructions.h"

namespace zc {

std::string describe(const plan::Program &program, size_t index,
                     const plan::Instruction &instruction) {
  return strCat("program '", program.name(), "', instruction ", index, " (",
                instruction.label(), ")");
}

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
