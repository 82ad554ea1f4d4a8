// Weights that a quantiser has stored as integers. Training needs numbers
// between them: the parameter is what the integers stand for, rounded to them
// in every step as QuantizeLinear rounds; zc export writes integers again.
#include "compiler/Import/GraphImporter.h"
#include "compiler/Import/OperatorRoles.h"
#include "compiler/Import/Types.h"
#include "compiler/OnnxModel/Float8Type.h"
#include "dialects/Onnx/Location.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace zc;

// A parameter has one scale and is nothing but dequantised.
static bool isDequantisedAlone(const proto::GraphProto &graph,
                               const proto::NodeProto &dequantize) {
  const std::string &name = dequantize.input(0);
  llvm::StringSet<> used;
  for (const proto::NodeProto &node : graph.node()) {
    if (node.op_type() == "DequantizeLinear" && node.domain().empty() &&
        node.input(0) == name) {
      if (node.input(1) != dequantize.input(1))
        return false;
      continue;
    }
    addUsedNames(node, used);
  }
  for (const proto::ValueInfoProto &output : graph.output())
    used.insert(output.name());
  return !used.contains(name);
}

static bool isInitializer(const proto::GraphProto &graph,
                          const std::string &name) {
  return llvm::any_of(graph.initializer(), [&](const auto &tensor) {
    return tensor.name() == name;
  });
}

bool GraphImporter::isIntegerWeight(const proto::NodeProto &node,
                                    const Outputs &inputs, const Scope &scope) {
  const proto::GraphProto &graph = file.model.graph();
  if (!options.trainsIntegers || scope.parent || scope.depth != 0 ||
      node.op_type() != "DequantizeLinear" || !node.domain().empty())
    return false;
  const ImportedValue &weight = *inputs[0];
  if (weight.kind != ImportedValue::Tensor || !weight.stored ||
      isAbsent(*weight.stored) || isFloat8Type(weight.stored->data_type()) ||
      weight.name != weight.stored->name() ||
      getNumElements(*getStaticDims(weight.type)) < 2 ||
      inputs[1]->type.tensor_type().elem_type() != proto::TensorProto::FLOAT ||
      !options.trainsIntegers(weight.name))
    return false;
  for (size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i]->kind != ImportedValue::Absent &&
        (!inputs[i]->constant || !isInitializer(graph, node.input(i))))
      return false;
  return isDequantisedAlone(graph, node);
}

// One number of `numbers` for each element of the weight.
static std::optional<BroadcastIndex>
spread(const HostTensor &numbers, ArrayRef<int64_t> dims, int64_t axis) {
  if (numbers.getNumStored() == 1)
    return BroadcastIndex({}, dims);
  Dims shape(dims.size(), 1);
  if (numbers.dims.size() != 1 || numbers.dims[0] != dims[axis])
    return std::nullopt;
  shape[axis] = dims[axis];
  return BroadcastIndex(shape, dims);
}

static int64_t getAxis(const proto::NodeProto &node, int64_t rank) {
  int64_t axis = 1;
  for (const proto::AttributeProto &attribute : node.attribute())
    if (attribute.name() == "axis")
      axis = attribute.i();
  axis += axis < 0 ? rank : 0;
  return axis < 0 || axis >= rank ? 0 : axis;
}

// The floats that the integers stand for; nothing for scales of blocks.
static std::optional<HostTensor> dequantise(const HostTensor &integers,
                                            const HostTensor &scale,
                                            const HostTensor *zero,
                                            int64_t axis) {
  auto scales = spread(scale, integers.dims, axis);
  HostTensor none(integers.dataType, {});
  auto zeros = spread(zero ? *zero : none, integers.dims, axis);
  if (!scales || !zeros)
    return std::nullopt;
  HostTensor result(scale.dataType, integers.dims);
  for (int64_t i = 0, e = integers.getNumStored(); i < e; ++i) {
    int64_t whole = integers.ints[i] - (zero ? zero->ints[**zeros] : 0);
    result.set(i, double(whole) * scale.floats[**scales]);
    ++*scales;
    ++*zeros;
  }
  return result;
}

Value GraphImporter::emitMaster(StringRef name, const HostTensor &value) {
  OpBuilder builder(context);
  if (lastInitializer)
    builder.setInsertionPointAfter(lastInitializer);
  else
    builder.setInsertionPointToStart(block);
  Location location = zc::onnx::makeLocation(
      context, {name.str(), "", zc::onnx::kInitializer, file.name});
  DenseElementsAttr elements = makeElements(context, value);
  auto op = zc::onnx::InitializerOp::create(
      builder, location, elements.getType(), builder.getStringAttr(name),
      elements, zc::onnx::ExternalAttr(), StringAttr(), UnitAttr(),
      builder.getBoolAttr(false), ArrayAttr(), DictionaryAttr());
  op->setAttr(kStoredAsIntegers, builder.getUnitAttr());
  lastInitializer = op;
  return op.getResult();
}

ImportedValue *GraphImporter::makeMaster(const proto::NodeProto &node,
                                         const Outputs &inputs) {
  ImportedValue *&master = masters[inputs[0]];
  if (master)
    return master;
  auto bytes = readTensorBytes(file, *inputs[0]->stored);
  if (!bytes) {
    llvm::consumeError(bytes.takeError()); // said where it is read as it is
    return nullptr;
  }
  Dims dims = getDims(*inputs[0]->stored);
  HostTensor integers =
      HostTensor::fromBytes(inputs[0]->stored->data_type(), dims, *bytes);
  const HostTensor *zero =
      inputs.size() > 2 ? inputs[2]->constant.get() : nullptr;
  auto value = dequantise(integers, *inputs[1]->constant, zero,
                          getAxis(node, dims.size()));
  if (!value)
    return nullptr;
  master = makeValue(ImportedValue::Tensor, inputs[0]->name);
  master->type = makeTensorType(value->dataType, dims);
  master->ir = emitMaster(master->name, *value);
  return master;
}

static void dropAttribute(proto::NodeProto &node, StringRef name) {
  auto &attributes = *node.mutable_attribute();
  for (int i = attributes.size() - 1; i >= 0; --i)
    if (attributes[i].name() == name)
      attributes.DeleteSubrange(i, 1);
}

// Biases, of 32 bits, are finer than their floats: they are not rounded.
bool GraphImporter::importIntegerWeight(const proto::NodeProto &node,
                                        const Outputs &inputs, Scope &scope) {
  if (!isIntegerWeight(node, inputs, scope))
    return false;
  ImportedValue *master = makeMaster(node, inputs);
  if (!master)
    return false;
  int32_t type = inputs[0]->type.tensor_type().elem_type();
  if (type == proto::TensorProto::INT32) {
    define(node.output(0), master, scope);
    return true;
  }
  proto::NodeProto quantize = node, dequantize = node;
  std::string whole = node.input(0) + "/rounded";
  std::string real = node.input(0) + "/parameter";
  std::string zero = node.input(0) + "/zero";
  define(real, master, scope);
  quantize.set_op_type("QuantizeLinear");
  dropAttribute(quantize, "output_dtype"); // of floats
  quantize.set_name(whole);
  quantize.set_input(0, real);
  quantize.set_output(0, whole);
  if (node.input_size() < 3 || node.input(2).empty()) {
    while (quantize.input_size() < 3)
      quantize.add_input();
    quantize.set_input(2, zero);
    define(zero,
           makeConstant(zero, HostTensor(type, inputs[1]->constant->dims)),
           scope);
  }
  dequantize.set_input(0, whole);
  importNode(quantize, scope);
  importNode(dequantize, scope);
  return true;
}
