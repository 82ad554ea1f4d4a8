#include "kernels/Cpu/InstructionSet.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace zc::kernels {

#if defined(__x86_64__)
static InstructionSet ofMachine() {
  __builtin_cpu_init();
  bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (fma && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    return InstructionSet::Avx512;
  return fma ? InstructionSet::Avx2 : InstructionSet::Baseline;
}
#else
// All that a compiler's own vectors give: of other processors there is one set.
static InstructionSet ofMachine() { return InstructionSet::Baseline; }
#endif

static InstructionSet allowed() {
  const char *value = std::getenv("ZC_MAX_CPU_ISA");
  std::string_view name = value ? value : "";
  if (name == "baseline")
    return InstructionSet::Baseline;
  return name == "avx2" ? InstructionSet::Avx2 : InstructionSet::Avx512;
}

InstructionSet widestInstructionSet() {
  static const InstructionSet widest = std::min(ofMachine(), allowed());
  return widest;
}

const char *nameOf(InstructionSet set) {
  switch (set) {
  case InstructionSet::Avx512:
    return "avx512";
  case InstructionSet::Avx2:
    return "avx2";
  case InstructionSet::Baseline:
    break;
  }
  return "baseline";
}

} // namespace zc::kernels
