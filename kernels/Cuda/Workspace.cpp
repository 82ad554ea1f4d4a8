#include "kernels/Cuda/Workspace.h"

#include <algorithm>

namespace zc::kernels::cuda {
namespace {

// NVIDIA's recommendation for cuBLAS on Hopper.
constexpr uint64_t kMost = 32u << 20;
// Partial sums of a product that is split along K, in float32.
constexpr uint64_t kSplits = 16;
// Where libraries take a workspace from; buffers may begin between two such.
constexpr uint64_t kAlignment = 256;

uint64_t elements(const StridedTensor &tensor) {
  uint64_t count = 1;
  for (int64_t dim : tensor.dims)
    count *= static_cast<uint64_t>(dim);
  return count;
}

uint64_t withRoom(uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment;
}

} // namespace

uint64_t matmulWorkspaceBound(const MatmulSpec &spec) {
  return withRoom(std::min(kMost, kSplits * 4 * elements(spec.c)));
}

/// Enough for a copy of every tensor in the library's own layout, within
/// limits: implicit algorithms need far less, Winograd's about as much.
uint64_t convolutionWorkspaceBound(const ConvolutionSpec &spec) {
  uint64_t all = elements(spec.source) + elements(spec.filter) +
                 elements(spec.destination);
  return withRoom(std::min(8 * kMost, 4 * all + (1u << 20)));
}

/// The gradient of q is added up in float32, twice at most, beside a number a
/// query; the rest is the library's own, for tens of thousands of tiles.
uint64_t attentionWorkspaceBound(const AttentionSpec &spec) {
  uint64_t queries = uint64_t(spec.batch * spec.heads * spec.queries);
  uint64_t sums =
      spec.backward ? 4 * queries * (2 * uint64_t(spec.width) + 1) : 0;
  return withRoom(sums + kMost);
}

/// Two sums per team and channel in float32, and what teams wait for each other
/// with. Teams are as many as multiprocessors (132 of an H200: 1056 bytes a
/// channel), or some times as many with a part of the channels each.
uint64_t normWorkspaceBound(const NormSpec &spec) {
  constexpr uint64_t kSums = 4096, kRest = 4u << 20;
  return withRoom(kSums * uint64_t(spec.image.dims[1]) + kRest);
}

} // namespace zc::kernels::cuda
