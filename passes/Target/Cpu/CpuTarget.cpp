//===- CpuTarget.cpp ------------------------------------------------------===//
#include "passes/Target/Cpu/CpuTarget.h"

#include "passes/Target/Cpu/LibraryPatterns.h"

using namespace mlir;

namespace zc {

StringRef CpuTarget::libraryFor(Operation *op) const {
  StringRef name = cpu::libraryFor(op);
  return libraries.has(name) ? name : "";
}

bool CpuTarget::needsFloat32(Operation *op) const {
  ArrayAttr features = description.getFeatures();
  bool multipliesBFloat16 =
      features &&
      llvm::is_contained(features.getAsValueRange<StringAttr>(), kWideVectors);
  return cpu::needsFloat32(op, multipliesBFloat16);
}

bool CpuTarget::allowsWinograd(Operation *op) const {
  return libraries.has(cpu::kWinograd) && cpu::maySuitWinograd(op);
}

// The library is near its full rate with 256 samples, and every chunk more
// reads and writes the sum of the weights' gradient once: 2% of GPT-2's step
// against chunks of 512, for 3% of its memory.
int64_t CpuTarget::mostChunkSamples() const { return 256; }

// Two AVX-512 cores: the rates of oneDNN and of memory; a file in the system's
// cache, by one thread; ranks on one machine.
const MachineRates &CpuTarget::rates() const {
  static constexpr MachineRates kRates = {2e11, 2e10, /*copy=*/{2e-5, 3e9},
                                          /*link=*/{5e-5, 2e9}, 0};
  return kRates;
}

} // namespace zc
