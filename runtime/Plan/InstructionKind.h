// The kinds of instructions, by their names in reports.
#ifndef ZC_RUNTIME_PLAN_INSTRUCTIONKIND_H
#define ZC_RUNTIME_PLAN_INSTRUCTIONKIND_H

#include "runtime/Plan/Manifest.pb.h"

namespace zc {

/// The kinds of generated kernels and of copies; library calls have others.
inline constexpr char kKernelKind[] = "kernel", kCopyKind[] = "copy";

/// The kind of work that an instruction does: "kernel", "collective",
/// "grouped_matmul"; "" where there is none. The text outlives the instruction.
const char *kindOf(const plan::Instruction &instruction);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_INSTRUCTIONKIND_H
