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
  auto has = [&](StringRef feature) {
    return features &&
           llvm::is_contained(features.getAsValueRange<StringAttr>(), feature);
  };
  return cpu::needsFloat32(op, has(kWideVectors) ? cpu::TakesBFloat16::All
                               : has(kVectors)   ? cpu::TakesBFloat16::InTiles
                                                 : cpu::TakesBFloat16::None);
}

bool CpuTarget::allowsWinograd(Operation *op) const {
  return libraries.has(cpu::kWinograd) && cpu::maySuitWinograd(op);
}

// The library is near its full rate with 256 samples, and every chunk more
// reads and writes the sum of the weights' gradient once: 2% of GPT-2's step
// against chunks of 512, for 3% of its memory.
int64_t CpuTarget::mostChunkSamples() const { return 256; }

} // namespace zc
