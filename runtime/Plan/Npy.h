// NumPy's array format, versions 1 to 3.
#ifndef ZC_RUNTIME_PLAN_NPY_H
#define ZC_RUNTIME_PLAN_NPY_H

#include "runtime/Base/Status.h"
#include "runtime/Plan/Manifest.pb.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zc {

/// An array in row-major order; `data` points into the file or into `owned`.
struct NpyArray {
  char kind = 'f';  // 'b' bool, 'i' signed, 'u' unsigned, 'f' floating
  int itemSize = 4; // bytes of an element
  std::vector<int64_t> dims;
  std::string_view data;
  std::shared_ptr<const void> owner; // keeps `data` alive

  /// "float32 [100, 784]", for messages.
  std::string print() const;
};

/// Reads an array from the bytes of a .npy file, which `owner` keeps alive. An
/// array in Fortran's order is copied into row-major order.
Result<NpyArray> parseNpy(std::string_view bytes,
                          std::shared_ptr<const void> owner);

/// The parsed header at the beginning of the bytes of a .npy file, without its
/// data.
struct NpyHeader {
  NpyArray array; // its data are empty
  uint64_t bytes; // of the data
  bool isFortran; // they are in column-major order
};
/// So many bytes say how long a header is, and how long it is with them.
constexpr size_t kNpyHeaderStart = 12;
Result<size_t> npyHeaderSize(std::string_view start);
Result<NpyHeader> parseNpyHeader(std::string_view header);

/// The header of a .npy file, little-endian and row-major, 64-byte aligned.
/// bfloat16, which NumPy lacks, must be written as float32.
std::string makeNpyHeader(plan::DataType type,
                          const std::vector<int64_t> &dims);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_NPY_H
