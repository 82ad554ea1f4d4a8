#include "compiler/Import/Metadata.h"

#include "compiler/OnnxModel/PythonList.h"
#include "dialects/Onnx/OnnxDialect.h"

using namespace zc;

constexpr llvm::StringLiteral kScopes = "pkg.torch.onnx.name_scopes";
constexpr llvm::StringLiteral kKind =
    "pkg.torch.export.graph_signature.InputSpec.kind";
constexpr llvm::StringLiteral kCall = "pkg.torch.onnx.fx_node";

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

// "... = call_function[target=torch.ops.aten.embedding.default](args = (%w, %x,
// 0), kwargs = {})" -> {"%w", "%x", "0"} for the target "aten.embedding".
static std::vector<llvm::StringRef> callArguments(const proto::NodeProto &node,
                                                  llvm::StringRef target) {
  for (const proto::StringStringEntryProto &entry : node.metadata_props()) {
    llvm::StringRef call = entry.value();
    if (entry.key() != kCall ||
        !call.contains(("[target=torch.ops." + target + ".").str()))
      continue;
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef list = call.split("](args = (").second.split(')').first;
    list.split(parts, ',');
    std::vector<llvm::StringRef> arguments;
    for (llvm::StringRef part : parts)
      arguments.push_back(part.trim());
    return arguments;
  }
  return {};
}

std::vector<NumberAttribute>
zc::readTorchAttributes(const proto::NodeProto &node) {
  struct Meaning {
    llvm::StringLiteral op, target;
    size_t argument;
    llvm::StringLiteral name;
  };
  static const Meaning meanings[] = {
      {"Gather", "aten.embedding", 2, zc::onnx::kPaddingIndex},
      {"SoftmaxCrossEntropyLoss", "aten.cross_entropy_loss", 5,
       zc::onnx::kLabelSmoothing},
      {"Dropout", "aten.scaled_dot_product_attention", 4,
       zc::onnx::kDropoutRatio},
  };
  std::vector<NumberAttribute> attributes;
  for (const Meaning &meaning : meanings) {
    if (meaning.op != node.op_type())
      continue;
    std::vector<llvm::StringRef> arguments =
        callArguments(node, meaning.target);
    double number;
    if (arguments.size() > meaning.argument &&
        !arguments[meaning.argument].getAsDouble(number))
      attributes.push_back({meaning.name.str(), number});
  }
  return attributes;
}

bool zc::isDetached(const proto::NodeProto &node) {
  return node.op_type() == "Identity" &&
         !callArguments(node, "aten.detach").empty();
}

bool zc::isOfEvaluation(const proto::NodeProto &node) {
  if (node.op_type() != "BatchNormalization")
    return false;
  // The TorchScript exporter writes the mode in either; the other in neither.
  for (const proto::AttributeProto &attribute : node.attribute())
    if (attribute.name() == "training_mode")
      return attribute.i() == 0;
  return !callArguments(node, "aten._native_batch_norm_legit_no_training")
              .empty();
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
