// Which of the instruction sets that hand-written kernels are compiled for this
// machine has.
#ifndef ZC_KERNELS_CPU_INSTRUCTIONSET_H
#define ZC_KERNELS_CPU_INSTRUCTIONSET_H

namespace zc::kernels {

enum class InstructionSet { Baseline, Avx2, Avx512 };

/// The one with the widest vectors.
inline InstructionSet widestInstructionSet() {
  __builtin_cpu_init();
  bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (fma && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    return InstructionSet::Avx512;
  return fma ? InstructionSet::Avx2 : InstructionSet::Baseline;
}

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_INSTRUCTIONSET_H
