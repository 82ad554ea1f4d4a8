// A tensor without its zeros: a bit an element, and the others' values one
// after the other, in blocks whose values lie together. Only +0 has no value,
// so that the tensor comes back bit for bit.
#ifndef ZC_KERNELS_CPU_SPARSEBLOCK_H
#define ZC_KERNELS_CPU_SPARSEBLOCK_H

#include "kernels/Calls/Sparse.h"

namespace zc::kernels {

/// The operands of one block's functions: `count` elements of `dense`, at most
/// kSparseBlock of them, and the bytes of their bits, count / 8 rounded up.
struct SparseBlock {
  void *dense;
  uint8_t *bits;
  int64_t count;
};

/// The functions of one instruction set for elements of one size.
struct SparseFunctions {
  /// Writes the bits; returns how many are set.
  int64_t (*findBits)(const SparseBlock &block);
  /// Writes the values that the bits name to `values`, and nothing behind them.
  void (*pack)(const SparseBlock &block, void *values);
  /// Writes the block's elements from its bits and values, of which there are
  /// `available`; reads nothing behind them.
  void (*unpack)(const SparseBlock &block, const void *values,
                 int64_t available);
};

// Elements of 2 or 4 bytes.
namespace baseline {
SparseFunctions sparseFunctions(int64_t elementBytes);
}
namespace avx2 {
SparseFunctions sparseFunctions(int64_t elementBytes);
}
namespace avx512 {
SparseFunctions sparseFunctions(int64_t elementBytes);
}

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_SPARSEBLOCK_H
