// Where the bytes of a stored tensor lie.
#ifndef ZC_COMPILER_ONNXMODEL_TENSORSOURCE_H
#define ZC_COMPILER_ONNXMODEL_TENSORSOURCE_H

#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace zc {

struct TensorSource {
  std::string file; // relative to the model's folder
  uint64_t offset = 0;
  uint64_t length = 0;
  /// The bytes are those of the transposed matrix.
  bool transposed = false;
};

/// Reads exactly `source.length` bytes, as they are stored.
llvm::Expected<std::string> readSource(const std::string &folder,
                                       const TensorSource &source);

/// The elements, of `width` bytes each, of a matrix of `rows` rows in the order
/// of the transposed matrix.
std::string transposeBytes(llvm::StringRef bytes, uint64_t rows,
                           uint64_t width);

} // namespace zc

#endif
