// PTX's instructions that a warp's threads run together on small matrices.
#ifndef ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXMATRICES_H
#define ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXMATRICES_H

#include "test/unit/runtime/Device/Cuda/PtxThread.h"

#include <functional>
#include <string>
#include <vector>

namespace zc::test {

using PtxRead = std::function<uint64_t(PtxThread &)>;

/// The registers that an instruction writes, and its operands.
struct PtxOperands {
  std::vector<size_t> written;
  std::vector<std::vector<PtxRead>> read;
};

/// The work of a whole warp at "ldmatrix" or "mma", split at its dots, or
/// nothing for another instruction or form.
PtxWarpWork makeMatrixWork(const std::vector<std::string> &parts,
                           const PtxOperands &operands);

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXMATRICES_H
