#include "runtime/Plan/InstructionKind.h"
#include "kernels/Calls/Calls.h"

namespace zc {

const char *kindOf(const plan::Instruction &instruction) {
  switch (instruction.kind_case()) {
  case plan::Instruction::kKernel:
    return kKernelKind;
  case plan::Instruction::kLibrary:
    if (auto *kind = kernels::findCallKind(instruction.library().op()))
      return kind->name;
    break;
  case plan::Instruction::kCopy:
    return kCopyKind;
  case plan::Instruction::kCollective:
    return "collective";
  case plan::Instruction::KIND_NOT_SET:
    break;
  }
  return "";
}

} // namespace zc
