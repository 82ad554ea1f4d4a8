// Exporters write splits as sequences of tensors. Their lengths are known, so
// sequences are gone after import.
#include "compiler/Import/ConstantFolder.h"
#include "compiler/Import/GraphImporter.h"
#include "compiler/Import/Types.h"

using namespace mlir;
using namespace zc;

static void setInt(proto::NodeProto &node, const char *name, int64_t value) {
  proto::AttributeProto *attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(proto::AttributeProto::INT);
  attribute->set_i(value);
}

static proto::NodeProto makeNode(const char *op, const proto::NodeProto &from) {
  proto::NodeProto node;
  node.set_op_type(op);
  node.set_name(from.name());
  *node.mutable_metadata_props() = from.metadata_props();
  return node;
}

// The lengths of the parts that SplitToSequence makes of a dim of `size`.
static std::optional<std::vector<int64_t>> getLengths(const HostTensor *split,
                                                      int64_t size) {
  if (split && split->dims.size() == 1)
    return split->getInts();
  int64_t chunk = split ? split->getInt(0) : 1;
  if (chunk <= 0)
    return std::nullopt;
  std::vector<int64_t> lengths;
  for (int64_t start = 0; start < size; start += chunk)
    lengths.push_back(std::min(chunk, size - start));
  return lengths;
}

// Becomes a Split, followed by a Squeeze of every part with keepdims=0.
void GraphImporter::splitToSequence(const proto::NodeProto &node,
                                    const Outputs &inputs, Scope &scope) {
  FoldRequest request{node, {}, 0};
  Dims dims = *getStaticDims(inputs[0]->type);
  auto axis = normalizeAxis(request.getInt("axis", 0), dims.size());
  bool hasSplit = inputs.size() > 1 && inputs[1]->kind == ImportedValue::Tensor;
  std::optional<std::vector<int64_t>> lengths;
  if (axis && (!hasSplit || inputs[1]->constant))
    lengths =
        getLengths(hasSplit ? inputs[1]->constant.get() : nullptr, dims[*axis]);
  if (!lengths) {
    emitFailure(getLocation(node, scope))
        << "splits into parts that are not known before the run";
    return defineUnknown(node, scope);
  }
  const std::string &name = node.output(0);
  proto::NodeProto split = makeNode("Split", node);
  split.add_input(node.input(0));
  split.add_input(name + ".split");
  define(name + ".split",
         makeConstant(name + ".split", HostTensor::ofInts(*lengths)), scope);
  setInt(split, "axis", *axis);
  bool squeezes = !hasSplit && !request.getInt("keepdims", 1);
  for (size_t i = 0; i < lengths->size(); ++i)
    split.add_output(name + "." + std::to_string(i));
  importNode(split, scope);

  ImportedValue *sequence = makeValue(ImportedValue::Sequence, name);
  define(name + ".axes",
         makeConstant(name + ".axes", HostTensor::ofInts({*axis})), scope);
  for (const std::string &part : split.output()) {
    if (squeezes) {
      proto::NodeProto squeeze = makeNode("Squeeze", node);
      squeeze.add_input(part);
      squeeze.add_input(name + ".axes");
      squeeze.add_output(part);
      importNode(squeeze, scope);
    }
    sequence->elements.push_back(lookUp(part, scope));
  }
  define(name, sequence, scope);
}

void GraphImporter::concatFromSequence(const proto::NodeProto &node,
                                       const Outputs &inputs, Scope &scope) {
  FoldRequest request{node, {}, 0};
  bool isNew = request.getInt("new_axis", 0);
  const std::string &name = node.output(0);
  proto::NodeProto concat = makeNode("Concat", node);
  setInt(concat, "axis", request.getInt("axis", 0));
  define(name + ".axes",
         makeConstant(name + ".axes",
                      HostTensor::ofInts({request.getInt("axis", 0)})),
         scope);
  for (auto [index, element] : llvm::enumerate(inputs[0]->elements)) {
    std::string part = name + "." + std::to_string(index);
    define(part, element, scope);
    if (isNew) {
      proto::NodeProto unsqueeze = makeNode("Unsqueeze", node);
      unsqueeze.add_input(part);
      unsqueeze.add_input(name + ".axes");
      unsqueeze.add_output(part);
      importNode(unsqueeze, scope);
    }
    concat.add_input(part);
  }
  concat.add_output(name);
  importNode(concat, scope);
}

// SequenceAt, SequenceInsert, SequenceErase: at a known position.
void GraphImporter::editSequence(const proto::NodeProto &node,
                                 const Outputs &inputs, Scope &scope) {
  bool inserts = node.op_type() == "SequenceInsert";
  Outputs elements = inputs[0]->elements;
  size_t positionIndex = inserts ? 2 : 1;
  bool hasPosition = inputs.size() > positionIndex &&
                     inputs[positionIndex]->kind == ImportedValue::Tensor;
  int64_t position = inserts ? elements.size() : -1;
  if (hasPosition && inputs[positionIndex]->constant)
    position = inputs[positionIndex]->constant->getInt(0);
  auto index = normalizeAxis(position, elements.size() + inserts);
  if (!index || (hasPosition && !inputs[positionIndex]->constant)) {
    emitFailure(getLocation(node, scope))
        << "takes a position in a sequence of " << elements.size()
        << " that is outside it or not known before the run";
    return defineUnknown(node, scope);
  }
  if (node.op_type() == "SequenceAt")
    return define(node.output(0), elements[*index], scope);
  if (inserts)
    elements.insert(elements.begin() + *index, inputs[1]);
  else
    elements.erase(elements.begin() + *index);
  ImportedValue *result =
      makeValue(ImportedValue::Sequence, scope.prefix + node.output(0));
  result->elements = elements;
  define(node.output(0), result, scope);
}

bool GraphImporter::importSequenceOperator(const proto::NodeProto &node,
                                           const Outputs &inputs,
                                           Scope &scope) {
  StringRef op = node.op_type();
  if (!node.domain().empty() || !op.contains("Sequence"))
    return false;
  bool takesSequence =
      !inputs.empty() && inputs[0]->kind == ImportedValue::Sequence;
  if (op == "SplitToSequence") {
    splitToSequence(node, inputs, scope);
  } else if (op == "SequenceConstruct" || op == "SequenceEmpty") {
    ImportedValue *result =
        makeValue(ImportedValue::Sequence, scope.prefix + node.output(0));
    result->elements = inputs;
    define(node.output(0), result, scope);
  } else if (op == "SequenceLength" && takesSequence) {
    HostTensor length(proto::TensorProto::INT64, {});
    length.ints[0] = inputs[0]->elements.size();
    define(node.output(0), makeConstant(scope.prefix + node.output(0), length),
           scope);
  } else if (op == "ConcatFromSequence" && takesSequence) {
    concatFromSequence(node, inputs, scope);
  } else if (takesSequence && (op == "SequenceAt" || op == "SequenceInsert" ||
                               op == "SequenceErase")) {
    editSequence(node, inputs, scope);
  } else {
    return false;
  }
  return true;
}
