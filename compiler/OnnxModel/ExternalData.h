// Tensors whose bytes lie outside the ModelProto.
#ifndef ZC_COMPILER_ONNXMODEL_EXTERNALDATA_H
#define ZC_COMPILER_ONNXMODEL_EXTERNALDATA_H

#include "compiler/OnnxModel/ModelFile.h"
#include <functional>

namespace zc {

/// Calls `visit` on every tensor of the model: initializers and attributes, in
/// subgraphs and functions too.
void forEachTensor(proto::ModelProto &model,
                   const std::function<void(proto::TensorProto &)> &visit);

/// Fails when external data leaves the model's folder (absolute, "..", symbolic
/// links), is missing, does not lie inside its file or has another size than
/// its tensor. All tensors or files concerned are named. With
/// AbsentData::Allowed, initializers of the graph whose file does not exist are
/// marked (isAbsent) instead.
llvm::Error checkExternalData(ModelFile &file,
                              AbsentData absent = AbsentData::Refused);

/// The number of bytes that the tensor's type and dims say; nothing when its
/// type has no fixed size, a dim is negative or the product overflows.
std::optional<uint64_t> getTensorBytes(const proto::TensorProto &tensor);

/// Adds an entry to what says where the tensor's bytes lie.
void addExternalEntry(proto::TensorProto &tensor, llvm::StringRef key,
                      std::string value);

/// Takes the tensor's elements away, and all that says where they lie.
void clearTensorData(proto::TensorProto &tensor);

/// Says that a tensor of two dims is stored transposed in its external file.
void markTransposed(proto::TensorProto &tensor);

} // namespace zc

#endif
