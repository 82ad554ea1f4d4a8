// Rewrites variants that ONNX allows, or that exporters write although it does
// not, into the one form that the rest of zc handles.
#ifndef ZC_COMPILER_ONNXMODEL_TIDYMODEL_H
#define ZC_COMPILER_ONNXMODEL_TIDYMODEL_H

#include "compiler/OnnxModel/ModelFile.h"

namespace zc {

/// Nodes in an order in which each comes after those that it needs, as ONNX
/// asks for; those of a circle stay where they are.
void sortNodes(proto::GraphProto &graph);

/// Sparse initializers and the values of Constant nodes become dense ones.
llvm::Error makeDense(ModelFile &file);

/// Outputs without a shape get the one that ONNX infers, where it can.
void inferOutputShapes(proto::ModelProto &model);

} // namespace zc

#endif
