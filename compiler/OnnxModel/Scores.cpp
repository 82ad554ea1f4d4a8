#include "compiler/OnnxModel/Scores.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include <deque>

using namespace zc;
using Data = proto::TensorProto;

// Operators through which probabilities and labels pass, as the converters of
// scikit-learn, Keras and PyTorch write them.
static bool passesOn(llvm::StringRef op) {
  return llvm::is_contained({"ArrayFeatureExtractor", "Cast", "Concat",
                             "Flatten", "Gather", "Identity", "Normalizer",
                             "Reshape", "Squeeze", "Sub", "ZipMap"},
                            op);
}

static const proto::NodeProto *findProducer(const proto::GraphProto &graph,
                                            const std::string &value) {
  for (const proto::NodeProto &node : graph.node())
    if (llvm::is_contained(node.output(), value))
      return &node;
  return nullptr;
}

// z of 1 / (1 + e^-z), by the parts that scikit-learn's converter writes where
// it divides such by their sum; empty for anything else.
static std::string findLogit(const proto::GraphProto &graph,
                             std::string value) {
  for (llvm::StringRef op : {"Div", "Add", "Reciprocal", "Add", "Exp", "Mul"}) {
    const proto::NodeProto *node = findProducer(graph, value);
    if (!node || node->op_type() != op)
      return "";
    value = node->input(0);
  }
  return value;
}

std::string zc::findScores(const proto::GraphProto &graph,
                           const std::string &output) {
  std::deque<std::string> values = {output};
  llvm::StringSet<> seen;
  std::string compared; // by ArgMax, where there is nothing better
  while (!values.empty()) {
    std::string value = values.front();
    values.pop_front();
    const proto::NodeProto *node = findProducer(graph, value);
    if (!node || !seen.insert(value).second)
      continue;
    llvm::StringRef op = node->op_type();
    if (op == "Softmax" || op == "Sigmoid")
      return node->input(0);
    if (op == "ArgMax") {
      compared = node->input(0);
      if (std::string logit = findLogit(graph, compared); !logit.empty())
        return logit;
      values.push_back(compared);
    } else if (passesOn(op)) {
      values.insert(values.end(), node->input().begin(), node->input().end());
    }
  }
  return compared;
}

bool zc::holdsLabels(const proto::GraphProto &graph,
                     const std::string &output) {
  for (const proto::ValueInfoProto &each : graph.output())
    if (each.name() == output && each.type().has_tensor_type())
      return !llvm::is_contained({Data::UNDEFINED, Data::FLOAT, Data::FLOAT16,
                                  Data::BFLOAT16, Data::DOUBLE},
                                 each.type().tensor_type().elem_type());
  return false;
}
