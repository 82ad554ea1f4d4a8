// What exporters write beside the graph: PyTorch's module paths and the kinds
// of its tensors.
#ifndef ZC_COMPILER_IMPORT_METADATA_H
#define ZC_COMPILER_IMPORT_METADATA_H

#include "compiler/OnnxModel/Proto.h"
#include "llvm/ADT/StringMap.h"
#include <string>

namespace zc {

/// The innermost module of the node ("layers.0.conv"), or "" at the root or
/// when the file does not say.
std::string getModulePath(const proto::NodeProto &node);

struct TensorMetadata {
  llvm::StringMap<std::string>
      kinds; // by value name: "PARAMETER", "BUFFER" ...
};

TensorMetadata readTensorMetadata(const proto::GraphProto &graph);

} // namespace zc

#endif
