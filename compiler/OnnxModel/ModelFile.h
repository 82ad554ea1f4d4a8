// An ONNX file, read without its weights.
#ifndef ZC_COMPILER_ONNXMODEL_MODELFILE_H
#define ZC_COMPILER_ONNXMODEL_MODELFILE_H

#include "compiler/OnnxModel/Proto.h"
#include "compiler/OnnxModel/TensorSource.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zc {

struct ModelFile {
  std::string path;   // as the user wrote it
  std::string folder; // of `path`; "." for the current one
  std::string name;   // the last part of `path`, for diagnostics
  // Every tensor of more than kInlineBytes bytes is external data, checked to
  // lie inside the model's folder and file.
  proto::ModelProto model;
  /// Weights that the exporter had merged with equal ones.
  std::vector<std::string> parted;
};

/// Whether initializers may name external files that do not exist.
enum class AbsentData { Refused, Allowed };

/// Reads and checks `path`: a serialized model, or ONNX's text syntax
/// (.onnxtext, .onnxtxt), or protobuf's (.textproto, .pbtxt, .prototxt).
llvm::Expected<ModelFile>
readModelFile(const std::string &path, AbsentData absent = AbsentData::Refused);

/// Whether the tensor's external file did not exist when the model was read.
bool isAbsent(const proto::TensorProto &tensor);

/// Runs ONNX's checker, but for external data, which it takes as given.
llvm::Error checkModel(proto::ModelProto model);

/// Bytes of one element as zc holds it, or 0 for types that it does not hold.
uint64_t getElementBytes(int32_t dataType);

/// Bits of one element where a file packs several in a byte, the first in the
/// low bits; else 0.
unsigned getPackedBits(int32_t dataType);

/// "float", "int64": how ONNX names the type.
std::string getTypeName(int32_t dataType);

bool isFloatType(int32_t dataType);

/// Where an external tensor's bytes are; nothing for an inline or absent one.
std::optional<TensorSource> getSource(const ModelFile &file,
                                      const proto::TensorProto &tensor);

/// The elements of an inline or external tensor as little-endian bytes; bool
/// takes one byte an element.
llvm::Expected<std::string> readTensorBytes(const ModelFile &file,
                                            const proto::TensorProto &tensor);

} // namespace zc

#endif
