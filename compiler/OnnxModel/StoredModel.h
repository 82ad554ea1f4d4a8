// The model inside an artifact: the author's graph, whose big and trained
// tensors lie in the artifact's weights.safetensors.
#ifndef ZC_COMPILER_ONNXMODEL_STOREDMODEL_H
#define ZC_COMPILER_ONNXMODEL_STOREDMODEL_H

#include "compiler/OnnxModel/ModelFile.h"

#include <functional>
#include <set>

namespace zc {

/// The `location` of tensors that lie in the artifact's weights.safetensors;
/// the entry `key` of their external data says under which name.
constexpr std::string_view kInsideArtifact = "weights.safetensors";

/// Keys that begin so have no bytes anywhere: nothing computes with the tensor,
/// and the model came without its data.
constexpr llvm::StringLiteral kAbsentKey = "absent:";

/// A tensor that only the model needs.
struct ModelTensor {
  std::string key;
  int32_t dataType = 0;
  std::vector<int64_t> dims;
  TensorSource source;
};

struct StoredModel {
  std::string graph; // a serialized ModelProto
  std::vector<ModelTensor> tensors;
  std::set<std::string> placed; // keys of states that the graph has tensors for
};

/// Prepares `file` for the artifact. `getState` gives for a weight's name (see
/// findWeights) the key under which its bytes are stored anyway, "" if they are
/// not. Small tensors stay inline.
llvm::Expected<StoredModel>
makeStoredModel(ModelFile file,
                const std::function<std::string(llvm::StringRef)> &getState);

/// The key of a tensor that lies in the artifact; nothing for an inline one.
std::optional<std::string> getArtifactKey(const proto::TensorProto &tensor);

} // namespace zc

#endif
