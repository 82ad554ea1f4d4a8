// The schema's element types, in the words of the formats around it.
#ifndef ZC_RUNTIME_PLAN_TYPES_H
#define ZC_RUNTIME_PLAN_TYPES_H

#include "runtime/Base/Status.h"
#include "runtime/Plan/Manifest.pb.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace zc {

/// Every state and buffer begins at a multiple of so many bytes.
constexpr uint64_t kBufferAlignment = 64;

constexpr uint64_t alignBuffer(uint64_t offset) {
  return (offset + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

/// Bytes of one element; 0 for a type that does not exist.
uint64_t elementBytes(plan::DataType type);

/// The type's name in messages: "float32", "int64", ...
const char *typeName(plan::DataType type);

/// The type's name in safetensors: "F32", "I64", ...
const char *safetensorsTypeName(plan::DataType type);

/// The type that safetensors spells so; unspecified for one we do not have.
plan::DataType dataTypeOf(std::string_view safetensorsName);

bool isInteger(plan::DataType type);

/// The type of a source's bytes, of a tensor of `type`.
plan::TensorType storedTypeOf(const plan::WeightSource &source,
                              const plan::TensorType &type);

/// The number of elements, or nothing when it overflows or a dim is negative.
Result<uint64_t> elementCount(const plan::TensorType &type);

/// The number of bytes, or nothing when it overflows or the type is bad.
Result<uint64_t> byteCount(const plan::TensorType &type);

/// "float32 [4, 8]", for messages.
std::string printType(const plan::TensorType &type);

/// "[4, 8]", for messages.
template <typename List> std::string printDims(const List &dims) {
  std::string text = "[";
  for (auto dim : dims)
    text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

/// Whether checkpoints hold the state as one of the model's tensors: it is
/// trained, or was drawn by the run and is stored nowhere else.
bool isModelState(const plan::State &state);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_TYPES_H
