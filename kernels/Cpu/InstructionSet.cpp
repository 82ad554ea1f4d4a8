#include "kernels/Cpu/InstructionSet.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace zc::kernels {

#if defined(__x86_64__)
/// Bits of a leaf of cpuid.
static bool hasBits(uint32_t subleaf, bool inEax, uint32_t bits) {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, subleaf, &eax, &ebx, &ecx, &edx) &&
         ((inEax ? eax : edx) & bits) == bits;
}

/// A process asks once for the registers, which the system then saves for all
/// of its threads (Documentation/arch/x86/xstate.rst of Linux).
static bool requestTiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

static bool machineHasAmx() {
  constexpr uint32_t kTiles = 1u << 24, kTileBf16 = 1u << 22, kBf16 = 1u << 5;
  return hasBits(0, false, kTiles | kTileBf16) && hasBits(1, true, kBf16) &&
         requestTiles();
}

static InstructionSet ofMachine() {
  __builtin_cpu_init();
  bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (fma && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    return InstructionSet::Avx512;
  return fma ? InstructionSet::Avx2 : InstructionSet::Baseline;
}

bool isIntel() {
  static const bool is = [] {
    __builtin_cpu_init();
    return __builtin_cpu_is("intel") != 0;
  }();
  return is;
}
#else
bool isIntel() { return false; }
static bool machineHasAmx() { return false; }
// All that a compiler's own vectors give: of other processors there is one set.
static InstructionSet ofMachine() { return InstructionSet::Baseline; }
#endif

static std::string_view nameOfAllowed() {
  const char *value = std::getenv("ZC_MAX_CPU_ISA");
  return value ? value : "";
}

static InstructionSet allowed() {
  std::string_view name = nameOfAllowed();
  if (name == "baseline")
    return InstructionSet::Baseline;
  return name == "avx2" ? InstructionSet::Avx2 : InstructionSet::Avx512;
}

InstructionSet widestInstructionSet() {
  static const InstructionSet widest = std::min(ofMachine(), allowed());
  return widest;
}

bool hasAmx() {
  static const bool has = widestInstructionSet() == InstructionSet::Avx512 &&
                          nameOfAllowed() != "avx512" && machineHasAmx();
  return has;
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
