#include "compiler/Import/Metadata.h"

#include "compiler/OnnxModel/PythonList.h"

using namespace zc;

constexpr llvm::StringLiteral kScopes = "pkg.torch.onnx.name_scopes";
constexpr llvm::StringLiteral kKind =
    "pkg.torch.export.graph_signature.InputSpec.kind";

// PyTorch lists the modules from the root to the innermost, then the call.
std::string zc::getModulePath(const proto::NodeProto &node) {
  for (const proto::StringStringEntryProto &entry : node.metadata_props()) {
    if (entry.key() != kScopes)
      continue;
    std::vector<std::string> scopes = parsePythonList(entry.value());
    if (scopes.size() >= 2)
      return scopes[scopes.size() - 2];
  }
  return "";
}

TensorMetadata zc::readTensorMetadata(const proto::GraphProto &graph) {
  TensorMetadata metadata;
  auto read = [&](const std::string &name, const auto &properties) {
    for (const proto::StringStringEntryProto &entry : properties) {
      if (entry.key() == kKind) {
        // Some versions write the enumerator as "InputKind.PARAMETER".
        llvm::StringRef kind = entry.value();
        metadata.kinds[name] = kind.substr(kind.rfind('.') + 1).str();
      }
    }
  };
  for (const proto::ValueInfoProto &value : graph.value_info())
    read(value.name(), value.metadata_props());
  for (const proto::ValueInfoProto &value : graph.input())
    read(value.name(), value.metadata_props());
  for (const proto::TensorProto &tensor : graph.initializer())
    read(tensor.name(), tensor.metadata_props());
  return metadata;
}
