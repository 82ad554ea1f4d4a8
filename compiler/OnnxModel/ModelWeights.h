// Finds the tensors of a file that could be weights, and their names: exporters
// store them as initializers, of the graph or of a branch or loop body, or as
// the values of Constant nodes.
#ifndef ZC_COMPILER_ONNXMODEL_MODELWEIGHTS_H
#define ZC_COMPILER_ONNXMODEL_MODELWEIGHTS_H

#include "compiler/OnnxModel/Proto.h"
#include <string>
#include <vector>

namespace zc {

/// An initializer of any type, or a Constant node of floating-point numbers.
struct ModelWeight {
  /// The value's own name where that is unique in the model; else with a number
  /// behind it. A function's name stands before those of its values. Equal for
  /// every reading of the file.
  std::string name;
  /// How nodes beside it call it.
  std::string local;
  proto::GraphProto *graph = nullptr;   // that has the initializer
  proto::NodeProto *constant = nullptr; // or the Constant node
  proto::TensorProto *tensor = nullptr; // null: a Constant of bare numbers
  /// In a branch, a loop's body or a function.
  bool isInner = false;
};

std::vector<ModelWeight> findWeights(proto::ModelProto &model);

/// The tensor of `weight`; of bare numbers (`value_floats`) it is made first.
proto::TensorProto &getTensor(ModelWeight &weight);

} // namespace zc

#endif
