#include "compiler/OnnxModel/ModelWeights.h"

#include "compiler/OnnxModel/ModelFile.h"

#include "llvm/ADT/StringSet.h"

using namespace zc;

namespace {
class WeightFinder {
public:
  explicit WeightFinder(proto::ModelProto &model) : model(model) {}
  std::vector<ModelWeight> run();

private:
  using Nodes = google::protobuf::RepeatedPtrField<proto::NodeProto>;

  void takeNames(const proto::GraphProto &graph);
  void addGraph(proto::GraphProto &graph, bool isInner);
  void addNodes(Nodes &nodes, const std::string &prefix, bool isInner);
  void addConstant(proto::NodeProto &node, const std::string &prefix,
                   bool isInner);
  std::string getUnique(const std::string &name, bool isInner);

  proto::ModelProto &model;
  llvm::StringSet<> taken;
  std::vector<ModelWeight> weights;
};
} // namespace

// The graph's own names are unique already, and come first.
void WeightFinder::takeNames(const proto::GraphProto &graph) {
  for (const proto::ValueInfoProto &input : graph.input())
    taken.insert(input.name());
  for (const proto::TensorProto &tensor : graph.initializer())
    taken.insert(tensor.name());
  for (const proto::NodeProto &node : graph.node())
    for (const std::string &output : node.output())
      taken.insert(output);
}

std::string WeightFinder::getUnique(const std::string &name, bool isInner) {
  std::string unique = name;
  for (unsigned i = 1; isInner && !taken.insert(unique).second; ++i)
    unique = name + "." + std::to_string(i);
  return unique;
}

void WeightFinder::addConstant(proto::NodeProto &node,
                               const std::string &prefix, bool isInner) {
  if (node.attribute_size() != 1 || node.output_size() != 1)
    return;
  proto::AttributeProto &attribute = *node.mutable_attribute(0);
  bool isTensor = attribute.name() == "value" && attribute.has_t() &&
                  isFloatType(attribute.t().data_type());
  bool isNumbers =
      attribute.name() == "value_float" || attribute.name() == "value_floats";
  if (!attribute.ref_attr_name().empty() || (!isTensor && !isNumbers))
    return;
  ModelWeight &weight = weights.emplace_back();
  weight.local = node.output(0);
  weight.name = getUnique(prefix + weight.local, isInner);
  weight.constant = &node;
  weight.tensor = isTensor ? attribute.mutable_t() : nullptr;
  weight.isInner = isInner;
}

void WeightFinder::addNodes(Nodes &nodes, const std::string &prefix,
                            bool isInner) {
  for (proto::NodeProto &node : nodes) {
    if (node.op_type() == "Constant" &&
        (node.domain().empty() || node.domain() == "ai.onnx"))
      addConstant(node, prefix, isInner);
    for (proto::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_g())
        addGraph(*attribute.mutable_g(), true);
      for (proto::GraphProto &graph : *attribute.mutable_graphs())
        addGraph(graph, true);
    }
  }
}

void WeightFinder::addGraph(proto::GraphProto &graph, bool isInner) {
  for (proto::TensorProto &tensor : *graph.mutable_initializer()) {
    ModelWeight &weight = weights.emplace_back();
    weight.local = tensor.name();
    weight.name = getUnique(weight.local, isInner);
    weight.graph = &graph;
    weight.tensor = &tensor;
    weight.isInner = isInner;
  }
  addNodes(*graph.mutable_node(), "", isInner);
}

std::vector<ModelWeight> WeightFinder::run() {
  takeNames(model.graph());
  addGraph(*model.mutable_graph(), false);
  for (proto::FunctionProto &function : *model.mutable_functions())
    addNodes(*function.mutable_node(), function.name() + "/", true);
  return std::move(weights);
}

std::vector<ModelWeight> zc::findWeights(proto::ModelProto &model) {
  return WeightFinder(model).run();
}

proto::TensorProto &zc::getTensor(ModelWeight &weight) {
  if (weight.tensor)
    return *weight.tensor;
  proto::AttributeProto &attribute = *weight.constant->mutable_attribute(0);
  proto::TensorProto tensor;
  tensor.set_data_type(proto::TensorProto::FLOAT);
  if (attribute.name() == "value_float") {
    tensor.add_float_data(attribute.f());
  } else {
    tensor.add_dims(attribute.floats_size());
    *tensor.mutable_float_data() = attribute.floats();
  }
  attribute.Clear();
  attribute.set_name("value");
  attribute.set_type(proto::AttributeProto::TENSOR);
  weight.tensor = attribute.mutable_t();
  *weight.tensor = std::move(tensor);
  return *weight.tensor;
}
