// Helpers that the oneDNN kernels share. Private to this folder.
#ifndef ZC_KERNELS_CPU_ONEDNN_H
#define ZC_KERNELS_CPU_ONEDNN_H

#include "kernels/Spec.h"

#include <dnnl.hpp>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zc::kernels::onednn {

/// The one CPU engine; engines are cheap to share and slow to make.
dnnl::engine &cpuEngine();

/// The library's type, or `undef` where it has none.
dnnl::memory::data_type dataType(ElementType type);

/// A descriptor of the tensor as it lies; throws dnnl::error for what the
/// library cannot describe.
dnnl::memory::desc describe(const StridedTensor &tensor);

/// A memory object without memory.
dnnl::memory unbound(const dnnl::memory::desc &desc);

/// Binds `memory` to `pointer`, skipping the library's work when it already is.
void bind(dnnl::memory &memory, void *pointer);

inline uint64_t alignUp(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Whether the library computes by vectors on this processor. Built for ARM
/// without Arm's Compute Library it has plain loops, except where the vectors
/// (SVE) have 512 bits.
bool computesByVectors();

/// "f32 [4, 8] strides [8, 1]", for messages.
std::string print(const StridedTensor &tensor);

/// Operations that outlive the lists of their implementations. Before version 3
/// the library reads the operation again at each step through such a list,
/// wherever it lay when the list was made.
class KeptOperations {
public:
  template <typename Operation> const Operation &keep(Operation made) {
    auto kept = std::make_shared<const Operation>(std::move(made));
    operations.push_back(kept);
    return *kept;
  }

private:
  std::vector<std::shared_ptr<const void>> operations;
};

using Arguments = std::unordered_map<int, dnnl::memory>;

} // namespace zc::kernels::onednn

#endif // ZC_KERNELS_CPU_ONEDNN_H
