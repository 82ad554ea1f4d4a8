// Library kernels behind a plain interface: no library type and no exception
// leaves this folder.
#ifndef ZC_KERNELS_CPU_PRIMITIVE_H
#define ZC_KERNELS_CPU_PRIMITIVE_H

#include "kernels/Calls/Attention.h"
#include "kernels/Calls/Convolution.h"
#include "kernels/Calls/GroupedMatmul.h"
#include "kernels/Calls/Matmul.h"
#include "kernels/Calls/Sparse.h"
#include "kernels/Cpu/Ways.h"

#include <memory>
#include <string>

namespace zc::kernels {

/// A kernel for one spec, ready to run any number of times, by one caller at
/// a time.
class Primitive {
public:
  virtual ~Primitive() = default;

  /// Runs the kernel. `pointers` are the operands in the order of the spec
  /// (matmul: a, b, c; convolution: source, filter, destination; attention: q,
  /// k, v, result, logSumExp, then backward the result's gradient and those of
  /// q, k, v; results that nobody wants are null; sparse: the dense tensor,
  /// bits, offsets, values); `workspace` is 64-byte
  /// aligned and as large as promised at creation.
  /// Returns false and says why in `error` if the library fails.
  virtual bool execute(void *const *pointers, void *workspace,
                       std::string *error) noexcept = 0;

  /// The implementation that the library chose, for people.
  virtual std::string implementation() const = 0;

  /// Whether parts may wait for one another, so that each needs a thread of its
  /// own. For convolutions the name tells (WorkHint.cpp).
  virtual bool mayMeet() const { return false; }

  /// The part of the workspace that the kernel really uses.
  virtual uint64_t workspaceBytes() const = 0;
};

/// Creates a kernel that keeps within `workspaceBytes` of scratch memory.
/// Returns null and says why in `error` when the library has none, or the way
/// that is asked for is not open.
std::unique_ptr<Primitive> createMatmul(const MatmulSpec &spec,
                                        uint64_t workspaceBytes,
                                        std::string *error,
                                        Way way = Way::Rule) noexcept;
std::unique_ptr<Primitive> createConvolution(const ConvolutionSpec &spec,
                                             uint64_t workspaceBytes,
                                             std::string *error,
                                             Way way = Way::Rule) noexcept;
std::unique_ptr<Primitive> createAttention(const AttentionSpec &spec,
                                           uint64_t workspaceBytes,
                                           std::string *error) noexcept;

/// Operands: a, b, c, groups, ids.
std::unique_ptr<Primitive> createGroupedMatmul(const GroupedMatmulSpec &spec,
                                               uint64_t workspaceBytes,
                                               std::string *error) noexcept;

/// Encoding fails where there is no room, and says how much is needed.
std::unique_ptr<Primitive> createSparse(const SparseSpec &spec,
                                        std::string *error) noexcept;

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_PRIMITIVE_H
