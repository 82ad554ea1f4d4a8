// How values of the model become values of the IR.
#include "compiler/Import/GraphImporter.h"
#include "compiler/Import/TriangularMask.h"
#include "compiler/Import/Types.h"
#include "dialects/Onnx/Location.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace zc;

ImportedValue *GraphImporter::makeValue(ImportedValue::Kind kind,
                                        std::string name) {
  ImportedValue &value = arena.emplace_back();
  value.kind = kind;
  value.name = std::move(name);
  return &value;
}

ImportedValue *GraphImporter::makeConstant(std::string name,
                                           HostTensor tensor) {
  ImportedValue *value = makeValue(ImportedValue::Tensor, std::move(name));
  value->type = makeTensorType(tensor.dataType, tensor.dims);
  value->constant = std::make_shared<HostTensor>(std::move(tensor));
  value->foldable = true;
  return value;
}

ImportedValue *GraphImporter::lookUp(const std::string &name,
                                     const Scope &scope) {
  if (name.empty())
    return makeValue(ImportedValue::Absent, "");
  for (const Scope *level = &scope; level; level = level->parent) {
    auto value = level->values.find(name);
    if (value != level->values.end())
      return value->second;
  }
  return makeValue(ImportedValue::Unknown, name);
}

void GraphImporter::define(const std::string &name, ImportedValue *value,
                           Scope &scope) {
  if (!name.empty())
    scope.values[name] = value;
}

void GraphImporter::defineUnknown(const proto::NodeProto &node, Scope &scope) {
  for (const std::string &output : node.output())
    define(output, makeValue(ImportedValue::Unknown, output), scope);
}

GraphImporter::Outputs GraphImporter::getInputs(const proto::NodeProto &node,
                                                const Scope &scope) {
  Outputs inputs;
  for (const std::string &name : node.input())
    inputs.push_back(lookUp(name, scope));
  return inputs;
}

// --- IR
// ----------------------------------------------------------------------------

Value GraphImporter::getNone() {
  if (!none) {
    OpBuilder builder = OpBuilder::atBlockBegin(block);
    none = zc::onnx::NoneOp::create(builder, getFileLocation(),
                                    NoneType::get(context));
  }
  return none;
}

// Initializers stand before all nodes, in the order of their first use.
static OpBuilder atInitializers(Block *block, Operation *last) {
  OpBuilder builder = OpBuilder::atBlockBegin(block);
  if (last)
    builder.setInsertionPointAfter(last);
  return builder;
}

Value GraphImporter::emitStored(ImportedValue &value) {
  const proto::TensorProto &tensor = *value.stored;
  OpBuilder builder = atInitializers(block, lastInitializer);
  bool isInitializer = value.name == tensor.name();
  auto kind = metadata.kinds.find(value.name);
  bool hasKind = isInitializer && kind != metadata.kinds.end();
  // PyTorch's names are paths: layers.0.weight belongs to layers.0.
  StringRef parent = hasKind ? StringRef(value.name).rsplit('.').first : "";
  Location location = zc::onnx::makeLocation(
      context, {value.name, hasKind && parent != value.name ? parent : "",
                zc::onnx::kInitializer, file.name});
  ElementsAttr elements;
  zc::onnx::ExternalAttr source;
  std::optional<TensorSource> where = getSource(file, tensor);
  // Attention with such a mask needs no mask: it is known by its values.
  const bool isParameter = hasKind && kind->second == "PARAMETER";
  if (where && !isParameter && isTriangularMask(file, tensor, *where))
    where = std::nullopt;
  if (getPackedBits(tensor.data_type())) // held one element a byte
    where = std::nullopt;
  if (where) {
    source = zc::onnx::ExternalAttr::get(context, where->file, where->offset,
                                         where->length, where->transposed);
  } else if (value.constant) {
    elements = makeElements(context, *value.constant);
  } else if (!isAbsent(tensor)) {
    // Dims alone may say anything: memory is only taken for data that are
    // there.
    if (auto bytes = readTensorBytes(file, tensor))
      elements =
          makeElements(context, HostTensor::fromBytes(tensor.data_type(),
                                                      getDims(tensor), *bytes));
    else
      emitFailure(location) << llvm::toString(bytes.takeError());
  }
  auto op = zc::onnx::InitializerOp::create(
      builder, location, convertType(context, value.type),
      builder.getStringAttr(value.name), elements, source,
      hasKind ? builder.getStringAttr(kind->second) : StringAttr(),
      isInitializer ? UnitAttr() : builder.getUnitAttr(),
      builder.getBoolAttr(false), ArrayAttr(), DictionaryAttr());
  initializerNames.insert(value.name);
  lastInitializer = op;
  return op.getResult();
}

// Constants of equal value are one: every layer computes the same mask.
Value GraphImporter::emitConstant(StringRef name, const HostTensor &tensor) {
  DenseElementsAttr elements = makeElements(context, tensor);
  Value &known = constantsByValue[elements];
  if (known)
    return known;
  std::string unique = name.str();
  for (unsigned i = 1; initializerNames.contains(unique); ++i)
    unique = name.str() + "." + std::to_string(i);
  initializerNames.insert(unique);
  OpBuilder builder = atInitializers(block, lastInitializer);
  Location location =
      zc::onnx::makeLocation(context, {unique, "", "constant", file.name});
  auto op = zc::onnx::InitializerOp::create(
      builder, location, elements.getType(), builder.getStringAttr(unique),
      elements, zc::onnx::ExternalAttr(), StringAttr(), builder.getUnitAttr(),
      builder.getBoolAttr(false), ArrayAttr(), DictionaryAttr());
  lastInitializer = op;
  known = op.getResult();
  return known;
}

Value GraphImporter::getIr(ImportedValue *value) {
  if (value->kind == ImportedValue::Absent)
    return getNone();
  assert(value->kind == ImportedValue::Tensor && "no tensor to emit");
  if (!value->ir)
    value->ir = value->stored
                    ? emitStored(*value)
                    : emitConstant(value->name, value->constant->dense());
  return value->ir;
}

static bool isBroadcasting(StringRef op) {
  static const llvm::StringSet<> ops = {
      "Add",         "And",   "BitwiseAnd", "BitwiseOr", "BitwiseXor",
      "Div",         "Equal", "Max",        "Greater",   "Less",
      "LessOrEqual", "Min",   "Mod",        "Mul",       "GreaterOrEqual",
      "Or",          "Pow",   "Sub",        "Sum",       "Where",
      "Xor",
  };
  return ops.contains(op);
}

// A computed constant that does not vary along a dim is stored once along it
// where the consumer broadcasts anyway; the result keeps its shape.
SmallVector<Value>
GraphImporter::getOperands(const proto::NodeProto &node, const Outputs &inputs,
                           ArrayRef<proto::TypeProto> types) {
  std::optional<Dims> result =
      types.size() == 1 ? getStaticDims(types[0]) : std::nullopt;
  bool mayShrink =
      result && node.domain().empty() && isBroadcasting(node.op_type());
  std::vector<Dims> dims;
  for (ImportedValue *input : inputs)
    dims.push_back(getStaticDims(input->type).value_or(Dims()));
  auto broadcastsToResult = [&] {
    Dims all;
    for (const Dims &each : dims)
      all = broadcast(all, each).value_or(all);
    return all == *result;
  };
  SmallVector<Value> operands;
  for (auto [index, input] : llvm::enumerate(inputs)) {
    if (mayShrink && input->constant && !input->stored && !input->ir) {
      HostTensor small = input->constant->compressed();
      Dims whole = std::exchange(dims[index], small.stored);
      if (small.isCompressed() && broadcastsToResult()) {
        operands.push_back(emitConstant(input->name, small));
        continue;
      }
      dims[index] = whole;
    }
    operands.push_back(getIr(input));
  }
  return operands;
}
