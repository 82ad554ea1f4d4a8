// Weights never enter memory: before a model is parsed, every big raw_data of
// its serialized form is replaced by a reference to where those bytes lie in
// the file, as if the author had stored them as external data.
#ifndef ZC_COMPILER_ONNXMODEL_WIREREWRITER_H
#define ZC_COMPILER_ONNXMODEL_WIREREWRITER_H

#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace zc {

/// The `location` of external data that lies inside the model file itself. No
/// file can have this name.
constexpr std::string_view kInsideModelFile = "\x01model";

/// Tensors of at most this many bytes stay inline.
constexpr uint64_t kInlineBytes = 64 * 1024;

/// The serialized ModelProto `model` with every raw_data above `threshold`
/// bytes, wherever in the model, replaced by external data of location
/// kInsideModelFile. Fails when `model` is no well-formed protobuf message.
llvm::Expected<std::string>
referenceLargeTensors(std::string_view model,
                      uint64_t threshold = kInlineBytes);

} // namespace zc

#endif
