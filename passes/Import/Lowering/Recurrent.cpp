//===- Recurrent.cpp - RNN, GRU, LSTM -------------------------------------===//
//
// One matmul projects the inputs of all steps; train.split then makes one value
// of each step, and the steps follow one another as ops. Elementwise parts of
// equal steps become equal kernels, which are compiled once.
//
//===----------------------------------------------------------------------===//
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"
#include "llvm/ADT/StringSwitch.h"
#include <functional>

using namespace mlir;
using namespace zc;

namespace {

using Activation = std::function<Value(TensorBuilder &, Value)>;

/// The state that one step hands to the next; only LSTM has `cell`.
struct State {
  Value hidden, cell;
};

/// One direction of the node: its slices of the operands, no dim for them.
struct Direction {
  TensorBuilder &build;
  int64_t hidden;
  SmallVector<Activation, 3> activations;
  std::optional<double> clip = {};
  bool coupled = false;      // LSTM: input_forget
  bool linearReset = false;  // GRU: linear_before_reset
  Value recurrence = {};     // [gates hidden, hidden]
  Value recurrenceBias = {}; // [gates hidden]; null: none
  Value peepholes = {};      // [3 hidden]; null: none

  Value gate(Value gates, int64_t index) {
    return build.slice(gates, rankOf(gates) - 1, index * hidden, hidden);
  }
  Value activate(unsigned index, Value x) {
    if (clip)
      x = build.min(build.max(x, build.splatLike(x, -*clip)),
                    build.splatLike(x, *clip));
    return activations[index](build, x);
  }
  /// h times the rows of the recurrence that belong to `count` gates.
  Value recur(Value h, int64_t firstGate, int64_t count) {
    Value rows = build.slice(recurrence, 0, firstGate * hidden, count * hidden);
    return build.matmul(h, rows, false, true);
  }
};

/// One step: the projected input [batch, gates hidden] and what came before.
using CellFunction = State (*)(Direction &, Value projected, State before);

/// The operator, beyond its attributes.
struct Kind {
  int64_t gates;
  CellFunction cell;
  SmallVector<StringRef> activations; // by default
};

} // namespace

// --- Cells -----------------------------------------------------------------

static State simpleCell(Direction &d, Value projected, State before) {
  Value sum = d.build.add(projected, d.recur(before.hidden, 0, 1));
  return {d.activate(0, sum), {}};
}

static State gruCell(Direction &d, Value projected, State before) {
  TensorBuilder &build = d.build;
  Value h = before.hidden;
  Value gates =
      build.add(build.slice(projected, 1, 0, 2 * d.hidden), d.recur(h, 0, 2));
  Value update = d.activate(0, d.gate(gates, 0));
  Value reset = d.activate(0, d.gate(gates, 1));
  Value recurred;
  if (d.linearReset) {
    recurred = d.recur(h, 2, 1);
    if (d.recurrenceBias)
      recurred =
          build.add(recurred, build.broadcast(d.gate(d.recurrenceBias, 2),
                                              shapeOf(recurred)));
    recurred = build.mul(reset, recurred);
  } else {
    recurred = d.recur(build.mul(reset, h), 2, 1);
  }
  Value candidate = d.activate(1, build.add(d.gate(projected, 2), recurred));
  Value kept = build.mul(update, build.sub(h, candidate));
  return {build.add(candidate, kept), {}};
}

// The cell through a peephole, [hidden] weights for every sample.
static Value peep(Direction &d, Value sum, int64_t index, Value cell) {
  if (!d.peepholes)
    return sum;
  Value weights = d.build.broadcast(d.gate(d.peepholes, index), shapeOf(cell));
  return d.build.add(sum, d.build.mul(weights, cell));
}

// ONNX's order of gates is input, output, forget, cell.
static State lstmCell(Direction &d, Value projected, State before) {
  TensorBuilder &build = d.build;
  Value gates = build.add(projected, d.recur(before.hidden, 0, 4));
  Value input = d.activate(0, peep(d, d.gate(gates, 0), 0, before.cell));
  Value forget;
  if (d.coupled)
    forget = build.sub(build.splatLike(input, 1), input);
  else
    forget = d.activate(0, peep(d, d.gate(gates, 2), 2, before.cell));
  Value candidate = d.activate(1, d.gate(gates, 3));
  Value cell =
      build.add(build.mul(forget, before.cell), build.mul(input, candidate));
  Value output = d.activate(0, peep(d, d.gate(gates, 1), 1, cell));
  return {build.mul(output, d.activations[2](build, cell)), cell};
}

// --- Attributes ------------------------------------------------------------

namespace {
/// The numbers of activation_alpha or activation_beta: each activation that
/// has one takes the next.
class Scales {
public:
  Scales(NodeContext &context, StringRef name)
      : given(context.node.getNodeAttributes().getAs<DenseF32ArrayAttr>(name)) {
  }

  double next(double absent) {
    return given && used < given.size() ? given[used++] : absent;
  }

private:
  DenseF32ArrayAttr given;
  int64_t used = 0;
};
} // namespace

template <typename Op> static Value applyOp(TensorBuilder &build, Value x) {
  return build.unary<Op>(x);
}

// x where x > bound, else `other`.
static Value selectAbove(TensorBuilder &build, Value x, double bound,
                         Value other) {
  return build.select(build.compare(Predicate::Gt, x, bound), x, other);
}

// The exponential never sees a positive x: it could overflow.
static Value eluOf(TensorBuilder &build, Value x, double alpha) {
  Value safe = build.min(x, build.splatLike(x, 0));
  return selectAbove(build, x, 0,
                     build.mul(build.unary<train::Expm1Op>(safe), alpha));
}

/// An activation without numbers; null for another.
static Activation findPlain(StringRef name) {
  return llvm::StringSwitch<Activation>(name)
      .Case("sigmoid", applyOp<train::SigmoidOp>)
      .Case("tanh", applyOp<train::TanhOp>)
      .Case("relu", applyOp<train::ReluOp>)
      .Case("softsign", applyOp<train::SoftsignOp>)
      .Case("softplus", applyOp<train::SoftplusOp>)
      .Default(nullptr);
}

/// An activation with numbers, which are those of ONNX's operators by default.
static Activation findScaled(StringRef name, Scales &alphas, Scales &betas) {
  if (name == "affine" || name == "scaledtanh" || name == "hardsigmoid") {
    bool hard = name == "hardsigmoid";
    double alpha = alphas.next(hard ? 0.2 : 1);
    double beta = betas.next(hard ? 0.5 : name == "affine" ? 0 : 1);
    if (name == "scaledtanh")
      return [=](TensorBuilder &build, Value x) {
        return build.mul(build.unary<train::TanhOp>(build.mul(x, beta)), alpha);
      };
    return [=](TensorBuilder &build, Value x) {
      Value line = build.add(build.mul(x, alpha), beta);
      return hard ? build.min(build.max(line, build.splatLike(x, 0)),
                              build.splatLike(x, 1))
                  : line;
    };
  }
  if (name != "leakyrelu" && name != "thresholdedrelu" && name != "elu")
    return nullptr;
  double alpha = alphas.next(name == "leakyrelu" ? 0.01 : 1);
  if (name == "leakyrelu")
    return [=](TensorBuilder &build, Value x) {
      return selectAbove(build, x, 0, build.mul(x, alpha));
    };
  if (name == "elu")
    return
        [=](TensorBuilder &build, Value x) { return eluOf(build, x, alpha); };
  return [=](TensorBuilder &build, Value x) {
    return selectAbove(build, x, alpha, build.splatLike(x, 0));
  };
}

static FailureOr<SmallVector<Activation, 3>>
readActivations(NodeContext &context, const Kind &kind, unsigned direction,
                unsigned directions) {
  size_t count = kind.activations.size();
  SmallVector<StringRef> names;
  for (unsigned repeat = 0; repeat < directions; ++repeat)
    llvm::append_range(names, kind.activations);
  if (auto given =
          context.node.getNodeAttributes().getAs<ArrayAttr>("activations")) {
    if (given.size() != names.size()) {
      context.emitError() << "expected " << names.size()
                          << " activations, found " << given.size();
      return failure();
    }
    for (auto [name, attribute] : llvm::zip(names, given))
      name = cast<StringAttr>(attribute).getValue();
  }
  // All directions are read, since those before this one take their numbers
  // first.
  Scales alphas(context, "activation_alpha"), betas(context, "activation_beta");
  SmallVector<Activation, 3> activations;
  for (StringRef name : names) {
    std::string lower = name.lower();
    Activation activation = findPlain(lower);
    if (!activation)
      activation = findScaled(lower, alphas, betas);
    if (!activation) {
      context.emitError() << "expected activations of ONNX's recurrent "
                             "operators, such as Sigmoid or Elu, found '"
                          << name << "'";
      return failure();
    }
    activations.push_back(std::move(activation));
  }
  return SmallVector<Activation, 3>(
      ArrayRef(activations).slice(direction * count, count));
}

// --- The node --------------------------------------------------------------

namespace {

/// Operands of RNN and GRU; LSTM has two more.
enum Operand : unsigned {
  kInput,
  kWeight,
  kRecurrence,
  kBias,
  kLengths,
  kInitialHidden,
  kInitialCell,
  kPeepholes
};

class RecurrentLowering {
public:
  RecurrentLowering(NodeContext &context, const Kind &kind)
      : context(context), build(context.build), kind(kind) {}

  LogicalResult run();

private:
  LogicalResult readShape();
  LogicalResult checkShape(unsigned operand, StringRef name,
                           ArrayRef<int64_t> expected);
  LogicalResult checkShapes();
  FailureOr<Direction> readDirection(unsigned index);
  Value ofDirection(unsigned operand, unsigned index, ArrayRef<int64_t> shape);
  Value project(Direction &direction, unsigned index);
  Value initialState(unsigned operand, unsigned index);
  Value runsAt(int64_t at);
  LogicalResult runDirection(unsigned index, bool backwards);
  LogicalResult setResults();
  Value stack(ArrayRef<Value> values, ArrayRef<int64_t> part, int64_t dim);

  NodeContext &context;
  TensorBuilder &build;
  const Kind &kind;
  bool batchFirst = false;
  unsigned directions = 1;
  int64_t steps = 0, batch = 0, size = 0, hidden = 0;
  Value input;                // [steps batch, size]
  SmallVector<Value> outputs; // of each direction, [steps, 1, batch, hidden]
  SmallVector<State> finalStates; // of each direction
};

} // namespace

LogicalResult RecurrentLowering::readShape() {
  if (failed(context.requireFloat(kInput)))
    return failure();
  Value x = context.operand(kInput);
  batchFirst = context.node.getInt("layout", 0) != 0;
  ArrayRef<int64_t> recurrence = shapeOf(context.operand(kRecurrence));
  if (rankOf(x) != 3 || recurrence.size() != 3 ||
      recurrence[1] != kind.gates * recurrence[2])
    return context.emitError() << "cannot run over " << x.getType()
                               << " with the recurrence weights "
                               << context.operand(kRecurrence).getType();
  if (batchFirst)
    x = build.transpose(x, {1, 0, 2});
  steps = shapeOf(x)[0], batch = shapeOf(x)[1], size = shapeOf(x)[2];
  directions = recurrence[0], hidden = recurrence[2];
  input = build.reshape(x, {steps * batch, size});
  return success();
}

LogicalResult RecurrentLowering::checkShape(unsigned operand, StringRef name,
                                            ArrayRef<int64_t> expected) {
  Value value = context.operand(operand);
  if (!value || shapeOf(value) == expected)
    return success();
  auto type = cast<RankedTensorType>(value.getType());
  auto error = context.emitError()
               << name << " is a " << type << ", expected a "
               << RankedTensorType::get(expected, type.getElementType());
  if (operand == kInitialHidden || operand == kInitialCell)
    error << "; PyTorch's exporter writes so what it has no form for, an LSTM "
             "with proj_size: write the projection as a Linear behind it";
  return error;
}

// ONNX's inference takes the shapes of all but the first operand as they are.
LogicalResult RecurrentLowering::checkShapes() {
  int64_t rows = kind.gates * hidden, parts = directions;
  SmallVector<int64_t> state = {parts, batch, hidden};
  if (batchFirst)
    std::swap(state[0], state[1]);
  bool good = succeeded(checkShape(kWeight, "W", {parts, rows, size}));
  good &= succeeded(checkShape(kBias, "B", {parts, 2 * rows}));
  good &= succeeded(checkShape(kLengths, "sequence_lens", {batch}));
  good &= succeeded(checkShape(kInitialHidden, "initial_h", state));
  if (kind.cell != lstmCell)
    return success(good);
  good &= succeeded(checkShape(kInitialCell, "initial_c", state));
  good &= succeeded(checkShape(kPeepholes, "P", {parts, 3 * hidden}));
  return success(good);
}

// The part of an operand that is one direction's; null if it is absent.
Value RecurrentLowering::ofDirection(unsigned operand, unsigned index,
                                     ArrayRef<int64_t> shape) {
  Value value = context.operand(operand);
  if (!value)
    return {};
  bool isState = operand == kInitialHidden || operand == kInitialCell;
  int64_t dim = isState && batchFirst ? 1 : 0;
  return build.reshape(build.slice(value, dim, index, 1), shape);
}

FailureOr<Direction> RecurrentLowering::readDirection(unsigned index) {
  auto activations = readActivations(context, kind, index, directions);
  if (failed(activations))
    return failure();
  int64_t rows = kind.gates * hidden;
  Direction direction{build, hidden, *activations};
  if (context.node.hasAttribute("clip"))
    direction.clip = context.getFloat("clip", 0);
  direction.coupled = context.node.getInt("input_forget", 0) != 0;
  direction.linearReset = context.node.getInt("linear_before_reset", 0) != 0;
  direction.recurrence = ofDirection(kRecurrence, index, {rows, hidden});
  if (Value bias = ofDirection(kBias, index, {2 * rows}))
    direction.recurrenceBias = build.slice(bias, 0, rows, rows);
  if (kind.cell == lstmCell)
    direction.peepholes = ofDirection(kPeepholes, index, {3 * hidden});
  return direction;
}

// All steps' inputs times the weights, with every bias that is only added:
// [steps, batch, gates hidden].
Value RecurrentLowering::project(Direction &direction, unsigned index) {
  int64_t rows = kind.gates * hidden;
  Value weight = ofDirection(kWeight, index, {rows, size});
  Value projected = build.matmul(input, weight, false, true);
  if (direction.recurrenceBias) {
    Value bias = build.slice(ofDirection(kBias, index, {2 * rows}), 0, 0, rows);
    Value added = direction.recurrenceBias;
    if (direction.linearReset) {
      int64_t kept = rows - hidden; // the candidate's comes before the reset
      added = build.pad(build.slice(added, 0, 0, kept), {0}, {hidden});
    }
    bias = build.add(bias, added);
    projected = build.add(projected, build.broadcast(bias, shapeOf(projected)));
  }
  return build.reshape(projected, {steps, batch, rows});
}

Value RecurrentLowering::initialState(unsigned operand, unsigned index) {
  if (Value given = ofDirection(operand, index, {batch, hidden}))
    return given;
  return build.splat(
      RankedTensorType::get({batch, hidden}, elementTypeOf(input)), 0);
}

// Whether a sample's sequence has step `at`; null if all have all steps.
Value RecurrentLowering::runsAt(int64_t at) {
  Value lengths = context.operand(kLengths);
  if (!lengths)
    return {};
  return build.broadcast(
      build.compare(Predicate::Gt, lengths, static_cast<double>(at)),
      {batch, hidden}, {0});
}

// Values of shape `part` that become one along `dim`.
Value RecurrentLowering::stack(ArrayRef<Value> values, ArrayRef<int64_t> part,
                               int64_t dim) {
  SmallVector<Value> parts;
  for (Value value : values)
    parts.push_back(build.reshape(value, part));
  return build.concat(parts, dim);
}

LogicalResult RecurrentLowering::runDirection(unsigned index, bool backwards) {
  FailureOr<Direction> direction = readDirection(index);
  if (failed(direction))
    return failure();
  SmallVector<Value> inputs = build.split(project(*direction, index), 0,
                                          SmallVector<int64_t>(steps, 1));
  State state{initialState(kInitialHidden, index), {}};
  if (kind.cell == lstmCell)
    state.cell = initialState(kInitialCell, index);
  SmallVector<Value> hiddens(steps);
  for (int64_t count = 0; count < steps; ++count) {
    int64_t at = backwards ? steps - 1 - count : count;
    Value projected = build.reshape(inputs[at], {batch, kind.gates * hidden});
    State after = kind.cell(*direction, projected, state);
    hiddens[at] = after.hidden;
    // A sample whose sequence has ended keeps its state and gives zeros.
    if (Value runs = runsAt(at)) {
      hiddens[at] =
          build.select(runs, after.hidden, build.splatLike(after.hidden, 0));
      after.hidden = build.select(runs, after.hidden, state.hidden);
      if (after.cell)
        after.cell = build.select(runs, after.cell, state.cell);
    }
    state = after;
  }
  outputs.push_back(stack(hiddens, {1, 1, batch, hidden}, 0));
  finalStates.push_back(state);
  return success();
}

LogicalResult RecurrentLowering::setResults() {
  SmallVector<Value> hiddens, cells;
  for (const State &state : finalStates) {
    hiddens.push_back(state.hidden);
    if (state.cell)
      cells.push_back(state.cell);
  }
  auto setFinal = [&](unsigned result, ArrayRef<Value> values) {
    Value all = stack(values, {1, batch, hidden}, 0);
    return context.set(result,
                       batchFirst ? build.transpose(all, {1, 0, 2}) : all);
  };
  Value all = build.concat(outputs, 1);
  if (batchFirst)
    all = build.transpose(all, {2, 0, 1, 3});
  unsigned count = context.node.getNumResults();
  if (context.isUsed(0) && failed(context.set(0, all)))
    return failure();
  if (count > 1 && context.isUsed(1) && failed(setFinal(1, hiddens)))
    return failure();
  if (count > 2 && context.isUsed(2))
    return setFinal(2, cells);
  return success();
}

LogicalResult RecurrentLowering::run() {
  if (failed(readShape()))
    return failure();
  StringRef direction = context.node.getString("direction", "forward");
  if (failed(checkShapes()))
    return failure();
  if (directions != (direction == "bidirectional" ? 2u : 1u))
    return context.emitError() << "expected weights of one direction each, "
                                  "found "
                               << directions << " for '" << direction << "'";
  for (unsigned index = 0; index < directions; ++index)
    if (failed(runDirection(index, direction == "reverse" || index == 1)))
      return failure();
  return setResults();
}

static LogicalResult lowerRnn(NodeContext &context) {
  return RecurrentLowering(context, {1, simpleCell, {"Tanh"}}).run();
}

static LogicalResult lowerGru(NodeContext &context) {
  return RecurrentLowering(context, {3, gruCell, {"Sigmoid", "Tanh"}}).run();
}

static LogicalResult lowerLstm(NodeContext &context) {
  return RecurrentLowering(context, {4, lstmCell, {"Sigmoid", "Tanh", "Tanh"}})
      .run();
}

void zc::registerRecurrent(LoweringRegistry &registry) {
  registry.add("RNN", 7, 22, lowerRnn);
  registry.add("GRU", 7, 22, lowerGru);
  registry.add("LSTM", 7, 22, lowerLstm);
}
