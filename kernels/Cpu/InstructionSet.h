// Which of the instruction sets that hand-written kernels are compiled for this
// machine has.
#ifndef ZC_KERNELS_CPU_INSTRUCTIONSET_H
#define ZC_KERNELS_CPU_INSTRUCTIONSET_H

namespace zc::kernels {

enum class InstructionSet { Baseline, Avx2, Avx512 };

/// The one with the widest vectors, but none above what the environment's
/// ZC_MAX_CPU_ISA (baseline, avx2 or avx512) allows, so that a machine can test
/// the kernels of lesser ones. (oneDNN's own is ONEDNN_MAX_CPU_ISA.)
InstructionSet widestInstructionSet();

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_INSTRUCTIONSET_H
