// Matrix products by cuBLASLt.
#ifndef ZC_RUNTIME_DEVICE_CUDA_MATMUL_H
#define ZC_RUNTIME_DEVICE_CUDA_MATMUL_H

#include "runtime/Device/Cuda/AlgorithmChoice.h"
#include "runtime/Device/Cuda/Executables.h"

namespace zc::cuda {

/// One handle of the library, and the algorithms that were found quickest.
class Matmuls {
public:
  /// `stream`: algorithms are measured on it; else the first in the library's
  /// ranking is taken.
  static Result<std::unique_ptr<Matmuls>>
  open(const Driver &driver, CUstream stream, AlgorithmChoice choice);
  virtual ~Matmuls() = default;

  /// Measures the library's candidates for a product of this form, once a
  /// form. Writes over the result.
  virtual ExecutableResult make(const kernels::MatmulLaunch &launch) = 0;
};

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_MATMUL_H
