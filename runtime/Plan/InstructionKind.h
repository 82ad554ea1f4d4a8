// How the schema calls the kinds of instructions.
#ifndef ZC_RUNTIME_PLAN_INSTRUCTIONKIND_H
#define ZC_RUNTIME_PLAN_INSTRUCTIONKIND_H

#include "runtime/Plan/Manifest.pb.h"

namespace zc {

/// The name of a field of plan::Instruction's `kind`: "kernel",
/// "grouped_matmul"; "" where none is set.
const char *nameOf(plan::Instruction::KindCase kind);

/// The kind of work that an instruction does.
inline const char *kindOf(const plan::Instruction &instruction) {
  return nameOf(instruction.kind_case());
}

} // namespace zc

#endif // ZC_RUNTIME_PLAN_INSTRUCTIONKIND_H
