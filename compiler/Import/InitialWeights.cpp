#include "compiler/Import/InitialWeights.h"

#include "dialects/Train/Ops/ShapeOf.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>
#include <optional>

using namespace mlir;
using namespace zc;

llvm::Expected<InitialWeights> InitialWeights::parse(llvm::StringRef text) {
  if (text == "torch-default")
    return InitialWeights{TorchDefault};
  if (text == "zeros")
    return InitialWeights{Zeros};
  double std = 0;
  Kind kind = Normal;
  if (text.consume_front("truncated-")) {
    bool isScaled = text.ends_with("/n)") && text.consume_back("/n)") &&
                    text.consume_front("normal:sqrt(");
    kind = isScaled ? ScaledByFanIn : Truncated;
    if (isScaled && !text.getAsDouble(std) && std::isfinite(std) && std > 0)
      return InitialWeights{kind, std};
  }
  if (text.consume_front("normal:") && !text.getAsDouble(std) &&
      std::isfinite(std) && std > 0)
    return InitialWeights{kind, std};
  return llvm::createStringError(
      "expected normal:STD or truncated-normal:STD with a number STD above 0, "
      "truncated-normal:sqrt(S/n), n being a weight's inputs, torch-default or "
      "zeros");
}

// --- What an initializer is to the operators that use it
// -------------------------

namespace {
// A tensor with several roles has the first of this list: a table that is also
// the last layer's weight begins as a weight, or logits would be far too large.
enum class Role {
  Mean,
  Variance,
  Weight,
  Bias, // of an operator with a weight
  RecurrentWeight,
  RecurrentBias,
  Table,
  Scale,
  Shift,
  Slope, // of PRelu
  Other,
};

struct Use {
  Role role = Role::Other;
  /// The number of inputs of one output, as PyTorch counts them, for Weight,
  /// Bias and Recurrent*.
  int64_t fanIn = 1;
};
} // namespace

// A vector, whatever dims of size 1 stand around it.
static bool isVector(Value value) {
  return llvm::count_if(shapeOf(value),
                        [](int64_t size) { return size > 1; }) <= 1;
}

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t all = 1;
  for (int64_t size : sizes)
    all *= size;
  return all;
}

static bool isStored(Value value);

// Whether the operator only moves the elements of that operand, and puts none
// of the network's beside them.
static bool movesElements(zc::onnx::NodeOp node, unsigned operand) {
  static const llvm::StringSet<> ops = {
      "Transpose", "Reshape",   "Cast",    "CastLike", "Identity", "Slice",
      "Split",     "Unsqueeze", "Squeeze", "Flatten",  "Expand"};
  return node.getDomain().empty() &&
         ((operand == 0 && ops.contains(node.getOpType())) ||
          (node.getOpType() == "Concat" &&
           llvm::all_of(node.getInputs(), isStored)));
}

// Whether it is an initializer whose elements have only moved.
static bool isStored(Value value) {
  if (value.getDefiningOp<zc::onnx::InitializerOp>())
    return true;
  auto node = value.getDefiningOp<zc::onnx::NodeOp>();
  return node && movesElements(node, 0) && isStored(node.getInputs()[0]);
}

static int64_t fanInOfMatmul(Value operand, unsigned index) {
  ArrayRef<int64_t> shape = shapeOf(operand);
  return index == 1 && shape.size() > 1 ? shape[shape.size() - 2]
                                        : shape.back();
}

static int64_t fanInOfGemm(zc::onnx::NodeOp node, unsigned index) {
  bool transposed = node.getInt(index == 0 ? "transA" : "transB", 0) != 0;
  bool contractsLast = (index == 0) != transposed;
  return shapeOf(node.getInputs()[index])[contractsLast ? 1 : 0];
}

// The number of inputs of one output of the operator that computes `value`,
// behind operators that move elements; nothing when it has no weight.
static std::optional<int64_t> fanInOfProducer(Value value) {
  auto node = value.getDefiningOp<zc::onnx::NodeOp>();
  if (!node || !node.getDomain().empty())
    return std::nullopt;
  if (node.getOpType() == "MatMul")
    return fanInOfMatmul(node.getInputs()[0], 0);
  if (node.getOpType() == "Gemm")
    return fanInOfGemm(node, 1);
  if (node.getOpType() == "Conv" || node.getOpType() == "ConvTranspose")
    return product(shapeOf(node.getInputs()[1]).drop_front());
  if (movesElements(node, 0) && node.getOpType() != "Concat")
    return fanInOfProducer(node.getInputs()[0]);
  return std::nullopt;
}

static Use describeRecurrent(zc::onnx::NodeOp node, unsigned operand) {
  constexpr unsigned kPeepholes = 7;
  int64_t hidden = shapeOf(node.getInputs()[2]).back();
  if (operand == 1 || operand == 2)
    return {Role::RecurrentWeight, hidden};
  if (operand == 3 || operand == kPeepholes)
    return {Role::RecurrentBias, hidden};
  return {};
}

static Use describeSum(zc::onnx::NodeOp node, unsigned operand) {
  if (!isVector(node.getInputs()[operand]))
    return {};
  if (auto fanIn = fanInOfProducer(node.getInputs()[1 - operand]))
    return {Role::Bias, *fanIn};
  return {Role::Shift};
}

static Use findUse(Value value);

static Role describeNormalization(unsigned operand) {
  const Role roles[] = {Role::Other, Role::Scale, Role::Shift, Role::Mean,
                        Role::Variance};
  return operand < std::size(roles) ? roles[operand] : Role::Other;
}

// Matrices that a router's choices look up are weights of the product behind; a
// table's row is as long as what a product with it would add up.
static Use describeTable(zc::onnx::NodeOp node, Value table) {
  constexpr size_t kMatrices = 3;
  if (shapeOf(table).size() >= kMatrices)
    for (Value found : node->getResults())
      if (Use use = findUse(found); use.role == Role::Weight)
        return use;
  return {Role::Table, shapeOf(table).empty() ? 1 : shapeOf(table).back()};
}

static Use describe(zc::onnx::NodeOp node, unsigned operand) {
  StringRef op = node.getOpType();
  Value value = node.getInputs()[operand];
  if (op == "MatMul")
    return {Role::Weight, fanInOfMatmul(value, operand)};
  if (op == "Gemm")
    return operand < 2 ? Use{Role::Weight, fanInOfGemm(node, operand)}
                       : Use{Role::Bias, fanInOfGemm(node, 1)};
  if (op == "Conv" || op == "ConvTranspose")
    return {operand == 2 ? Role::Bias : Role::Weight,
            product(shapeOf(node.getInputs()[1]).drop_front())};
  if (op == "Gather")
    return describeTable(node, value);
  if (op == "LSTM" || op == "GRU" || op == "RNN")
    return describeRecurrent(node, operand);
  if (op.ends_with("Normalization"))
    return {describeNormalization(operand)};
  if (op == "PRelu")
    return {operand == 1 ? Role::Slope : Role::Other};
  if (op == "Mul" || op == "Div")
    return {isVector(value) ? Role::Scale : Role::Other};
  if (op == "Add" || op == "Sub")
    return describeSum(node, operand);
  return {};
}

static Use findUse(Value value) {
  Use found;
  for (OpOperand &operand : value.getUses()) {
    auto node = dyn_cast<zc::onnx::NodeOp>(operand.getOwner());
    if (!node)
      continue;
    unsigned index = operand.getOperandNumber();
    auto consider = [&](Use use) {
      if (use.role < found.role)
        found = use;
    };
    if (!movesElements(node, index))
      consider(describe(node, index));
    else
      for (Value moved : node->getResults())
        consider(findUse(moved));
  }
  return found;
}

// --- What it begins with
// ----------------------------------------------------------

namespace {
struct Draw {
  const char *distribution; // as train.state says it
  double number;
};
} // namespace

// Standard deviation of what PyTorch has no module for: position tables, class
// tokens.
constexpr double kOtherStd = 0.02;

static Draw chooseTorchDefault(const Use &use, size_t rank) {
  switch (use.role) {
  case Role::Weight:
  case Role::Bias:
  case Role::RecurrentWeight:
  case Role::RecurrentBias:
    return {"uniform", 1 / std::sqrt(double(std::max<int64_t>(1, use.fanIn)))};
  case Role::Table:
    return {"normal", 1};
  case Role::Other:
    return rank > 1 ? Draw{"normal", kOtherStd} : Draw{"constant", 0};
  default:
    return {"constant", 0};
  }
}

static Draw choose(const InitialWeights &how, const Use &use, size_t rank) {
  if (use.role == Role::Variance)
    return {"constant", 1};
  if (use.role == Role::Mean || how.kind == InitialWeights::Zeros)
    return {"constant", 0};
  if (use.role == Role::Scale)
    return {"constant", 1};
  if (use.role == Role::Slope)
    return {"constant", 0.25};
  if (how.kind == InitialWeights::TorchDefault)
    return chooseTorchDefault(use, rank);
  bool isWeight = use.role == Role::Weight || use.role == Role::Table ||
                  use.role == Role::RecurrentWeight ||
                  (use.role == Role::Other && rank > 1);
  if (!isWeight)
    return {"constant", 0};
  if (how.kind == InitialWeights::Normal)
    return {"normal", how.std};
  double std = how.std;
  if (how.kind == InitialWeights::ScaledByFanIn)
    std = std::sqrt(std / double(std::max<int64_t>(1, use.fanIn)));
  return {"truncated_normal", std};
}

// The index is the initializer's place in the graph: it does not depend on
// which others are drawn.
static void setDraw(zc::onnx::InitializerOp initializer, Draw draw,
                    int64_t index) {
  Builder builder(initializer.getContext());
  NamedAttrList entries;
  entries.set(draw.distribution, builder.getF64FloatAttr(draw.number));
  if (StringRef(draw.distribution) != "constant")
    entries.set("index", builder.getI64IntegerAttr(index));
  initializer.removeValueAttr();
  initializer.removeSourceAttr();
  initializer.setDrawAttr(entries.getDictionary(builder.getContext()));
}

// --- Which ones
// -----------------------------------------------------------------

static bool hasData(zc::onnx::InitializerOp initializer) {
  return initializer.getValue() || initializer.getSource();
}

// Whether it is a statistic of a normalisation whose scale is drawn.
static bool hasDrawnScale(zc::onnx::InitializerOp statistic) {
  return llvm::any_of(statistic->getUses(), [](OpOperand &use) {
    auto node = dyn_cast<zc::onnx::NodeOp>(use.getOwner());
    if (!node || node.getOpType() != "BatchNormalization" ||
        use.getOperandNumber() < 3)
      return false;
    auto scale = node.getInputs()[1].getDefiningOp<zc::onnx::InitializerOp>();
    return scale && scale.getDraw();
  });
}

static LogicalResult checkDrawable(zc::onnx::InitializerOp initializer) {
  Type type = cast<ShapedType>(initializer.getType()).getElementType();
  if (isa<FloatType>(type))
    return success();
  return emitError(initializer.getLoc())
         << "has no data, and --init draws floating-point weights, not " << type
         << "; put its file beside the model";
}

// A mask or a rotary table of random numbers is no mask and no rotary table.
static void warnOfDrawnConstants(ArrayRef<zc::onnx::InitializerOp> constants) {
  if (constants.empty())
    return;
  zc::onnx::InitializerOp first = constants.front();
  InFlightDiagnostic warning = emitWarning(first.getLoc());
  warning << "has no data and is not trained";
  if (constants.size() > 1)
    warning << ", nor are " << constants.size() - 1 << " others";
  warning << "; --init draws it all the same, which is right for frozen "
             "weights but not for masks or tables that the model computes "
             "with";
}

LogicalResult InitialWeights::apply(zc::onnx::GraphOp graph) const {
  auto all = llvm::to_vector(graph.getBody().getOps<zc::onnx::InitializerOp>());
  SmallVector<zc::onnx::InitializerOp> constants;
  LogicalResult result = success();
  auto draw = [&](zc::onnx::InitializerOp initializer, int64_t index) {
    Use use = findUse(initializer.getResult());
    size_t rank = shapeOf(initializer.getResult()).size();
    setDraw(initializer, choose(*this, use, rank), index);
    return use.role;
  };
  for (auto [index, initializer] : llvm::enumerate(all)) {
    if (initializer.getTrained()) {
      draw(initializer, index);
    } else if (!hasData(initializer) && !initializer.use_empty()) {
      if (failed(checkDrawable(initializer))) {
        result = failure();
        continue;
      }
      Role role = draw(initializer, index);
      if (role != Role::Mean && role != Role::Variance)
        constants.push_back(initializer);
    }
  }
  for (auto [index, initializer] : llvm::enumerate(all))
    if (!initializer.getDraw() && hasDrawnScale(initializer))
      draw(initializer, index);
  warnOfDrawnConstants(constants);
  return result;
}
