// Finds the instruction sets of this machine among those that hand-written
// kernels are compiled for.
#ifndef ZC_KERNELS_CPU_INSTRUCTIONSET_H
#define ZC_KERNELS_CPU_INSTRUCTIONSET_H

namespace zc::kernels {

enum class InstructionSet { Baseline, Avx2, Avx512 };

/// The one with the widest vectors, but none above what the environment's
/// ZC_MAX_CPU_ISA (baseline, avx2 or avx512) allows, so that a machine can test
/// the kernels of lesser ones. (oneDNN's own is ONEDNN_MAX_CPU_ISA.)
InstructionSet widestInstructionSet();

/// Whether bfloat16 products run in AMX's tile registers: the processor has
/// them beside AVX-512, the system lets this process use them, and
/// ZC_MAX_CPU_ISA does not name a lesser set.
bool hasAmx();

/// Whether Intel made the processor.
bool isIntel();

/// "baseline", "avx2" or "avx512".
const char *nameOf(InstructionSet set);

} // namespace zc::kernels

/// A function that is compiled for each instruction set, in a namespace called
/// like it: the call of that of `set`.
#if defined(__x86_64__)
#define ZC_OF_INSTRUCTION_SET(set, call)                                       \
  ((set) == ::zc::kernels::InstructionSet::Avx512 ? avx512::call               \
   : (set) == ::zc::kernels::InstructionSet::Avx2 ? avx2::call                 \
                                                  : baseline::call)
#else
#define ZC_OF_INSTRUCTION_SET(set, call) ((void)(set), baseline::call)
#endif

#endif // ZC_KERNELS_CPU_INSTRUCTIONSET_H
