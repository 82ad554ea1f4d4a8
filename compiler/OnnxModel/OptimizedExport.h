// Undoes rewrites of PyTorch's default optimize=True, as far as possible.
#ifndef ZC_COMPILER_ONNXMODEL_OPTIMIZEDEXPORT_H
#define ZC_COMPILER_ONNXMODEL_OPTIMIZEDEXPORT_H

#include "compiler/OnnxModel/ModelFile.h"

namespace zc {

/// The exporter's optimizer stores the weight of a Linear transposed and
/// anonymous ("val_3"), and says where it is from. Each such initializer
/// becomes the author's again: his name, his dims, and a Transpose node that
/// computes "val_3" from it. One that is the copy of an initializer which is
/// still there becomes a node of that one: tied weights are tied again.
llvm::Error restoreWeights(ModelFile &file);

/// Whether the exporter's optimizer has changed the graph.
bool isOptimizedExport(const proto::GraphProto &graph);

} // namespace zc

#endif
