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

} // namespace zc
