// What exporters write beside the graph: PyTorch's module paths and the kinds
// of its tensors.
#ifndef ZC_COMPILER_IMPORT_METADATA_H
#define ZC_COMPILER_IMPORT_METADATA_H

#include "compiler/OnnxModel/Proto.h"
#include "llvm/ADT/StringMap.h"
#include <string>
#include <vector>

namespace zc {

/// The innermost module of the node ("layers.0.conv"), or "" at the root or
/// when the file does not say.
std::string getModulePath(const proto::NodeProto &node);

/// An attribute that ONNX's operator lacks.
struct NumberAttribute {
  std::string name;
  double value;
};

/// What PyTorch's call says and the operator that the exporter wrote for it
/// cannot: `torch.padding_idx` of a Gather, the row of an embedding that gets
/// no gradient (negative for none), `torch.label_smoothing` of a
/// SoftmaxCrossEntropyLoss, and `torch.dropout_p` of the Dropout in an
/// attention, which the exporter writes without a training_mode.
std::vector<NumberAttribute> readTorchAttributes(const proto::NodeProto &node);

/// Whether the node is what the exporter made of PyTorch's detach().
bool isDetached(const proto::NodeProto &node);

/// Whether the node is what one of PyTorch's exporters made of batch
/// normalisation in evaluation mode.
bool isOfEvaluation(const proto::NodeProto &node);

struct TensorMetadata {
  llvm::StringMap<std::string>
      kinds; // by value name: "PARAMETER", "BUFFER" ...
};

TensorMetadata readTensorMetadata(const proto::GraphProto &graph);

} // namespace zc

#endif
