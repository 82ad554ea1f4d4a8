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
};

/// Reads exactly `source.length` bytes.
llvm::Expected<std::string> readSource(const std::string &folder,
                                       const TensorSource &source);

} // namespace zc

#endif
