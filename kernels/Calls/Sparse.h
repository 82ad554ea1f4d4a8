// Sparse tensors.
#ifndef ZC_KERNELS_CALLS_SPARSE_H
#define ZC_KERNELS_CALLS_SPARSE_H

#include "kernels/Calls/Call.h"

namespace zc::kernels {

/// Elements of a sparse tensor whose values lie together.
constexpr int64_t kSparseBlock = 4096;

/// A dense tensor of `elements`, of 2 or 4 bytes each, of which at most
/// `capacity` are not +0, as their bits [elements / 8 rounded up], where each
/// block's values begin (I64, one for each block and then how many there are),
/// and the values [capacity].
struct SparseSpec {
  bool decode = false;
  ElementType type = ElementType::F32;
  int64_t elements = 1, capacity = 1;
};

struct SparseLaunch {
  SparseSpec spec;
  void *dense, *bits, *offsets, *values;
};

/// The dense tensor to bits, offsets and values, or those to it. The call fails
/// where more elements are not +0 than there is room for.
struct SparseCall : CallRoom {
  using Spec = SparseSpec;
  using Launch = SparseLaunch;
  static constexpr const char *kName = "sparse";
  static constexpr std::string_view kOps[] = {"sparse_encode", "sparse_decode"};
  static constexpr std::array<std::string_view, 0> kAttributes = {};

  static std::string check(const LibraryCall &call);
  static Spec specOf(const LibraryCall &call);
  static Launch launch(const LibraryCall &call, const CallAddresses &addresses);
};

} // namespace zc::kernels

#endif // ZC_KERNELS_CALLS_SPARSE_H
