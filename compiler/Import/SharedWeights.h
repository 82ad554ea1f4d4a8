// Weights that serve several layers although nobody meant them to.
#ifndef ZC_COMPILER_IMPORT_SHAREDWEIGHTS_H
#define ZC_COMPILER_IMPORT_SHAREDWEIGHTS_H

#include "dialects/Onnx/OnnxDialect.h"
#include <string>

namespace zc {

/// Warns of trained biases, scales and slopes that whoever wrote the file has
/// merged, because their values were equal. Their sources lie in `folder`.
/// Files that give kinds tell by themselves (isOptimizedExport).
void warnOfMergedWeights(onnx::GraphOp graph, const std::string &folder);

} // namespace zc

#endif
