// Nodes that are calls: of the model's own functions, of operators that ONNX
// defines by other operators, and branches whose condition is known.
#include "compiler/Import/Contrib/ContribOperators.h"
#include "compiler/Import/GraphImporter.h"
#include "dialects/Onnx/Location.h"

using namespace mlir;
using namespace zc;

// Functions may not call themselves, which ONNX's checker has made sure of;
// this bounds definitions of operators.
constexpr unsigned kMaxDepth = 64;

static std::string getCallName(const proto::NodeProto &call) {
  if (!call.name().empty())
    return call.name();
  for (const std::string &output : call.output())
    if (!output.empty())
      return output;
  return call.op_type();
}

// The body's nodes say where the call stands: its module and its name before
// theirs.
void GraphImporter::importBody(const proto::FunctionProto &body,
                               const proto::NodeProto &call,
                               const Outputs &inputs, Scope &scope) {
  Scope inner;
  inner.parent = &stored;
  inner.depth = scope.depth + 1;
  inner.prefix = scope.prefix + getCallName(call) + "/";
  inner.module = getModulePath(call);
  if (inner.module.empty())
    inner.module = scope.module;
  inner.opsets = scope.opsets;
  for (const proto::OperatorSetIdProto &opset : body.opset_import())
    inner.opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] =
        opset.version();
  for (const proto::AttributeProto &attribute : body.attribute_proto())
    inner.attributes[attribute.name()] = &attribute; // defaults
  for (const proto::AttributeProto &attribute : call.attribute())
    inner.attributes[attribute.name()] = &attribute;
  for (int i = 0; i < body.input_size(); ++i)
    define(body.input(i),
           i < int(inputs.size()) ? inputs[i]
                                  : makeValue(ImportedValue::Absent, ""),
           inner);
  importNodes(body.node(), inner);
  for (int i = 0; i < std::min(body.output_size(), call.output_size()); ++i)
    define(call.output(i), lookUp(body.output(i), inner), scope);
}

bool GraphImporter::expandLocalFunction(const proto::NodeProto &node,
                                        const Outputs &inputs, Scope &scope) {
  auto function = functions.find(node.domain() + ":" + node.op_type() + ":" +
                                 node.overload());
  if (function == functions.end() || scope.depth > kMaxDepth)
    return false;
  importBody(*function->second, node, inputs, scope);
  return true;
}

// Operators of ONNX Runtime's optimizers: the file keeps them, zc computes
// what they are made of.
bool GraphImporter::expandContribOperator(const proto::NodeProto &node,
                                          const Outputs &inputs, Scope &scope) {
  ContribBody build = findContribBody(node);
  if (!build)
    return false;
  std::vector<const proto::TypeProto *> types;
  for (ImportedValue *input : inputs) {
    if (input->kind == ImportedValue::Unknown) {
      defineUnknown(node, scope); // reported where it is computed
      return true;
    }
    if (input->kind == ImportedValue::Sequence) {
      emitFailure(getLocation(node, scope))
          << "takes a sequence, expected tensors";
      defineUnknown(node, scope);
      return true;
    }
    types.push_back(input->kind == ImportedValue::Tensor ? &input->type
                                                         : nullptr);
  }
  ContribCall call(node, std::move(types));
  if (llvm::Error error = build(call)) {
    emitFailure(getLocation(node, scope)) << llvm::toString(std::move(error));
    defineUnknown(node, scope);
    return true;
  }
  importBody(madeBodies.emplace_back(call.take()), node, inputs, scope);
  return true;
}

// ONNX's definitions refer to attributes of the call, which may leave out those
// that have a default value.
static proto::NodeProto addDefaults(const proto::OpSchema &schema,
                                    proto::NodeProto call) {
  for (const auto &[name, attribute] : schema.attributes()) {
    auto isThis = [&name = name](const proto::AttributeProto &given) {
      return given.name() == name;
    };
    if (attribute.default_value.has_name() &&
        llvm::none_of(call.attribute(), isThis))
      *call.add_attribute() = attribute.default_value;
  }
  return call;
}

bool GraphImporter::expandDefinition(const proto::OpSchema &schema,
                                     const proto::NodeProto &original,
                                     const Outputs &inputs, Scope &scope) {
  if (scope.depth > kMaxDepth)
    return false;
  const proto::NodeProto &node =
      madeNodes.emplace_back(addDefaults(schema, original));
  int version = scope.opsets[node.domain()];
  if (const proto::FunctionProto *body = schema.GetFunction(version)) {
    importBody(*body, node, inputs, scope);
    return true;
  }
  if (!schema.HasContextDependentFunction())
    return false;
  std::vector<proto::TypeProto> types;
  for (ImportedValue *input : inputs)
    types.push_back(input->type);
  proto::FunctionBodyBuildContextImpl types_of_call(node, types);
  proto::FunctionProto &body = madeBodies.emplace_back();
  if (!schema.BuildContextDependentFunction(types_of_call, body, version))
    return false;
  importBody(body, node, inputs, scope);
  return true;
}

// An If whose condition is known is its branch.
void GraphImporter::importIf(const proto::NodeProto &node,
                             const Outputs &inputs, Scope &scope) {
  Location location = getLocation(node, scope);
  if (!inputs[0]->constant || !inputs[0]->foldable) {
    emitFailure(location)
        << "chooses a branch by a value that is not known "
           "before the run; zc's schedules have no branches. "
           "--input-value INPUT=NUMBER fixes what an input of "
           "one element always is";
    return defineUnknown(node, scope);
  }
  bool condition = inputs[0]->constant->getInt(0);
  for (const proto::AttributeProto &attribute : node.attribute()) {
    if (attribute.name() != (condition ? "then_branch" : "else_branch"))
      continue;
    if (attribute.g().output_size() < node.output_size()) {
      emitFailure(location)
          << attribute.name() << " gives " << attribute.g().output_size()
          << (attribute.g().output_size() == 1 ? " output" : " outputs")
          << ", expected " << node.output_size() << ", as many as the node";
      return defineUnknown(node, scope);
    }
    Scope branch;
    branch.parent = &scope;
    branch.attributes = scope.attributes;
    branch.opsets = scope.opsets;
    branch.prefix = scope.prefix;
    branch.module = scope.module;
    branch.depth = scope.depth;
    importNodes(attribute.g().node(), branch);
    for (int i = 0; i < node.output_size(); ++i)
      define(node.output(i), lookUp(attribute.g().output(i).name(), branch),
             scope);
  }
}
