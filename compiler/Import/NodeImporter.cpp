// How one node becomes constants, other nodes, or an onnx.node.
#include "compiler/Import/ConstantFolder.h"
#include "compiler/Import/GraphImporter.h"
#include "compiler/Import/NodeInference.h"
#include "compiler/Import/Types.h"
#include "compiler/OnnxModel/Float8Type.h"
#include "dialects/Onnx/Float8.h"
#include "dialects/Onnx/Location.h"

#include "mlir/IR/Builders.h"
#include <climits>

using namespace mlir;
using namespace zc;

Location GraphImporter::getLocation(const proto::NodeProto &node,
                                    const Scope &scope) {
  std::string name = node.name();
  for (int i = 0; i < node.output_size() && name.empty(); ++i)
    name = node.output(i);
  std::string module = getModulePath(node);
  if (module.empty())
    module = scope.module;
  std::string op = node.op_type();
  if (!node.domain().empty())
    op = node.domain() + "." + op;
  return zc::onnx::makeLocation(context,
                                {scope.prefix + name, module, op, file.name});
}

static bool hasKind(ArrayRef<ImportedValue *> values,
                    ImportedValue::Kind kind) {
  return llvm::any_of(
      values, [&](ImportedValue *value) { return value->kind == kind; });
}

// In a function's body attributes may stand for those of the call; what the
// call lacks is absent in the body too.
static void resolveAttributes(
    proto::NodeProto &node,
    const std::unordered_map<std::string, const proto::AttributeProto *>
        &given) {
  auto &attributes = *node.mutable_attribute();
  for (int i = attributes.size() - 1; i >= 0; --i) {
    std::string reference = attributes[i].ref_attr_name();
    if (reference.empty())
      continue;
    auto actual = given.find(reference);
    if (actual == given.end()) {
      attributes.DeleteSubrange(i, 1);
      continue;
    }
    std::string name = attributes[i].name();
    attributes[i] = *actual->second;
    attributes[i].set_name(name);
  }
}

// CastLike is a Cast to a type that is known by now.
static void replaceCastLike(proto::NodeProto &node,
                            const proto::TypeProto &like) {
  node.set_op_type("Cast");
  node.mutable_input()->RemoveLast();
  proto::AttributeProto *to = node.add_attribute();
  to->set_name("to");
  to->set_type(proto::AttributeProto::INT);
  to->set_i(like.tensor_type().elem_type());
}

/// Null where ONNX has no such operator in this version: nothing is known of
/// its inputs then.
static const proto::OpSchema *findSchema(const proto::NodeProto &node,
                                         int version) {
  return proto::OpSchemaRegistry::Schema(node.op_type(), version,
                                         node.domain());
}

// The error in the numbers of inputs and outputs; ONNX's checker has not looked
// at a model in which it misses an operator.
static std::string checkCounts(const proto::NodeProto &node, int version) {
  const proto::OpSchema *schema = findSchema(node, version);
  if (!schema)
    return "";
  auto check = [](const char *what, int found, int least, int most) {
    if (found >= least && found <= most)
      return std::string();
    std::string expected = std::to_string(least);
    if (most == INT_MAX)
      expected = "at least " + expected;
    else if (most > least)
      expected += " to " + std::to_string(most);
    return "has " + std::to_string(found) + " " + what + ", expected " +
           expected;
  };
  std::string problem = check("inputs", node.input_size(), schema->min_input(),
                              schema->max_input());
  return problem.empty() ? check("outputs", node.output_size(),
                                 schema->min_output(), schema->max_output())
                         : problem;
}

void GraphImporter::importNode(const proto::NodeProto &original, Scope &scope) {
  // Constants point into their node, so nodes are kept.
  proto::NodeProto &node = madeNodes.emplace_back(original);
  resolveAttributes(node, scope.attributes);
  if (node.domain() == "ai.onnx")
    node.clear_domain();
  if (std::string problem = checkCounts(node, scope.opsets[node.domain()]);
      !problem.empty()) {
    emitFailure(getLocation(node, scope)) << problem;
    return defineUnknown(node, scope);
  }
  importAny(node, scope);
  stopGradients(node, scope);
}

void GraphImporter::importAny(proto::NodeProto &node, Scope &scope) {
  Outputs inputs = getInputs(node, scope);
  if (expandLocalFunction(node, inputs, scope) ||
      expandContribOperator(node, inputs, scope))
    return;
  bool isStandard =
      node.domain().empty() && findSchema(node, scope.opsets[node.domain()]);
  if (isStandard && node.op_type() == "Identity")
    return define(node.output(0), inputs[0], scope);
  if (isStandard && node.op_type() == "Constant")
    return importConstant(node, scope);
  if (isStandard && importBoolMask(node, inputs, scope))
    return;
  if (isStandard && node.op_type() == "CastLike" &&
      inputs[1]->kind == ImportedValue::Tensor) {
    replaceCastLike(node, inputs[1]->type);
    inputs.pop_back();
  }
  dropUnusedMask(node);
  importOperator(node, inputs, scope);
}

static bool hasSubgraph(const proto::NodeProto &node) {
  return llvm::any_of(node.attribute(), [](const proto::AttributeProto &each) {
    return each.has_g() || each.graphs_size() > 0;
  });
}

bool GraphImporter::isUsed(const std::string &name) {
  if (usedNames.empty()) {
    auto addAll = [&](const auto &nodes) {
      for (const proto::NodeProto &node : nodes)
        addUsedNames(node, usedNames);
    };
    addAll(file.model.graph().node());
    for (const proto::ValueInfoProto &output : file.model.graph().output())
      usedNames.insert(output.name());
    for (const proto::FunctionProto &function : file.model.functions()) {
      addAll(function.node());
      for (const std::string &output : function.output())
        usedNames.insert(output);
    }
  }
  return usedNames.contains(name);
}

// Exporters name a mask that nobody reads; before opset 10 it is no mask but
// numbers, for which ONNX infers no shape.
void GraphImporter::dropUnusedMask(proto::NodeProto &node) {
  if (node.op_type() == "Dropout" && node.output_size() == 2 &&
      !isUsed(node.output(1)))
    node.mutable_output()->RemoveLast();
}

void GraphImporter::importOperator(const proto::NodeProto &node,
                                   const Outputs &given, Scope &scope) {
  Outputs inputs = given;
  if (ImportedValue *shape = followBatch(node, inputs))
    inputs[1] = shape;
  Location location = getLocation(node, scope);
  const proto::OpSchema *schema = findSchema(node, scope.opsets[node.domain()]);
  if (!schema) {
    noteUnsupported(node.domain(), node.op_type(),
                    "version " + std::to_string(scope.opsets[node.domain()]),
                    location);
    return defineUnknown(node, scope);
  }
  int64_t version = schema->SinceVersion();
  bool supported = !options.isSupported ||
                   options.isSupported(node.domain(), node.op_type(), version);
  std::string opset = "opset " + std::to_string(version);
  if (hasKind(inputs, ImportedValue::Unknown)) {
    bool hasDefinition =
        schema->HasFunction() || schema->HasContextDependentFunction();
    if (!supported && !hasDefinition && !canFold(node) && !isResolved(node))
      noteUnsupported(node.domain(), node.op_type(), opset, location);
    return defineUnknown(node, scope);
  }
  if (importOfBounded(node, inputs, scope))
    return;
  if (node.domain().empty() && node.op_type() == "If")
    return importIf(node, inputs, scope);
  if (node.domain().empty() && node.op_type() == "Loop")
    return importLoop(node, inputs, scope);
  if (node.domain().empty() && node.op_type() == "Scan")
    return importScan(node, inputs, scope);
  if (importIntegerWeight(node, inputs, scope) ||
      importOld(node, inputs, version, scope) ||
      foldShapeQuery(node, inputs, scope) ||
      importSelection(node, inputs, scope) ||
      importSequenceOperator(node, inputs, scope))
    return;
  if (hasSubgraph(node) || hasKind(inputs, ImportedValue::Sequence)) {
    noteUnsupported(node.domain(), node.op_type(), opset, location);
    return defineUnknown(node, scope);
  }
  if (tryFold(node, inputs, version, scope) ||
      importBoundedSelection(node, inputs, scope) ||
      (!supported && expandDefinition(*schema, node, inputs, scope)))
    return;

  SmallVector<OperandFacts> facts;
  for (ImportedValue *input : inputs)
    facts.push_back(
        {input->kind == ImportedValue::Absent ? nullptr : &input->type,
         input->constant.get()});
  auto types = inferResultTypes(*schema, node, facts);
  if (!types) {
    emitFailure(location) << llvm::toString(types.takeError());
    return defineUnknown(node, scope);
  }
  bool complete = llvm::all_of(*types, [&](const proto::TypeProto &type) {
    return bool(convertType(context, type));
  });
  // Some operators that are defined by others have no shape inference of their
  // own.
  if (!complete && expandDefinition(*schema, node, inputs, scope))
    return;
  if (!supported && !complete) {
    noteUnsupported(node.domain(), node.op_type(), opset, location);
    return defineUnknown(node, scope);
  }
  if (!checkResults(node, *types, location))
    return defineUnknown(node, scope);
  Operation *op = emit(node, inputs, version, *types, scope);
  if (op && !supported)
    unsupportedOps[op].what =
        (node.domain().empty() ? "" : node.domain() + ".") + node.op_type() +
        " (" + opset + ")";
}

// Whether what was computed ahead may be kept. Shapes always may.
bool GraphImporter::hasRoom(ArrayRef<HostTensor> results) {
  constexpr int64_t kSmall = 1 << 12;
  int64_t large = 0;
  for (const HostTensor &result : results)
    if (result.getNumStored() > kSmall)
      large += result.getNumStored();
  if (large > room)
    return false;
  room -= large;
  return true;
}

bool GraphImporter::tryFold(const proto::NodeProto &node, const Outputs &inputs,
                            int64_t sinceVersion, Scope &scope) {
  if (!canFold(node))
    return false;
  SmallVector<const HostTensor *> constants;
  for (ImportedValue *input : inputs) {
    if (input->kind != ImportedValue::Absent && !input->foldable)
      return false;
    if (input->kind != ImportedValue::Absent && !input->constant)
      return false;
    constants.push_back(input->constant.get());
  }
  FoldResults results = fold({node, constants, sinceVersion});
  if (!results || int(results->size()) < node.output_size() ||
      !hasRoom(*results))
    return false;
  for (int i = 0; i < node.output_size(); ++i)
    define(
        node.output(i),
        makeConstant(scope.prefix + node.output(i), std::move((*results)[i])),
        scope);
  return true;
}

// Shape, Size and EyeLike depend on the type alone, so their operand need not
// be known.
bool GraphImporter::foldShapeQuery(const proto::NodeProto &node,
                                   const Outputs &inputs, Scope &scope) {
  bool isShape = node.op_type() == "Shape", isSize = node.op_type() == "Size";
  bool isEye = node.op_type() == "EyeLike";
  if (!node.domain().empty() || !(isShape || isSize || isEye) ||
      inputs[0]->kind != ImportedValue::Tensor)
    return false;
  Dims dims = *getStaticDims(inputs[0]->type);
  if (isEye) {
    // One element stands for all, as nobody reads them: there may be more than
    // memory holds, of which the folder makes nothing.
    HostTensor any(inputs[0]->type.tensor_type().elem_type(),
                   Dims(dims.size(), 1));
    any.dims = dims;
    FoldResults eye = fold({node, {&any}, 0});
    if (!eye || !hasRoom(*eye))
      return false;
    define(node.output(0),
           makeConstant(scope.prefix + node.output(0), std::move(eye->front())),
           scope);
    return true;
  }
  int64_t size = dims.size();
  FoldRequest request{node, {}, 0};
  auto clamp = [&](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
  };
  int64_t start = clamp(request.getInt("start", 0));
  int64_t end = std::max(start, clamp(request.getInt("end", size)));
  HostTensor result =
      HostTensor::ofInts(ArrayRef<int64_t>(dims).slice(start, end - start));
  if (isSize) {
    result = HostTensor(proto::TensorProto::INT64, {});
    result.ints[0] = getNumElements(dims);
  }
  define(node.output(0), makeConstant(scope.prefix + node.output(0), result),
         scope);
  return true;
}

// --- Constant
// ------------------------------------------------------------------------

// The value of a Constant node that gives it as numbers; nothing otherwise.
static std::optional<HostTensor>
readNumbers(const proto::AttributeProto &attribute) {
  using Data = proto::TensorProto;
  if (attribute.name() == "value_ints")
    return HostTensor::ofInts(
        Dims(attribute.ints().begin(), attribute.ints().end()));
  if (attribute.name() == "value_int") {
    HostTensor result(Data::INT64, {});
    result.ints[0] = attribute.i();
    return result;
  }
  if (attribute.name() == "value_float") {
    HostTensor result(Data::FLOAT, {});
    result.floats[0] = attribute.f();
    return result;
  }
  if (attribute.name() == "value_floats") {
    HostTensor result(Data::FLOAT, {attribute.floats_size()});
    result.floats.assign(attribute.floats().begin(), attribute.floats().end());
    return result;
  }
  return std::nullopt;
}

void GraphImporter::importConstant(const proto::NodeProto &node, Scope &scope) {
  Location location = getLocation(node, scope);
  std::string name = scope.prefix + node.output(0);
  const proto::AttributeProto *attribute =
      node.attribute_size() ? &node.attribute(0) : nullptr;
  if (attribute && attribute->name() != "value") {
    if (auto numbers = readNumbers(*attribute))
      return define(node.output(0), makeConstant(name, *numbers), scope);
    emitFailure(location) << "'" << attribute->name()
                          << "' gives a constant that zc does not hold; "
                             "expected a dense tensor of numbers or bools";
    return defineUnknown(node, scope);
  }
  if (!attribute || !convertElementType(context, attribute->t().data_type())) {
    emitFailure(location)
        << "is a constant without a tensor of numbers or bools";
    return defineUnknown(node, scope);
  }
  const proto::TensorProto &tensor = attribute->t();
  Dims dims = getDims(tensor);
  if (getSource(file, tensor)) { // big: it stays where it is
    ImportedValue *value = makeValue(ImportedValue::Tensor, name);
    value->type = makeTensorType(tensor.data_type(), dims);
    value->stored = &tensor;
    return define(node.output(0), value, scope);
  }
  auto bytes = readTensorBytes(file, tensor);
  if (!bytes) {
    emitFailure(location) << llvm::toString(bytes.takeError());
    return defineUnknown(node, scope);
  }
  define(node.output(0),
         makeConstant(name,
                      HostTensor::fromBytes(tensor.data_type(), dims, *bytes)),
         scope);
}

// --- onnx.node
// -----------------------------------------------------------------------

bool GraphImporter::checkResults(const proto::NodeProto &node,
                                 ArrayRef<proto::TypeProto> types,
                                 Location location) {
  for (auto [name, type] : llvm::zip(node.output(), types)) {
    if (name.empty())
      continue;
    if (convertType(context, type)) {
      if (getNumElements(*getStaticDims(type)) <= kMaxElements)
        continue;
      emitFailure(location) << "gives '" << name << "', " << printType(type)
                            << ", which is larger than any memory; check --dim";
      return false;
    }
    auto diagnostic = emitFailure(location);
    diagnostic << "gives '" << name << "', " << printType(type);
    if (type.has_tensor_type() &&
        convertElementType(context, type.tensor_type().elem_type()))
      diagnostic << "; its shape depends on values, and zc needs all shapes "
                    "before the run"
                 << (llvm::is_contained({"Compress", "NonZero", "Unique"},
                                        StringRef(node.op_type()))
                         ? ", or the most that its length can be: --dim "
                           "OUTPUT.K=SIZE"
                         : "");
    else
      diagnostic << ", which zc does not hold";
    return false;
  }
  return true;
}

Attribute
GraphImporter::convertAttribute(const proto::AttributeProto &attribute,
                                Location location) {
  Builder builder(context);
  switch (attribute.type()) {
  case proto::AttributeProto::INT:
    return builder.getI64IntegerAttr(attribute.i());
  case proto::AttributeProto::FLOAT:
    return builder.getF32FloatAttr(attribute.f());
  case proto::AttributeProto::STRING:
    return builder.getStringAttr(attribute.s());
  case proto::AttributeProto::INTS:
    return builder.getDenseI64ArrayAttr(
        Dims(attribute.ints().begin(), attribute.ints().end()));
  case proto::AttributeProto::FLOATS:
    return builder.getDenseF32ArrayAttr(SmallVector<float>(
        attribute.floats().begin(), attribute.floats().end()));
  case proto::AttributeProto::STRINGS: {
    SmallVector<Attribute> strings;
    for (const std::string &each : attribute.strings())
      strings.push_back(builder.getStringAttr(each));
    return builder.getArrayAttr(strings);
  }
  case proto::AttributeProto::TENSOR: {
    const proto::TensorProto &tensor = attribute.t();
    auto bytes = readTensorBytes(file, tensor);
    if (bytes)
      return makeElements(
          context,
          HostTensor::fromBytes(tensor.data_type(), getDims(tensor), *bytes));
    emitFailure(location) << "attribute '" << attribute.name()
                          << "': " << llvm::toString(bytes.takeError());
    return {};
  }
  default:
    emitFailure(location) << "attribute '" << attribute.name()
                          << "' is of kind "
                          << proto::AttributeProto::AttributeType_Name(
                                 attribute.type())
                          << ", expected numbers, strings or a tensor";
    return {};
  }
}

DictionaryAttr GraphImporter::convertAttributes(const proto::NodeProto &node,
                                                Location location) {
  NamedAttrList list;
  for (const proto::AttributeProto &attribute : node.attribute())
    if (Attribute value = convertAttribute(attribute, location))
      list.set(attribute.name(), value);
  OpBuilder builder(context);
  for (const NumberAttribute &attribute : readTorchAttributes(node))
    list.set(attribute.name, builder.getF64FloatAttr(attribute.value));
  return list.getDictionary(context);
}

Operation *GraphImporter::emit(const proto::NodeProto &node,
                               const Outputs &inputs, int64_t sinceVersion,
                               ArrayRef<proto::TypeProto> types, Scope &scope) {
  Location location = getLocation(node, scope);
  SmallVector<Type> resultTypes;
  for (auto [name, type] : llvm::zip(node.output(), types))
    resultTypes.push_back(name.empty() ? Type(NoneType::get(context))
                                       : convertType(context, type));
  while (!resultTypes.empty() && isa<NoneType>(resultTypes.back()))
    resultTypes.pop_back();
  SmallVector<Value> operands = getOperands(node, inputs, types);
  while (!operands.empty() && isa<NoneType>(operands.back().getType()))
    operands.pop_back();
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  NamedAttrList attributes(convertAttributes(node, location));
  if (unsigned bits = getPackedBits(types[0].tensor_type().elem_type()))
    attributes.set(zc::onnx::kPackedBits, builder.getI64IntegerAttr(bits));
  auto noteFloat8 = [&](const proto::TypeProto &type, const Twine &name) {
    int32_t element = type.tensor_type().elem_type();
    if (isFloat8Type(element))
      attributes.set(name.str(), builder.getStringAttr(getTypeName(element)));
  };
  noteFloat8(types[0], zc::onnx::kFloat8);
  for (auto [index, input] : llvm::enumerate(inputs))
    if (input->kind == ImportedValue::Tensor)
      noteFloat8(input->type, zc::onnx::kFloat8 + "." + Twine(index));
  auto op = zc::onnx::NodeOp::create(
      builder, location, resultTypes, builder.getStringAttr(node.op_type()),
      operands, builder.getStringAttr(node.domain()),
      builder.getI64IntegerAttr(sinceVersion),
      attributes.getDictionary(context));
  for (auto [index, result] : llvm::enumerate(op.getResults())) {
    const std::string &name = node.output(index);
    ImportedValue *value =
        makeValue(ImportedValue::Tensor, scope.prefix + name);
    value->type = types[index];
    value->ir = result;
    define(name, value, scope);
  }
  return op;
}
