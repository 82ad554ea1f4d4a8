// Files in which one tensor stands for several, because their values were equal
// when the file was written.
#ifndef ZC_COMPILER_ONNXMODEL_SEPARATETENSORS_H
#define ZC_COMPILER_ONNXMODEL_SEPARATETENSORS_H

#include "compiler/OnnxModel/ModelFile.h"

namespace zc {

/// PyTorch's TorchScript exporter merges equal tensors, and names the others by
/// Identity nodes: "ln2.bias" is Identity of "ln1.bias". Where all elements are
/// equal, as in a fresh module, such a node becomes an initializer of its own
/// again; other equal weights are tied. Notes those in `file.parted`.
llvm::Error partMergedWeights(ModelFile &file);

/// A running mean or variance that is a scale or a bias too becomes an
/// initializer of its own: a run writes into it.
void separateStatistics(ModelFile &file);

} // namespace zc

#endif
