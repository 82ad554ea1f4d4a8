// The operators that may follow a selection of bounded length: those that take
// its places one by one, and reductions over them, which leave out places that
// hold nothing. Others are refused: they would see places that are not there.
#include "compiler/Import/ConstantFolder.h"
#include "compiler/Import/GraphImporter.h"
#include "compiler/Import/Types.h"

#include "onnx/defs/attr_proto_util.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace zc;

static bool isElementwise(StringRef op) {
  return llvm::is_contained({"Abs",         "Add",
                             "And",         "Cast",
                             "Ceil",        "Celu",
                             "Clip",        "Cos",
                             "Div",         "Elu",
                             "Equal",       "Erf",
                             "Exp",         "Floor",
                             "Gelu",        "Greater",
                             "HardSwish",   "Less",
                             "LeakyRelu",   "Log",
                             "Max",         "Min",
                             "Mish",        "Mod",
                             "Mul",         "Neg",
                             "Not",         "Or",
                             "PRelu",       "Pow",
                             "Reciprocal",  "Relu",
                             "Round",       "Selu",
                             "Sigmoid",     "Sign",
                             "Sin",         "Softplus",
                             "Softsign",    "Sqrt",
                             "Sub",         "Swish",
                             "Tanh",        "Where",
                             "HardSigmoid", "GreaterOrEqual",
                             "LessOrEqual", "Xor"},
                            op);
}

// The neutral element of a reduction; nothing if zc does not leave places out
// of the operator.
static std::optional<double> neutralOf(StringRef op) {
  const double most = std::numeric_limits<double>::infinity();
  return llvm::StringSwitch<std::optional<double>>(op)
      .Cases({"ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2",
              "ReduceSumSquare"},
             0.0)
      .Case("ReduceProd", 1.0)
      .Cases({"ReduceMax", "ReduceLogSumExp"}, -most)
      .Case("ReduceMin", most)
      .Default(std::nullopt);
}

// Whether an operator has places without a slope, or values without an end, in
// its operand `index`; it has neither at 1.
static bool mayLackSlope(StringRef op, unsigned index) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"Exp", "Log", "Pow", "Reciprocal", "Sqrt"}, index == 0)
      .Cases({"Div", "Mod"}, index == 1)
      .Cases({"ReduceL2", "ReduceLogSumExp", "ReduceProd"}, index == 0)
      .Default(false);
}

// Whether `op` has a slope at each of an operand's known numbers. Quotients
// have none at 0, and powers none by their exponents where the base is 0 or
// below.
static bool keepsSlope(StringRef op, const HostTensor &known) {
  return llvm::all_of(known.floats, [&](double number) {
    return std::isfinite(number) && (op == "Pow" ? number > 0 : number != 0);
  });
}

// Whole numbers have no infinity.
static double fitInteger(const ImportedValue &value, double number) {
  int32_t type = value.type.tensor_type().elem_type();
  if (isFloatType(type))
    return number;
  double most = type == proto::TensorProto::INT64 ? 9.2e18 : 2147483647.0;
  return std::clamp(number, -most, most);
}

/// The places of which dim of a node's result stand for those of a selection.
namespace {
struct BoundedUse {
  const proto::NodeProto &node;
  const std::vector<ImportedValue *> &inputs;
  /// The first operand that is a selection, and which it is.
  unsigned index = 0;
  ImportedValue *selection = nullptr;

  int64_t rank(unsigned operand) const {
    return getStaticDims(inputs[operand]->type)->size();
  }
  bool isBounded(unsigned operand) const {
    return operand < inputs.size() && inputs[operand]->held;
  }
  int64_t axis(int64_t otherwise, int64_t rank) const {
    int64_t value = FoldRequest{node, {}, 0}.getInt("axis", otherwise);
    return value < 0 ? value + rank : value;
  }
  std::optional<std::vector<int64_t>> constants(unsigned operand) const {
    if (operand >= inputs.size() || !inputs[operand]->constant)
      return std::nullopt;
    return inputs[operand]->constant->getInts();
  }

  std::optional<int64_t> find() const;
  /// The dim of an operand of an elementwise operator that lies at `dim` of its
  /// result; below 0 where the operand has fewer dims.
  int64_t alignDim(unsigned operand, int64_t dim) const {
    return dim - (resultRank() - rank(operand));
  }

private:
  int64_t resultRank() const;
  std::optional<int64_t> ofElementwise() const;
  std::optional<int64_t> ofGather() const;
  std::optional<int64_t> ofProduct() const;
  std::optional<int64_t> ofShape() const;
};
} // namespace

// The dims of the result of an elementwise operator: those of the operand that
// has most.
int64_t BoundedUse::resultRank() const {
  int64_t most = 0;
  for (unsigned i = 0; i < inputs.size(); ++i)
    if (inputs[i]->kind == ImportedValue::Tensor)
      most = std::max(most, rank(i));
  return most;
}

// All that is aligned with the selection's places is of the same selection, or
// the same for every place.
std::optional<int64_t> BoundedUse::ofElementwise() const {
  int64_t dim = selection->boundedDim + resultRank() - rank(index);
  for (unsigned i = 0; i < inputs.size(); ++i) {
    if (inputs[i]->kind != ImportedValue::Tensor)
      continue;
    int64_t own = alignDim(i, dim);
    if (isBounded(i)
            ? inputs[i]->held != selection->held || inputs[i]->boundedDim != own
            : own >= 0 && (*getStaticDims(inputs[i]->type))[own] != 1)
      return std::nullopt;
  }
  return dim;
}

std::optional<int64_t> BoundedUse::ofGather() const {
  bool isNd = node.op_type() == "GatherND";
  if (isBounded(0)) {
    int64_t at = isNd ? 0 : axis(0, rank(0)), dim = selection->boundedDim;
    if (isNd || isBounded(1) || at == dim)
      return std::nullopt;
    return at < dim ? dim - 1 + rank(1) : dim;
  }
  if (isNd)
    return selection->boundedDim < rank(1) - 1 &&
                   FoldRequest{node, {}, 0}.getInt("batch_dims", 0) == 0
               ? std::optional(selection->boundedDim)
               : std::nullopt;
  return axis(0, rank(0)) + selection->boundedDim;
}

// Rows of the first factor.
std::optional<int64_t> BoundedUse::ofProduct() const {
  FoldRequest request{node, {}, 0};
  int64_t dim = selection->boundedDim;
  bool isRow = index == 0 && !isBounded(1) && dim < rank(0) - 1 &&
               request.getInt("transA", 0) == 0 && rank(1) <= rank(0);
  if (!isRow || isBounded(2))
    return std::nullopt;
  // Other matrices for each of the places would be another thing.
  int64_t other = dim - (rank(0) - rank(1));
  if (rank(1) > 2 && other >= 0 && dim < rank(0) - 2 &&
      (*getStaticDims(inputs[1]->type))[other] != 1)
    return std::nullopt;
  return dim;
}

std::optional<int64_t> BoundedUse::ofShape() const {
  StringRef op = node.op_type();
  int64_t dim = selection->boundedDim;
  if (index != 0)
    return std::nullopt;
  if (op == "Transpose") {
    for (const proto::AttributeProto &attribute : node.attribute())
      if (attribute.name() == "perm")
        return llvm::find(attribute.ints(), dim) - attribute.ints().begin();
    return rank(0) - 1 - dim;
  }
  auto axes = constants(1);
  if (op == "Slice") {
    axes = constants(3);
    if (!axes)
      return std::nullopt;
  }
  if (!axes)
    return std::nullopt;
  int64_t result = rank(0) + (op == "Unsqueeze" ? axes->size() : 0);
  llvm::SmallVector<bool> named(result, false);
  for (int64_t each : *axes)
    named[each < 0 ? each + result : each] = true;
  if (op == "Slice")
    return named[dim] ? std::nullopt : std::optional(dim);
  if (op == "Squeeze")
    return named[dim] ? std::nullopt
                      : std::optional<int64_t>(
                            dim - std::count(named.begin(), named.begin() + dim,
                                             true));
  for (int64_t to = 0, from = 0; to < result; ++to)
    if (!named[to] && from++ == dim)
      return to;
  return std::nullopt;
}

std::optional<int64_t> BoundedUse::find() const {
  StringRef op = node.op_type();
  if (isElementwise(op))
    return ofElementwise();
  if (op == "Gather" || op == "GatherND")
    return ofGather();
  if (op == "MatMul" || op == "Gemm")
    return ofProduct();
  if (llvm::is_contained({"Transpose", "Slice", "Squeeze", "Unsqueeze"}, op))
    return ofShape();
  if (llvm::is_contained(
          {"LayerNormalization", "RMSNormalization", "Softmax", "LogSoftmax"},
          op))
    return index == 0 && axis(-1, rank(0)) > selection->boundedDim
               ? std::optional(selection->boundedDim)
               : std::nullopt;
  return std::nullopt;
}

// The dims that a reduction of a value of `rank` dims is over, from the front.
static std::vector<int64_t> readAxes(const proto::NodeProto &node,
                                     const HostTensor *operand, int64_t rank) {
  std::vector<int64_t> axes;
  if (operand)
    axes = operand->getInts();
  else if (const proto::AttributeProto *given =
               FoldRequest{node, {}, 0}.getAttribute("axes"))
    axes.assign(given->ints().begin(), given->ints().end());
  for (int64_t &each : axes)
    each += each < 0 ? rank : 0;
  if (axes.empty()) // all
    for (int64_t each = 0; each < rank; ++each)
      axes.push_back(each);
  return axes;
}

// `plain`: the selection's values, as they are. Places that hold nothing are
// left out where the reduction is over them.
void GraphImporter::reduceBounded(const proto::NodeProto &node,
                                  ImportedValue &selection,
                                  ImportedValue *plain, Scope &scope) {
  Dims dims = *getStaticDims(selection.type);
  const ImportedValue *operand =
      node.input_size() > 1 ? lookUp(node.input(1), scope) : nullptr;
  std::vector<int64_t> axes =
      readAxes(node, operand ? operand->constant.get() : nullptr, dims.size());
  const bool keeps = FoldRequest{node, {}, 0}.getInt("keepdims", 1);
  const bool isOver = llvm::is_contained(axes, selection.boundedDim);
  const bool isMean = isOver && node.op_type() == "ReduceMean";
  if (isOver)
    plain =
        fillUnheld(plain, selection.held, selection.boundedDim,
                   fitInteger(*plain, *neutralOf(node.op_type())), node, scope);
  ImportedValue *result = compute(
      isMean ? "ReduceSum" : node.op_type().c_str(), {plain, ints(axes)}, node,
      scope, {proto::MakeAttribute("keepdims", int64_t(keeps))});
  if (isMean) {
    // By how many places hold something, times all the other elements.
    int64_t others = 1;
    for (int64_t each : axes)
      others *= each == selection.boundedDim ? 1 : dims[each];
    int64_t type = selection.type.tensor_type().elem_type();
    ImportedValue *numbers = compute("Cast", {selection.held}, node, scope,
                                     {proto::MakeAttribute("to", type)});
    ImportedValue *held =
        compute("ReduceSum", {numbers, ints({0})}, node, scope,
                {proto::MakeAttribute("keepdims", int64_t(0))});
    held = compute("Mul", {held, makeScalarLike(*held, others)}, node, scope);
    result = compute("Div", {result, held}, node, scope);
  }
  const int64_t before = llvm::count_if(
      axes, [&](int64_t each) { return each < selection.boundedDim; });
  define(node.output(0),
         isOver ? result
                : markBounded(result, selection,
                              selection.boundedDim - (keeps ? 0 : before), node,
                              scope),
         scope);
}

bool GraphImporter::importOfBounded(const proto::NodeProto &node,
                                    const Outputs &inputs, Scope &scope) {
  auto first = llvm::find_if(
      inputs, [](const ImportedValue *input) { return input->held; });
  if (first == inputs.end())
    return false;
  BoundedUse use{node, inputs, unsigned(first - inputs.begin()), *first};
  ImportedValue &selection = **first;
  StringRef op = node.op_type();
  // As any other values, once what they stand for is settled.
  auto plain = [&](const ImportedValue *value) {
    ImportedValue *copy = makeValue(value->kind, value->name);
    *copy = *value;
    copy->held = nullptr;
    return copy;
  };
  Outputs operands;
  for (ImportedValue *input : inputs)
    operands.push_back(input->held ? plain(input) : input);
  // Where a place holds nothing, no gradient comes back; times a slope that is
  // no number it would be none. That goes for numbers that all places share,
  // too: a base below 0 has no logarithm, which is the slope by its exponent.
  auto fillSafely = [&](unsigned index, int64_t dim) {
    const ImportedValue &input = *inputs[index];
    const bool isShared = !input.held;
    if (!mayLackSlope(op, index) ||
        (isShared && !isFloatType(input.type.tensor_type().elem_type())) ||
        (isShared && input.constant && keepsSlope(op, *input.constant)))
      return;
    operands[index] =
        fillUnheld(operands[index], selection.held, dim, 1, node, scope);
  };
  // The node as it is, of operands that are no selections.
  auto repeat = [&] {
    proto::NodeProto made = node;
    std::string name = node.output(0) + ".bounded";
    made.set_output(0, name);
    for (auto [index, operand] : llvm::enumerate(operands)) {
      if (operand->kind == ImportedValue::Absent)
        continue;
      made.set_input(index, name + "." + std::to_string(index));
      define(made.input(index), operand, scope);
    }
    importNode(made, scope);
    return lookUp(name, scope);
  };
  auto refuse = [&] {
    emitFailure(getLocation(node, scope))
        << "takes '" << node.input(use.index) << "', whose dim "
        << selection.boundedDim
        << " is as long as values say, in a way that zc does not compute where "
           "--dim bounds it; it goes through elementwise operators, Gather, "
           "Transpose, rows of MatMul and reductions";
    defineUnknown(node, scope);
    return true;
  };
  if (neutralOf(op) && use.index == 0) {
    fillSafely(0, selection.boundedDim);
    reduceBounded(node, selection, operands[0], scope);
    return true;
  }
  std::optional<int64_t> dim = use.find();
  if (!dim || node.output_size() != 1 || !node.domain().empty())
    return refuse();
  for (unsigned index = 0; index < inputs.size(); ++index)
    if (isElementwise(op) && inputs[index]->kind == ImportedValue::Tensor)
      fillSafely(index, use.alignDim(index, *dim));
  ImportedValue *result = repeat();
  define(node.output(0), markBounded(result, selection, *dim, node, scope),
         scope);
  return true;
}
