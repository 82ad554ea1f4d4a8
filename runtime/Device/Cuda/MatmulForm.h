// A product as cuBLASLt takes it: column-major matrices.
#ifndef ZC_RUNTIME_DEVICE_CUDA_MATMULFORM_H
#define ZC_RUNTIME_DEVICE_CUDA_MATMULFORM_H

#include "kernels/Calls/Matmul.h"
#include "runtime/Base/Status.h"

#include <string>
#include <utility>
#include <vector>

namespace zc::cuda {

/// A column-major matrix in memory, used as it is or transposed.
struct ColumnMajor {
  int64_t rows, columns, leading;
  bool transposed;
  int64_t batchStride; // elements between the matrices of a batch
};

/// A row-major c = a b is the column-major c' = b' a': `left` is our b, `right`
/// our a. Batches that no single stride passes through are several calls, each
/// from its offsets (in elements) on.
struct MatmulForm {
  ColumnMajor left, right, result;
  int64_t m, n, k, batch;
  struct Offsets {
    int64_t left, right, result;
  };
  std::vector<Offsets> calls;
};

/// Fails where neither dim of a matrix is contiguous.
Result<MatmulForm> makeForm(const kernels::MatmulSpec &spec);

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_MATMULFORM_H
