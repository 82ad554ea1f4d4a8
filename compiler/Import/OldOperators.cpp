// Operators as old opsets have them, said as a later opset does: operands that
// are laid at an axis of the other one, sizes and kinds that are attributes.
#include "compiler/Import/GraphImporter.h"
#include "compiler/Import/Types.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace zc;

// --- Attributes
// ---------------------------------------------------------------------

static const proto::AttributeProto *find(const proto::NodeProto &node,
                                         StringRef name) {
  for (const proto::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

static int64_t getInt(const proto::NodeProto &node, StringRef name,
                      int64_t absent) {
  const proto::AttributeProto *attribute = find(node, name);
  return attribute ? attribute->i() : absent;
}

static void drop(proto::NodeProto &node, ArrayRef<StringRef> names) {
  auto *attributes = node.mutable_attribute();
  for (int i = attributes->size() - 1; i >= 0; --i)
    if (llvm::is_contained(names, (*attributes)[i].name()))
      attributes->DeleteSubrange(i, 1);
}

static proto::AttributeProto &add(proto::NodeProto &node, const char *name,
                                  proto::AttributeProto::AttributeType type) {
  proto::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

// --- What has changed
// ---------------------------------------------------------------

/// The opset whose meaning an old operator gets; 0: it has its own.
static int getLaterOpset(StringRef op, int64_t version) {
  // The later version added or left out an attribute that says nothing now.
  int unchanged =
      llvm::StringSwitch<int>(op)
          .Cases({"Abs", "Ceil", "Clip", "Elu", "Exp", "Floor"}, 6)
          .Cases({"HardSigmoid", "InstanceNormalization", "LeakyRelu"}, 6)
          .Cases({"Log", "Neg", "Reciprocal", "Relu", "Selu", "Sigmoid"}, 6)
          .Cases({"Sqrt", "Tanh", "Cast", "Tile"}, 6)
          .Cases({"Add", "Sub", "Mul", "Div", "Pow", "PRelu", "Gemm"}, 7)
          .Cases({"And", "Or", "Xor", "Equal", "Greater", "Less"}, 7)
          .Cases({"AveragePool", "Dropout", "LSTM", "GRU", "RNN"}, 7)
          .Cases({"Max", "Min", "Mean", "Sum"}, 8)
          .Case("BatchNormalization", 9)
          .Cases({"LpPool", "GlobalLpPool", "Pad", "Split"}, 2)
          .Case("Concat", 4)
          .Case("Reshape", 5)
          .Default(0);
  if (op == "Upsample" || (op == "Resize" && version == 10))
    return 13;
  return version < unchanged ? unchanged : 0;
}

namespace {
/// One old node on its way; what is wrong with it is told by `error`.
struct Upgrade {
  proto::NodeProto node;
  ArrayRef<ImportedValue *> inputs;
  int64_t version;
  std::vector<std::pair<std::string, HostTensor>> constants; // new operands
  std::vector<proto::NodeProto> before;
  std::string error;

  std::optional<Dims> dims(size_t index) const {
    return index < inputs.size() ? getStaticDims(inputs[index]->type)
                                 : std::nullopt;
  }
  std::string addOperand(StringRef role, HostTensor value) {
    std::string name = node.output(0) + "." + role.str();
    constants.push_back({name, std::move(value)});
    return name;
  }
  void reshape(int index, ArrayRef<int64_t> dims);
};
} // namespace

void Upgrade::reshape(int index, ArrayRef<int64_t> dims) {
  proto::NodeProto &reshape = before.emplace_back();
  reshape.set_op_type("Reshape");
  reshape.set_name(node.name());
  reshape.add_input(node.input(index));
  reshape.add_input(addOperand("shape", HostTensor::ofInts(dims)));
  reshape.add_output(node.output(0) + ".operand");
  node.set_input(index, reshape.output(0));
}

// The second operand lies at `axis` of the first one, or at its end.
static void layAtAxis(Upgrade &up) {
  auto whole = up.dims(0), part = up.dims(1);
  int64_t axis = getInt(up.node, "axis", -1);
  bool broadcasts = getInt(up.node, "broadcast", 0);
  drop(up.node, {"axis", "broadcast"});
  if (!broadcasts || axis == -1 || !whole || !part)
    return;
  int64_t rank = whole->size();
  axis += axis < 0 ? rank : 0;
  int64_t behind = rank - axis - int64_t(part->size());
  if (axis < 0 || behind < 0) {
    up.error = "lays its second operand at an axis where it does not fit";
    return;
  }
  Dims dims = *part;
  dims.append(behind, 1);
  if (behind > 0)
    up.reshape(1, dims);
}

// A slope for each channel.
static void layAtChannels(Upgrade &up) {
  auto whole = up.dims(0), slope = up.dims(1);
  if (!whole || !slope || slope->size() != 1 || (*slope)[0] == 1 ||
      whole->size() < 3)
    return;
  Dims dims = *slope;
  dims.append(whole->size() - 2, 1);
  up.reshape(1, dims);
}

static void upgradeBatchNorm(Upgrade &up) {
  if (getInt(up.node, "spatial", 1) == 0)
    up.error = "has spatial=0, statistics for every element, which zc does not "
               "compute; expected spatial=1";
  drop(up.node, {"spatial", "is_test"});
  while (up.node.output_size() > 1)
    up.node.mutable_output()->RemoveLast();
}

static void upgradeCast(Upgrade &up) {
  const proto::AttributeProto *to = find(up.node, "to");
  proto::TensorProto::DataType type = proto::TensorProto::UNDEFINED;
  if (!to || !proto::TensorProto::DataType_Parse(to->s(), &type))
    up.error = "converts to no type that ONNX has";
  drop(up.node, {"to"});
  add(up.node, "to", proto::AttributeProto::INT).set_i(type);
}

static void upgradeTile(Upgrade &up) {
  auto dims = up.dims(0);
  bool known = up.inputs.size() == 3 && dims && up.inputs[1]->constant &&
               up.inputs[2]->constant;
  int64_t axis = known ? up.inputs[2]->constant->getInt(0) : -1;
  if (axis < 0 || axis >= int64_t(dims->size())) {
    up.error = "expected constant tiles and axis";
    return;
  }
  Dims repeats(dims->size(), 1);
  repeats[axis] = up.inputs[1]->constant->getInt(0);
  up.node.mutable_input()->RemoveLast();
  up.node.set_input(1, up.addOperand("repeats", HostTensor::ofInts(repeats)));
}

static void upgradePool(Upgrade &up) {
  const proto::AttributeProto *p = find(up.node, "p");
  int64_t power = p ? int64_t(p->f()) : 2;
  drop(up.node, {"p"});
  add(up.node, "p", proto::AttributeProto::INT).set_i(power);
}

static void upgradePad(Upgrade &up) {
  for (proto::AttributeProto &attribute : *up.node.mutable_attribute())
    if (attribute.name() == "paddings")
      attribute.set_name("pads");
}

static void upgradeSplit(Upgrade &up) {
  if (up.node.input_size() < 2)
    return;
  if (!up.inputs[1]->constant) {
    up.error = "expected constant sizes to split into";
    return;
  }
  const HostTensor &sizes = *up.inputs[1]->constant;
  up.node.mutable_input()->RemoveLast();
  drop(up.node, {"split"});
  proto::AttributeProto &split =
      add(up.node, "split", proto::AttributeProto::INTS);
  for (int64_t i = 0; i < sizes.getNumStored(); ++i)
    split.add_ints(sizes.getInt(i));
}

// The shape was an attribute.
static void upgradeReshape(Upgrade &up) {
  const proto::AttributeProto *shape = find(up.node, "shape");
  if (!shape) {
    up.error = "expected a shape";
    return;
  }
  up.node.add_input(up.addOperand(
      "shape",
      HostTensor::ofInts(Dims(shape->ints().begin(), shape->ints().end()))));
  drop(up.node, {"shape"});
}

static void upgradeConcat(Upgrade &up) {
  if (!find(up.node, "axis"))
    add(up.node, "axis", proto::AttributeProto::INT).set_i(1);
}

static HostTensor makeFloats(ArrayRef<float> values) {
  HostTensor tensor(proto::TensorProto::FLOAT, {int64_t(values.size())});
  tensor.floats.assign(values.begin(), values.end());
  return tensor;
}

// The scales of `all` that make a dim smaller, or the others; 1 elsewhere.
static HostTensor pickScales(const HostTensor &all, bool smaller) {
  HostTensor scales = all.dense();
  for (double &scale : scales.floats)
    if ((scale < 1) != smaller)
      scale = 1;
  return scales;
}

// Places were scaled from the first element's, and cut off; Resize took the
// next element where it made a dim smaller.
static void roundUpSmaller(Upgrade &up) {
  const HostTensor *scales =
      up.inputs.size() > 1 ? up.inputs[1]->constant.get() : nullptr;
  if (!scales || !scales->isFloat() ||
      llvm::none_of(scales->floats, [](double scale) { return scale < 1; }))
    return;
  proto::NodeProto &smaller = up.before.emplace_back(up.node);
  for (proto::AttributeProto &attribute : *smaller.mutable_attribute())
    if (attribute.name() == "nearest_mode")
      attribute.set_s("ceil");
  smaller.set_input(2, up.addOperand("smaller", pickScales(*scales, true)));
  smaller.set_output(0, up.node.output(0) + ".smaller");
  up.node.set_input(0, smaller.output(0));
  up.node.set_input(2, up.addOperand("larger", pickScales(*scales, false)));
}

static void upgradeResize(Upgrade &up) {
  const bool isResize = up.node.op_type() == "Resize";
  const proto::AttributeProto *scales = find(up.node, "scales");
  const proto::AttributeProto *height = find(up.node, "height_scale");
  const proto::AttributeProto *width = find(up.node, "width_scale");
  std::string operand;
  if (up.node.input_size() > 1)
    operand = up.node.input(1);
  else if (scales)
    operand = up.addOperand(
        "scales", makeFloats(SmallVector<float>(scales->floats().begin(),
                                                scales->floats().end())));
  else if (height && width)
    operand =
        up.addOperand("scales", makeFloats({1, 1, height->f(), width->f()}));
  else
    up.error = "expected scales";
  const proto::AttributeProto *mode = find(up.node, "mode");
  std::string how = mode ? mode->s() : "nearest";
  up.node.clear_attribute();
  up.node.set_op_type("Resize");
  auto set = [&](const char *name, const std::string &value) {
    add(up.node, name, proto::AttributeProto::STRING).set_s(value);
  };
  set("mode", how == "bilinear" ? "linear" : how);
  set("coordinate_transformation_mode", "asymmetric");
  set("nearest_mode", "floor");
  std::string input = up.node.input(0);
  up.node.clear_input();
  for (const std::string &each : {input, std::string(), operand})
    up.node.add_input(each);
  if (isResize && how == "nearest")
    roundUpSmaller(up);
}

static void upgrade(Upgrade &up) {
  using Change = void (*)(Upgrade &);
  StringRef op = up.node.op_type();
  auto change =
      llvm::StringSwitch<Change>(op)
          .Cases({"Add", "Sub", "Mul", "Div", "Pow"}, layAtAxis)
          .Cases({"And", "Or", "Xor", "Equal", "Greater", "Less"}, layAtAxis)
          .Case("PRelu", layAtChannels)
          .Case("BatchNormalization", upgradeBatchNorm)
          .Case("Cast", upgradeCast)
          .Case("Tile", upgradeTile)
          .Cases({"LpPool", "GlobalLpPool"}, upgradePool)
          .Case("Pad", upgradePad)
          .Case("Split", upgradeSplit)
          .Case("Reshape", upgradeReshape)
          .Case("Concat", upgradeConcat)
          .Cases({"Upsample", "Resize"}, upgradeResize)
          .Default(nullptr);
  drop(up.node, {"consumed_inputs"});
  if (op == "Gemm")
    drop(up.node, {"broadcast"});
  if (op == "Dropout")
    drop(up.node, {"is_test"});
  if (op == "LSTM" || op == "GRU" || op == "RNN")
    drop(up.node, {"output_sequence"});
  if (change)
    change(up);
}

bool GraphImporter::importOld(const proto::NodeProto &node,
                              const Outputs &inputs, int64_t version,
                              Scope &scope) {
  int opset =
      node.domain().empty() ? getLaterOpset(node.op_type(), version) : 0;
  if (opset == 0)
    return false;
  Upgrade up{node, inputs, version, {}, {}, ""};
  upgrade(up);
  for (int i = 1; i < node.output_size(); ++i)
    if (i >= up.node.output_size() && isUsed(node.output(i)))
      up.error = "gives '" + node.output(i) + "', which zc does not compute";
  if (!up.error.empty()) {
    emitFailure(getLocation(node, scope)) << up.error;
    defineUnknown(node, scope);
    return true;
  }
  Scope later;
  later.parent = &scope;
  later.attributes = scope.attributes;
  later.opsets = scope.opsets;
  later.opsets[""] = opset;
  later.prefix = scope.prefix;
  later.module = scope.module;
  later.depth = scope.depth;
  for (auto &[name, value] : up.constants)
    define(name, makeConstant(scope.prefix + name, std::move(value)), later);
  for (const proto::NodeProto &each : up.before) {
    later.opsets[""] = std::max(opset, 7); // Reshape by an operand
    importNode(each, later);
    later.opsets[""] = opset;
  }
  importNode(up.node, later);
  for (const std::string &output : node.output())
    define(output, lookUp(output, later), scope);
  return true;
}
