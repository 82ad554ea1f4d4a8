//===- CudaTarget.cpp -----------------------------------------------------===//
#include "passes/Target/Cuda/CudaTarget.h"

#include "passes/Target/Cuda/LibraryPatterns.h"

using namespace mlir;

namespace zc {

bool CudaTarget::isArch(StringRef text) {
  int version;
  return text.consume_front("sm_") && !text.starts_with("0") &&
         !text.getAsInteger(10, version) && version >= 80 && version < 1000;
}

StringRef CudaTarget::libraryFor(Operation *op) const {
  return cuda::libraryFor(op, libraries);
}

bool CudaTarget::needsFloat32(Operation *op) const {
  return cuda::needsFloat32(op, libraries);
}

// GPUs want larger products than CPUs, and have many times the FLOPs for a
// byte of the sum of the weights' gradient.
int64_t CudaTarget::mostChunkSamples() const { return 4096; }

// An H100 at two thirds of its peaks in bfloat16, HBM and PCIe 5, by NVIDIA's
// data sheets; kernels of one graph.
const MachineRates &CudaTarget::rates() const {
  static constexpr MachineRates kRates = {6e14, 2.2e12, /*copy=*/{1e-5, 4e10},
                                          2e-6};
  return kRates;
}

// NVLink, by rings.
ArrayRef<MachineLink> CudaTarget::links() const {
  static constexpr MachineLink kLinks[] = {{1 << 30, {2e-5, 2e11}}};
  return kLinks;
}

} // namespace zc
