// The scores behind an output that holds probabilities or labels.
#ifndef ZC_COMPILER_ONNXMODEL_SCORES_H
#define ZC_COMPILER_ONNXMODEL_SCORES_H

#include "compiler/OnnxModel/Proto.h"

namespace zc {

/// The value that Softmax, Sigmoid or ArgMax turns into the graph's output
/// `output`, or into something of which that is a copy, a part, a label or one
/// of two probabilities; empty where there is none. A loss that takes scores
/// takes this value: `--logits`.
std::string findScores(const proto::GraphProto &graph,
                       const std::string &output);

/// Whether the graph declares its output `output` as whole numbers or strings,
/// of which no loss is made.
bool holdsLabels(const proto::GraphProto &graph, const std::string &output);

} // namespace zc

#endif
