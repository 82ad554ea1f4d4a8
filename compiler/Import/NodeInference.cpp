#include "compiler/Import/NodeInference.h"

#include "compiler/Import/Types.h"

#include "onnx/defs/shape_inference.h"
#include "llvm/ADT/StringRef.h"
#include <map>

using namespace zc;

namespace {

// All that is known about operands is their static types and some values, so
// neither symbols nor subgraphs nor sparse tensors occur.
class NodeContext : public proto::InferenceContext {
public:
  NodeContext(const proto::OpSchema &schema, const proto::NodeProto &node,
              llvm::ArrayRef<OperandFacts> operands)
      : schema(schema), node(node), operands(operands),
        results(node.output_size()) {}

  const proto::AttributeProto *
  getAttribute(const std::string &name) const override {
    for (const proto::AttributeProto &attribute : node.attribute())
      if (attribute.name() == name)
        return &attribute;
    // ONNX's own inference of some operators forgets the default value.
    auto known = schema.attributes().find(name);
    if (known != schema.attributes().end() &&
        known->second.default_value.has_name())
      return &known->second.default_value;
    return nullptr;
  }
  size_t getNumInputs() const override { return operands.size(); }
  const proto::TypeProto *getInputType(size_t index) const override {
    return index < operands.size() ? operands[index].type : nullptr;
  }
  const proto::TensorProto *getInputData(size_t index) const override {
    if (index >= operands.size() || !operands[index].value)
      return nullptr;
    auto [entry, isNew] = data.try_emplace(index);
    if (isNew)
      entry->second = makeTensor(*operands[index].value);
    return &entry->second;
  }
  size_t getNumOutputs() const override { return results.size(); }
  proto::TypeProto *getOutputType(size_t index) override {
    return &results.at(index);
  }
  proto::GraphInferencer *
  getGraphAttributeInferencer(const std::string &) override {
    return nullptr;
  }
  const proto::SparseTensorProto *getInputSparseData(size_t) const override {
    return nullptr;
  }
  const proto::TensorShapeProto *getSymbolicInput(size_t) const override {
    return nullptr;
  }
  std::string getDisplayName() const override { return node.name(); }

  std::vector<proto::TypeProto> takeResults() { return std::move(results); }

private:
  const proto::OpSchema &schema;
  const proto::NodeProto &node;
  llvm::ArrayRef<OperandFacts> operands;
  std::vector<proto::TypeProto> results;
  mutable std::map<size_t, proto::TensorProto> data; // made when asked for
};

} // namespace

// ONNX's messages begin with "[ShapeInferenceError] " and the like and carry
// details on further lines.
static std::string cleanMessage(llvm::StringRef message) {
  message = message.trim().split('\n').first;
  if (message.consume_front("["))
    message = message.split(']').second;
  return message.trim().rtrim('.').str();
}

llvm::Expected<std::vector<proto::TypeProto>>
zc::inferResultTypes(const proto::OpSchema &schema,
                     const proto::NodeProto &node,
                     llvm::ArrayRef<OperandFacts> operands) {
  NodeContext context(schema, node, operands);
  try {
    schema.GetTypeAndShapeInferenceFunction()(context);
    schema.CheckInputOutputType(context);
  } catch (const std::exception &error) {
    return llvm::createStringError(cleanMessage(error.what()));
  }
  return context.takeResults();
}
