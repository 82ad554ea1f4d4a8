// Ways to compute one call. A rule chooses among them, or a measurement whose
// result was recorded; each rounds in its own order.
#ifndef ZC_KERNELS_CPU_WAYS_H
#define ZC_KERNELS_CPU_WAYS_H

#include "kernels/Calls/Convolution.h"
#include "kernels/Calls/Matmul.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zc::kernels {

enum class Way : uint8_t {
  Rule,           // the one that zc's rules choose
  Library,        // oneDNN's own kind of primitive
  Tiles,          // our own register tiles
  LibraryProduct, // a convolution of one tap as a product by oneDNN
  TileProduct,    // the same by tiles
  Winograd,       // a convolution of 3x3 taps at 36 frequencies
};

/// Whether a way multiplies fewer numbers than the op's definition does.
constexpr bool needsFewerProducts(Way way) { return way == Way::Winograd; }

/// "library-product".
const char *nameOf(Way way);
/// Nothing where no way is called so.
std::optional<Way> findWay(std::string_view name);

/// The ways that may be open on this processor, for the calling thread's team;
/// the rule takes the first that keeps within the workspace. Fewer than two:
/// there is no choice.
std::vector<Way> waysOf(const MatmulSpec &spec);
std::vector<Way> waysOf(const ConvolutionSpec &spec);

/// Equal for calls that compute alike in equal workspaces.
std::string keyOf(const MatmulSpec &spec, uint64_t workspaceBytes);
std::string keyOf(const ConvolutionSpec &spec, uint64_t workspaceBytes);

/// The processor's name, the instruction sets in use and the library's version:
/// measurements hold for these, and for a number of threads.
std::string describeMachine();

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_WAYS_H
