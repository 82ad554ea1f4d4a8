#include "compiler/Import/ParameterRule.h"

#include "compiler/OnnxModel/TensorSource.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace zc;

static llvm::Expected<std::shared_ptr<const std::regex>>
compileRegex(const char *option, const std::string &text) {
  if (text.empty())
    return nullptr;
  try {
    return std::make_shared<const std::regex>(text);
  } catch (const std::regex_error &error) {
    return llvm::createStringError(
        std::string(option) + " '" + text +
        "' is not a regular expression: " + error.what());
  }
}

llvm::Expected<ParameterRule> ParameterRule::create(const std::string &freeze,
                                                    const std::string &train) {
  ParameterRule rule;
  auto frozen = compileRegex("--freeze", freeze);
  if (!frozen)
    return frozen.takeError();
  auto trained = compileRegex("--train", train);
  if (!trained)
    return trained.takeError();
  rule.freeze = *frozen;
  rule.train = *trained;
  return rule;
}

std::optional<bool> ParameterRule::getChoice(StringRef name) const {
  if (freeze && std::regex_search(name.str(), *freeze))
    return false;
  if (train)
    return std::regex_search(name.str(), *train);
  return std::nullopt;
}

// --- Where a value is used
// -----------------------------------------------------------

// Whether operand `index` of the operator is a weight, bias, scale, table or
// recurrent operand.
static bool isParameterOperand(StringRef op, unsigned index) {
  return llvm::StringSwitch<bool>(op)
      .Case("MatMul", index <= 1)
      .Cases({"Gemm", "Conv", "ConvTranspose"}, index == 1 || index == 2)
      .Case("Gather", index == 0)
      .Cases({"BatchNormalization", "LayerNormalization", "GroupNormalization",
              "InstanceNormalization"},
             index == 1 || index == 2)
      .Cases({"RMSNormalization", "SimplifiedLayerNormalization"}, index == 1)
      .Cases({"LSTM", "GRU", "RNN"}, index >= 1 && index <= 3)
      .Default(false);
}

static bool keepsParameter(StringRef op) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"Transpose", "Reshape", "Cast", "Identity"}, true)
      .Default(false);
}

static bool isStatisticUse(OpOperand &use) {
  auto node = dyn_cast<onnx::NodeOp>(use.getOwner());
  return node && node.getOpType() == "BatchNormalization" &&
         use.getOperandNumber() >= 3;
}

bool zc::isStatistic(onnx::InitializerOp initializer) {
  return llvm::any_of(initializer->getUses(), isStatisticUse);
}

// Directly, or through operators that leave the elements what they are.
static bool isUsedAsParameter(Value value) {
  for (OpOperand &use : value.getUses()) {
    auto node = dyn_cast<onnx::NodeOp>(use.getOwner());
    if (!node || !node.getDomain().empty())
      continue;
    if (isParameterOperand(node.getOpType(), use.getOperandNumber()))
      return true;
    if (keepsParameter(node.getOpType()) && use.getOperandNumber() == 0 &&
        isUsedAsParameter(node.getResult(0)))
      return true;
  }
  return false;
}

static bool isFloat(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

// Operators whose results have a zero gradient everywhere.
static bool isStep(StringRef op) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"Floor", "Ceil", "Round", "Sign", "Shape", "Size"}, true)
      .Cases({"ConstantOfShape", "EyeLike", "OneHot", "Bernoulli"}, true)
      .Cases({"RandomNormalLike", "RandomUniformLike"}, true)
      .Default(false);
}

// Operands that only say how, not what.
static bool isSetting(StringRef op, unsigned index) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"Resize", "Upsample", "Dropout", "Clip", "Pad"}, index >= 1)
      .Default(false);
}

// The values from which a gradient comes back: floating-point values with a
// path to the model's outputs over operators that have one.
static llvm::SetVector<Value> findDifferentiable(onnx::GraphOp graph) {
  llvm::SetVector<Value> reached;
  for (Value output : graph.getReturn().getOutputs())
    if (isFloat(output))
      reached.insert(output);
  for (size_t i = 0; i < reached.size(); ++i) {
    auto node = reached[i].getDefiningOp<onnx::NodeOp>();
    if (!node || isStep(node.getOpType()))
      continue;
    for (OpOperand &operand : node->getOpOperands())
      if (isFloat(operand.get()) && !isStatisticUse(operand) &&
          !isSetting(node.getOpType(), operand.getOperandNumber()))
        reached.insert(operand.get());
  }
  return reached;
}

// --- Values
// ----------------------------------------------------------------------------

constexpr double kLargestParameter = 1e30;

template <typename Element>
static bool hasHugeElement(const std::string &bytes) {
  for (size_t i = 0; i + sizeof(Element) <= bytes.size();
       i += sizeof(Element)) {
    Element element;
    std::memcpy(&element, bytes.data() + i, sizeof element);
    // Not-a-number compares false, and is no mask.
    if (std::fabs(element) > kLargestParameter)
      return true;
  }
  return false;
}

// Masks hold values beyond any weight's. 16-bit floats cannot tell.
static LogicalResult checkMask(onnx::InitializerOp initializer,
                               const std::string &folder, bool &isMask) {
  Type type = cast<ShapedType>(initializer.getType()).getElementType();
  if (auto elements =
          dyn_cast_or_null<DenseElementsAttr>(initializer.getValueAttr())) {
    isMask = llvm::any_of(elements.getValues<APFloat>(), [](APFloat wide) {
      bool losesInfo;
      wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
      return std::fabs(wide.convertToDouble()) > kLargestParameter;
    });
    return success();
  }
  if (!initializer.getSource() || !(type.isF32() || type.isF64()))
    return success();
  onnx::ExternalAttr source = *initializer.getSource();
  auto bytes = readSource(
      folder, {source.getFile().str(), source.getOffset(), source.getLength()});
  if (!bytes)
    return initializer.emitError() << llvm::toString(bytes.takeError());
  isMask = type.isF32() ? hasHugeElement<float>(*bytes)
                        : hasHugeElement<double>(*bytes);
  return success();
}

// --- The rule
// --------------------------------------------------------------------------

static LogicalResult
decideByDefault(onnx::InitializerOp initializer, const std::string &folder,
                bool anyKind, const llvm::SetVector<Value> &differentiable,
                bool &trained) {
  auto type = cast<ShapedType>(initializer.getType());
  trained = false;
  if (!isa<FloatType>(type.getElementType()))
    return success();
  if (initializer.getKind()) {
    trained = *initializer.getKind() == "PARAMETER";
  } else if (anyKind) {
    trained = isUsedAsParameter(initializer.getResult());
  } else if (type.getNumElements() > 1 && !isStatistic(initializer) &&
             differentiable.contains(initializer.getResult())) {
    bool isMask = false;
    if (failed(checkMask(initializer, folder, isMask)))
      return failure();
    trained = !isMask;
  }
  return success();
}

// An expression without a match is a mistake in it.
LogicalResult ParameterRule::checkMatches(onnx::GraphOp graph) const {
  for (auto [option, expression] :
       {std::pair("--freeze", freeze.get()), {"--train", train.get()}}) {
    auto matches = [&](onnx::InitializerOp initializer) {
      return std::regex_search(initializer.getName().str(), *expression);
    };
    auto initializers = graph.getBody().getOps<onnx::InitializerOp>();
    if (expression && llvm::none_of(initializers, matches))
      return graph.emitError() << option << " matches no initializer's name";
  }
  return success();
}

LogicalResult ParameterRule::apply(onnx::GraphOp graph,
                                   const std::string &folder) const {
  if (failed(checkMatches(graph)))
    return failure();
  auto initializers = graph.getBody().getOps<onnx::InitializerOp>();
  bool anyKind = llvm::any_of(initializers, [](onnx::InitializerOp each) {
    return bool(each.getKind());
  });
  llvm::SetVector<Value> differentiable = findDifferentiable(graph);
  for (onnx::InitializerOp initializer : initializers) {
    if (initializer.getFolded())
      continue;
    std::optional<bool> choice = getChoice(initializer.getName());
    auto type = cast<ShapedType>(initializer.getType());
    // A statement about names holds for weights; integers and statistics of
    // the same module stay what they are.
    if (isStatistic(initializer) || !isa<FloatType>(type.getElementType()))
      choice = false;
    bool trained = choice.value_or(false);
    if (!choice && failed(decideByDefault(initializer, folder, anyKind,
                                          differentiable, trained)))
      return failure();
    initializer.setTrained(trained && !initializer.use_empty());
  }
  return success();
}
