//===- CudaTarget.cpp -----------------------------------------------------===//
#include "passes/Target/Cuda/CudaTarget.h"

#include "passes/Target/Cuda/LibraryPatterns.h"

using namespace mlir;

namespace zc {

StringRef CudaTarget::libraryFor(Operation *op) const {
  return cuda::libraryFor(op, libraries);
}

bool CudaTarget::needsFloat32(Operation *op) const {
  return cuda::needsFloat32(op, libraries);
}

bool CudaTarget::fusesNorm(Operation *op) const {
  return libraries.has(cuda::kNorm) && cuda::isDnnNorm(op);
}

bool CudaTarget::fusesEpilogues() const {
  return libraries.has(cuda::kEpilogue);
}

bool CudaTarget::fusesSums() const { return libraries.has(cuda::kSums); }

bool CudaTarget::takesReluBits() const {
  return libraries.has(cuda::kReluBits);
}

// GPUs want larger products than CPUs, and have many times the FLOPs for a
// byte of the sum of the weights' gradient.
int64_t CudaTarget::mostChunkSamples() const { return 4096; }

// An H100 at two thirds of its peaks in bfloat16, HBM and PCIe 5, by NVIDIA's
// data sheets; NVLink by rings; kernels of one graph.
const MachineRates &CudaTarget::rates() const {
  static constexpr MachineRates kRates = {6e14, 2.2e12, /*copy=*/{1e-5, 4e10},
                                          /*link=*/{2e-5, 2e11}, 2e-6};
  return kRates;
}

} // namespace zc
