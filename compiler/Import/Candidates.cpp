#include "compiler/Import/Candidates.h"

#include "compiler/Import/HostTensor.h"
#include "compiler/Import/OperatorRoles.h"
#include "compiler/Import/ParameterRule.h"
#include "compiler/Import/Types.h"
#include "compiler/OnnxModel/WireRewriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace zc;
using llvm::StringRef;

// --- What leads to what
// ----------------------------------------------------------------

// Results that are never floating-point numbers.
static bool givesNoFloats(const proto::NodeProto &node) {
  if (node.op_type() == "Cast")
    for (const proto::AttributeProto &attribute : node.attribute())
      if (attribute.name() == "to")
        return !isFloatType(attribute.i());
  return llvm::StringSwitch<bool>(node.op_type())
      .Cases({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"},
             true)
      .Cases({"And", "Or", "Not", "Xor", "IsNaN", "IsInf"}, true)
      .Cases({"ArgMax", "ArgMin", "NonZero"}, true)
      .Default(false);
}

static const proto::GraphProto *getSubgraph(const proto::AttributeProto &each) {
  return each.has_g() ? &each.g() : nullptr;
}

// A value that is given to a body or a function has another name there.
void Candidates::connectInput(const std::string &inside,
                              const std::string &given) {
  copies[inside].push_back(given);
  gradients[inside].push_back(given);
}

// The first operands of a loop say how long it goes on, or what it begins with.
void Candidates::connectBody(const proto::NodeProto &node,
                             const proto::GraphProto &body) {
  int inputs = std::min(node.input_size(), body.input_size());
  for (int i = 0; i < inputs; ++i)
    connectInput(body.input(i).name(), node.input(i));
  for (const std::string &output : node.output())
    for (const proto::ValueInfoProto &result : body.output())
      gradients[output].push_back(result.name());
  readNodes(body.node());
}

void Candidates::connectCall(const proto::NodeProto &node,
                             const proto::FunctionProto &function) {
  int inputs = std::min(node.input_size(), function.input_size());
  for (int i = 0; i < inputs; ++i)
    connectInput(function.input(i), node.input(i));
  for (const std::string &output : node.output())
    for (const std::string &result : function.output())
      gradients[output].push_back(result);
}

void Candidates::readNode(const proto::NodeProto &node) {
  auto function = functions.find(node.domain() + ":" + node.op_type());
  if (function != functions.end())
    connectCall(node, *function->second);
  for (const proto::AttributeProto &attribute : node.attribute())
    if (const proto::GraphProto *body = getSubgraph(attribute))
      connectBody(node, *body);
  StringRef op = node.op_type();
  bool passesGradient = !isStep(op) && !givesNoFloats(node);
  for (int i = 0; i < node.input_size(); ++i) {
    const std::string &input = node.input(i);
    if (isStatisticOperand(op, i)) {
      statistics.insert(input);
      continue;
    }
    if (isParameterOperand(op, i))
      parameters.insert(input);
    if (isSlopeOperand(op, i))
      weights.insert(input);
    for (const std::string &output : node.output()) {
      if (passesGradient && !isSetting(op, i))
        gradients[output].push_back(input);
      if (keepsParameter(op) && i == 0)
        copies[output].push_back(input);
      if (hasBiasBehind(op))
        outputsWithBias.insert(output);
    }
  }
}

void Candidates::readNodes(
    const google::protobuf::RepeatedPtrField<proto::NodeProto> &nodes) {
  for (const proto::NodeProto &node : nodes)
    readNode(node);
  for (const proto::NodeProto &node : nodes)
    if (node.op_type() == "Add" && node.input_size() == 2)
      for (int i = 0; i < 2; ++i)
        if (outputsWithBias.contains(node.input(1 - i)))
          weights.insert(node.input(i));
}

void Candidates::readFunctions() {
  for (const proto::FunctionProto &function : file.model.functions())
    functions[function.domain() + ":" + function.name()] = &function;
  for (const proto::FunctionProto &function : file.model.functions())
    readNodes(function.node());
}

// Adds all to which `edges` lead from `names`.
void Candidates::spread(const llvm::StringMap<std::vector<std::string>> &edges,
                        llvm::StringSet<> &names) {
  std::vector<std::string> open;
  for (const auto &name : names)
    open.push_back(name.getKey().str());
  while (!open.empty()) {
    std::string name = std::move(open.back());
    open.pop_back();
    auto next = edges.find(name);
    if (next == edges.end())
      continue;
    for (const std::string &each : next->second)
      if (names.insert(each).second)
        open.push_back(each);
  }
}

Candidates::Candidates(const ModelFile &file, const TensorMetadata &metadata,
                       std::function<bool(StringRef)> chosen)
    : file(file), metadata(metadata), chosen(std::move(chosen)) {
  readFunctions();
  readNodes(file.model.graph().node());
  for (const auto &entry : parameters)
    weights.insert(entry.getKey());
  spread(copies, parameters);
  spread(copies, weights);
  spread(copies, statistics);
  for (const proto::ValueInfoProto &output : file.model.graph().output())
    reached.insert(output.name());
  spread(gradients, reached);
  anyKind = llvm::any_of(file.model.graph().initializer(),
                         [&](const proto::TensorProto &tensor) {
                           return metadata.kinds.contains(tensor.name());
                         });
}

// --- The candidates
// --------------------------------------------------------------------

// Masks hold values beyond any weight's.
bool Candidates::holdsMask(const proto::TensorProto &tensor) const {
  uint64_t bytes = getElementBytes(tensor.data_type()) *
                   uint64_t(getNumElements(getDims(tensor)));
  if (bytes > kInlineBytes || isAbsent(tensor))
    return false; // read where the rule decides
  auto data = readTensorBytes(file, tensor);
  if (!data) {
    llvm::consumeError(data.takeError()); // reported where it is imported
    return false;
  }
  HostTensor whole =
      HostTensor::fromBytes(tensor.data_type(), getDims(tensor), *data);
  return llvm::any_of(whole.floats, [](double element) {
    return std::fabs(element) > kLargestParameter;
  });
}

bool Candidates::mayChange(StringRef name, StringRef local,
                           const proto::TensorProto &tensor) const {
  if (!isFloatType(tensor.data_type()))
    return false;
  if (statistics.contains(local) || (chosen && chosen(name)))
    return true;
  auto kind = metadata.kinds.find(name);
  if (kind != metadata.kinds.end())
    return kind->second == "PARAMETER";
  if (anyKind)
    return parameters.contains(local);
  if (!reached.contains(local))
    return false;
  if (getNumElements(getDims(tensor)) <= 1 && !weights.contains(local))
    return false;
  return !holdsMask(tensor);
}
