// Loop and Scan whose number of rounds is known are their bodies as many times:
// exporters write bags of embeddings and loops over a sequence so. One whose
// rounds depend on values is its body as often as --max-trips says; a round
// that the loop would not have made changes nothing.
#include "compiler/Import/ConstantFolder.h"
#include "compiler/Import/GraphImporter.h"
#include "compiler/Import/Types.h"

using namespace mlir;
using namespace zc;

// More would be a program that nobody can schedule in a reasonable time.
static constexpr int64_t kMaxRounds = 1 << 14;

// ConcatFromSequence (11) is in this opset, and Unsqueeze has its axes as an
// operand.
static constexpr int kStackOpset = 13;

// All reductions have their axes as an operand.
static constexpr int kComputeOpset = 18;

static const proto::GraphProto &getBody(const proto::NodeProto &node) {
  for (const proto::AttributeProto &attribute : node.attribute())
    if (attribute.name() == "body")
      return attribute.g();
  return proto::GraphProto::default_instance();
}

static HostTensor makeScalar(int32_t dataType, int64_t value) {
  HostTensor scalar(dataType, {});
  scalar.ints[0] = value;
  return scalar;
}

/// Element `index` of a list attribute; 0 where it is left out.
static int64_t getElement(const proto::NodeProto &node, StringRef name,
                          int64_t index) {
  for (const proto::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name && index < attribute.ints_size())
      return attribute.ints(index);
  return 0;
}

GraphImporter::Scope GraphImporter::enterRound(const proto::NodeProto &node,
                                               int64_t round, Scope &scope) {
  Scope body;
  body.parent = &scope;
  body.attributes = scope.attributes;
  body.opsets = scope.opsets;
  const std::string &name = node.name().empty() ? node.output(0) : node.name();
  body.prefix = scope.prefix + name + "/" + std::to_string(round) + "/";
  body.module = scope.module;
  body.depth = scope.depth;
  return body;
}

// One value of every round, put together along a new dim.
void GraphImporter::stackRounds(const std::string &output,
                                const Outputs &elements, int64_t axis,
                                const proto::NodeProto &node, Scope &scope) {
  if (output.empty())
    return;
  if (elements.empty()) {
    emitFailure(getLocation(node, scope))
        << "gives '" << output
        << "' without elements; zc needs every dim to be at least 1";
    return define(output, makeValue(ImportedValue::Unknown, output), scope);
  }
  ImportedValue *sequence =
      makeValue(ImportedValue::Sequence, scope.prefix + output);
  sequence->elements = elements;
  define(output + ".rounds", sequence, scope);
  proto::NodeProto stack;
  stack.set_op_type("ConcatFromSequence");
  stack.set_name(node.name());
  stack.add_input(output + ".rounds");
  stack.add_output(output);
  for (auto [name, value] : {std::pair("axis", axis), {"new_axis", 1}}) {
    proto::AttributeProto *attribute = stack.add_attribute();
    attribute->set_name(name);
    attribute->set_type(proto::AttributeProto::INT);
    attribute->set_i(value);
  }
  // As it is in the opset that brought its operators in this form.
  int version =
      std::exchange(scope.opsets[""], std::max(scope.opsets[""], kStackOpset));
  importNode(stack, scope);
  scope.opsets[""] = version;
}

/// Whether a Loop goes on; nothing, after a diagnostic, if that is not known.
static bool isKnown(const ImportedValue *value) {
  return value->kind == ImportedValue::Absent ||
         (value->kind == ImportedValue::Tensor && value->constant &&
          value->foldable);
}

// The result of one node of the newest operators.
ImportedValue *
GraphImporter::compute(const char *op, const Outputs &operands,
                       const proto::NodeProto &node, Scope &scope,
                       std::vector<proto::AttributeProto> attributes) {
  proto::NodeProto made;
  made.set_op_type(op);
  for (proto::AttributeProto &attribute : attributes)
    *made.add_attribute() = std::move(attribute);
  std::string name = node.output(0) + ".bound" + std::to_string(numBounds++);
  made.set_name(name);
  made.add_output(name);
  for (auto [index, operand] : llvm::enumerate(operands)) {
    made.add_input(name + "." + std::to_string(index));
    define(made.input(index), operand, scope);
  }
  int version = std::exchange(scope.opsets[""],
                              std::max(scope.opsets[""], kComputeOpset));
  importNode(made, scope);
  scope.opsets[""] = version;
  return lookUp(name, scope);
}

ImportedValue *GraphImporter::makeScalarLike(const ImportedValue &like,
                                             double value) {
  HostTensor scalar(like.type.tensor_type().elem_type(), {});
  if (scalar.isFloat())
    scalar.set(0, value);
  else
    scalar.set(0, static_cast<int64_t>(value));
  return makeConstant(like.name + ".scalar", std::move(scalar));
}

// A condition may be a tensor of one element; as a scalar it broadcasts to all.
ImportedValue *GraphImporter::toScalar(ImportedValue *value,
                                       const proto::NodeProto &node,
                                       Scope &scope) {
  if (value->kind != ImportedValue::Tensor ||
      getStaticDims(value->type)->empty())
    return value;
  ImportedValue *none =
      makeConstant(value->name + ".none", HostTensor::ofInts({}));
  return compute("Reshape", {value, none}, node, scope);
}

// Whether the loop makes round `round`; null: it does in any case.
ImportedValue *GraphImporter::makesRound(ImportedValue *condition,
                                         ImportedValue *count, int64_t round,
                                         const proto::NodeProto &node,
                                         Scope &scope) {
  ImportedValue *within = nullptr;
  if (!isKnown(count))
    within =
        compute("Greater", {count, makeScalarLike(*count, round)}, node, scope);
  if (!condition || isKnown(condition))
    return within;
  return within ? compute("And", {condition, within}, node, scope) : condition;
}

// `changed` where the loop made the round, else `before`; failure where they
// are not of one type.
FailureOr<ImportedValue *>
GraphImporter::chooseState(ImportedValue *condition, ImportedValue *changed,
                           ImportedValue *before, const proto::NodeProto &node,
                           Scope &scope) {
  if (!condition || changed == before)
    return changed;
  if (changed->kind != ImportedValue::Tensor ||
      before->kind != ImportedValue::Tensor ||
      *getStaticDims(changed->type) != *getStaticDims(before->type))
    return failure();
  return compute("Where", {condition, changed, before}, node, scope);
}

// A round that the loop does not make is computed all the same, from what the
// loop began with: behind its end the body may divide by 0, and then even a
// result that nobody takes has no gradient.
GraphImporter::Outputs GraphImporter::takeBack(ImportedValue *active,
                                               Outputs state,
                                               const Outputs &initial,
                                               const proto::NodeProto &node,
                                               Scope &scope) {
  for (auto [value, first] : llvm::zip_equal(state, initial))
    if (value->kind == ImportedValue::Tensor &&
        isFloatType(value->type.tensor_type().elem_type()))
      if (auto safe = chooseState(active, value, first, node, scope);
          succeeded(safe))
        value = *safe;
  return state;
}

// Body and conditions of a loop of at most `options.maxTrips` rounds.
void GraphImporter::importBoundedLoop(const proto::NodeProto &node,
                                      const Outputs &inputs, Scope &scope) {
  const proto::GraphProto &body = getBody(node);
  const int carried = body.input_size() - 2;
  Location location = getLocation(node, scope);
  int64_t rounds = options.maxTrips;
  bool mayGoOn = true;
  if (isKnown(inputs[0]) && inputs[0]->constant) {
    mayGoOn = inputs[0]->constant->getInt(0) > rounds;
    rounds = std::min(rounds, inputs[0]->constant->getInt(0));
  }
  ImportedValue *count = toScalar(inputs[0], node, scope);
  ImportedValue *condition =
      isKnown(inputs[1]) ? nullptr : toScalar(inputs[1], node, scope);
  bool ended = isKnown(inputs[1]) && inputs[1]->constant &&
               !inputs[1]->constant->getInt(0);
  const Outputs initial(inputs.begin() + 2, inputs.begin() + 2 + carried);
  Outputs state = initial;
  std::vector<Outputs> collected(body.output_size() - 1 - carried);
  for (int64_t round = 0; !ended && round < rounds; ++round) {
    ImportedValue *active = makesRound(condition, count, round, node, scope);
    Scope inner = enterRound(node, round, scope);
    define(body.input(0).name(),
           makeConstant(inner.prefix + body.input(0).name(),
                        makeScalar(proto::TensorProto::INT64, round)),
           inner);
    define(body.input(1).name(),
           makeConstant(inner.prefix + body.input(1).name(),
                        makeScalar(proto::TensorProto::BOOL, 1)),
           inner);
    const Outputs given = takeBack(active, state, initial, node, scope);
    for (int i = 0; i < carried; ++i)
      define(body.input(2 + i).name(), given[i], inner);
    importNodes(body.node(), inner);
    auto result = [&](int index) {
      return lookUp(body.output(index).name(), inner);
    };
    for (int i = 0; i < body.output_size(); ++i)
      if (result(i)->kind == ImportedValue::Unknown)
        return defineUnknown(node, scope); // reported where it is computed
    for (int i = 0; i < carried; ++i) {
      auto chosen = chooseState(active, result(1 + i), state[i], node, scope);
      if (mlir::failed(chosen)) {
        emitFailure(location)
            << "carries '" << body.output(1 + i).name()
            << "', whose shape differs from round to round; under --max-trips "
               "it must stay the same";
        return defineUnknown(node, scope);
      }
      state[i] = *chosen;
    }
    for (auto [index, values] : llvm::enumerate(collected)) {
      ImportedValue *value = result(1 + carried + index);
      values.push_back(
          active ? compute("Where", {active, value, makeScalarLike(*value, 0)},
                           node, scope)
                 : value);
    }
    ImportedValue *next = result(0);
    if (!isKnown(next)) {
      next = toScalar(next, node, scope);
      condition =
          condition ? compute("And", {condition, next}, node, scope) : next;
    } else {
      ended = !next->constant->getInt(0);
    }
  }
  // Too few rounds must not pass for enough.
  if (mayGoOn && !ended)
    noteShortBound(makesRound(condition, count, rounds, node, scope), node,
                   scope);
  for (int i = 0; i < node.output_size(); ++i)
    if (i < carried)
      define(node.output(i), state[i], scope);
    else
      stackRounds(node.output(i), collected[i - carried], 0, node, scope);
  if (node.output_size() > carried)
    emitWarning(location) << "stacks " << rounds
                          << " rounds (--max-trips); those that the loop does "
                             "not make are zeros";
}

// Whether the loop's body hands on the condition that it is given, as that of
// Range does: nothing but the number of rounds ends it.
static bool keepsCondition(const proto::GraphProto &body) {
  std::string name = body.output(0).name();
  for (int i = body.node_size() - 1; i >= 0; --i)
    if (const proto::NodeProto &node = body.node(i);
        node.op_type() == "Identity" && node.domain().empty() &&
        node.output(0) == name)
      name = node.input(0);
  return name == body.input(1).name();
}

void GraphImporter::importLoop(const proto::NodeProto &node,
                               const Outputs &inputs, Scope &scope) {
  const proto::GraphProto &body = getBody(node);
  int carried = body.input_size() - 2;
  Location location = getLocation(node, scope);
  auto refuse = [&](const char *what) {
    emitFailure(location) << what
                          << "; zc's schedules have no loops, so it needs the "
                             "number of rounds before the run";
    defineUnknown(node, scope);
  };
  auto refuseUnknown =
      [&] {
        emitFailure(location)
            << "goes on by a value that is not known; zc's schedules have no "
               "loops, so it needs the number of rounds before the run, or the "
               "most there can be: --max-trips N";
        defineUnknown(node, scope);
      };
  if (carried < 0 || body.output_size() <= carried ||
      body.output_size() <= node.output_size() ||
      static_cast<int>(inputs.size()) < 2 + carried)
    return refuse("has a body that does not fit its operands");
  if (!isKnown(inputs[0]) || !isKnown(inputs[1]))
    return options.maxTrips ? importBoundedLoop(node, inputs, scope)
                            : refuseUnknown();
  int64_t rounds =
      inputs[0]->constant ? inputs[0]->constant->getInt(0) : kMaxRounds + 1;
  bool goesOn = !inputs[1]->constant || inputs[1]->constant->getInt(0);
  if (goesOn && rounds > kMaxRounds && keepsCondition(body))
    return refuse("goes on for more than 16,384 rounds");
  Outputs state(inputs.begin() + 2, inputs.begin() + 2 + carried);
  std::vector<Outputs> collected(body.output_size() - 1 - carried);
  for (int64_t round = 0; goesOn && round < rounds; ++round) {
    if (round == kMaxRounds)
      return refuse("goes on for more than 16,384 rounds");
    Scope inner = enterRound(node, round, scope);
    auto give = [&](int index, ImportedValue *value) {
      define(body.input(index).name(), value, inner);
    };
    give(0, makeConstant(inner.prefix + body.input(0).name(),
                         makeScalar(proto::TensorProto::INT64, round)));
    give(1, makeConstant(inner.prefix + body.input(1).name(),
                         makeScalar(proto::TensorProto::BOOL, 1)));
    for (int i = 0; i < carried; ++i)
      give(2 + i, state[i]);
    importNodes(body.node(), inner);
    auto result = [&](int index) {
      return lookUp(body.output(index).name(), inner);
    };
    ImportedValue *condition = result(0);
    if (condition->kind == ImportedValue::Unknown)
      return defineUnknown(node, scope); // reported where it is computed
    if (!isKnown(condition))             // the rounds so far are erased as dead
      return options.maxTrips ? importBoundedLoop(node, inputs, scope)
                              : refuseUnknown();
    goesOn = condition->constant->getInt(0);
    for (int i = 0; i < carried; ++i)
      state[i] = result(1 + i);
    for (auto [index, values] : llvm::enumerate(collected))
      values.push_back(result(1 + carried + index));
  }
  for (int i = 0; i < node.output_size(); ++i)
    if (i < carried)
      define(node.output(i), state[i], scope);
    else
      stackRounds(node.output(i), collected[i - carried], 0, node, scope);
}

void GraphImporter::importScan(const proto::NodeProto &node,
                               const Outputs &inputs, Scope &scope) {
  const proto::GraphProto &body = getBody(node);
  FoldRequest request{node, {}, 0};
  int scanned = request.getInt("num_scan_inputs", 0);
  int carried = body.input_size() - scanned;
  Location location = getLocation(node, scope);
  if (scope.opsets[""] < 9) {
    emitFailure(location)
        << "scans every sample by itself, as opset 8 has it; expected the form "
           "of opset 9: export the model again, or convert it "
           "(onnx.version_converter)";
    return defineUnknown(node, scope);
  }
  std::optional<int64_t> rounds;
  std::vector<int64_t> axes;
  for (int i = 0; i < scanned && carried + i < static_cast<int>(inputs.size());
       ++i) {
    Dims dims = *getStaticDims(inputs[carried + i]->type);
    auto axis =
        normalizeAxis(getElement(node, "scan_input_axes", i), dims.size());
    if (!axis || (rounds && *rounds != dims[*axis]))
      break;
    rounds = dims[*axis];
    axes.push_back(*axis);
  }
  if (scanned < 1 || carried < 0 || static_cast<int>(axes.size()) != scanned ||
      body.output_size() < carried || body.output_size() < node.output_size() ||
      *rounds > kMaxRounds) {
    emitFailure(location) << "expected inputs to scan of one length of at most "
                             "16,384, and a body that fits them";
    return defineUnknown(node, scope);
  }
  Outputs state(inputs.begin(), inputs.begin() + carried);
  std::vector<Outputs> collected(body.output_size() - carried);
  for (int64_t round = 0; round < *rounds; ++round) {
    Scope inner = enterRound(node, round, scope);
    for (int i = 0; i < carried; ++i)
      define(body.input(i).name(), state[i], inner);
    for (int i = 0; i < scanned; ++i) {
      bool backwards = getElement(node, "scan_input_directions", i);
      std::string at = body.input(carried + i).name() + ".at";
      define(at,
             makeConstant(inner.prefix + at,
                          makeScalar(proto::TensorProto::INT64,
                                     backwards ? *rounds - 1 - round : round)),
             inner);
      proto::NodeProto take;
      take.set_op_type("Gather");
      take.set_name(body.input(carried + i).name());
      take.add_input(node.input(carried + i));
      take.add_input(at);
      take.add_output(body.input(carried + i).name());
      proto::AttributeProto *axis = take.add_attribute();
      axis->set_name("axis");
      axis->set_type(proto::AttributeProto::INT);
      axis->set_i(axes[i]);
      importNode(take, inner);
    }
    importNodes(body.node(), inner);
    for (int i = 0; i < carried; ++i)
      state[i] = lookUp(body.output(i).name(), inner);
    for (auto [index, values] : llvm::enumerate(collected))
      values.push_back(lookUp(body.output(carried + index).name(), inner));
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (i < carried) {
      define(node.output(i), state[i], scope);
      continue;
    }
    Outputs &values = collected[i - carried];
    if (getElement(node, "scan_output_directions", i - carried))
      std::reverse(values.begin(), values.end());
    stackRounds(node.output(i), values,
                getElement(node, "scan_output_axes", i - carried), node, scope);
  }
}
