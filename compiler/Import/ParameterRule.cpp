#include "compiler/Import/ParameterRule.h"

#include "compiler/Import/OperatorRoles.h"
#include "compiler/OnnxModel/TensorSource.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace zc;

static llvm::Error parsePattern(const char *option, const std::string &text,
                                std::optional<NamePattern> &pattern) {
  if (text.empty())
    return llvm::Error::success();
  llvm::Expected<NamePattern> parsed = NamePattern::parse(text);
  if (!parsed)
    return llvm::createStringError(std::string(option) + " " +
                                   llvm::toString(parsed.takeError()));
  pattern = std::move(*parsed);
  return llvm::Error::success();
}

llvm::Expected<ParameterRule> ParameterRule::create(const std::string &freeze,
                                                    const std::string &train,
                                                    bool trainScales) {
  ParameterRule rule;
  if (llvm::Error error = parsePattern("--freeze", freeze, rule.freeze))
    return error;
  if (llvm::Error error = parsePattern("--train", train, rule.train))
    return error;
  rule.trainScales = trainScales;
  return rule;
}

std::optional<bool> ParameterRule::getChoice(StringRef name) const {
  if (freeze && freeze->isIn(name))
    return false;
  if (train)
    return train->isIn(name);
  return std::nullopt;
}

// --- Where a value is used
// -----------------------------------------------------------

static bool isStatisticUse(OpOperand &use) {
  auto node = dyn_cast<zc::onnx::NodeOp>(use.getOwner());
  return node && isStatisticOperand(node.getOpType(), use.getOperandNumber());
}

bool zc::isSettingAlone(zc::onnx::InitializerOp initializer) {
  return !initializer.use_empty() &&
         llvm::all_of(initializer->getUses(), [](OpOperand &use) {
           auto node = dyn_cast<zc::onnx::NodeOp>(use.getOwner());
           return node && node.getDomain().empty() &&
                  isSetting(node.getOpType(), use.getOperandNumber());
         });
}

bool zc::isQuantisationScale(zc::onnx::InitializerOp initializer) {
  return llvm::any_of(initializer->getUses(), [](OpOperand &use) {
    auto node = dyn_cast<zc::onnx::NodeOp>(use.getOwner());
    return node && use.getOperandNumber() == 1 &&
           isQuantisation(node.getOpType());
  });
}

bool zc::isStatistic(zc::onnx::InitializerOp initializer) {
  return llvm::any_of(initializer->getUses(), isStatisticUse);
}

using RoleOfUse = llvm::function_ref<bool(zc::onnx::NodeOp, OpOperand &)>;

// Directly, or through operators that leave the elements what they are.
static bool isUsedAs(Value value, RoleOfUse isRole) {
  for (OpOperand &use : value.getUses()) {
    auto node = dyn_cast<zc::onnx::NodeOp>(use.getOwner());
    if (!node || !node.getDomain().empty())
      continue;
    if (isRole(node, use))
      return true;
    if (keepsParameter(node.getOpType()) && use.getOperandNumber() == 0 &&
        isUsedAs(node.getResult(0), isRole))
      return true;
  }
  return false;
}

static bool isUsedAsParameter(Value value) {
  return isUsedAs(value, [](zc::onnx::NodeOp node, OpOperand &use) {
    return isParameterOperand(node.getOpType(), use.getOperandNumber());
  });
}

// Exporters write a layer's bias as a sum with its product. A number without
// dims is one that the author wrote into his formula.
static bool isAddedBias(zc::onnx::NodeOp node, OpOperand &use) {
  if (node.getOpType() != "Add" || node.getInputs().size() != 2 ||
      cast<ShapedType>(use.get().getType()).getRank() == 0)
    return false;
  auto product = node.getInputs()[1 - use.getOperandNumber()]
                     .getDefiningOp<zc::onnx::NodeOp>();
  return product && product.getDomain().empty() &&
         hasBiasBehind(product.getOpType());
}

// The weight, bias or slope of an operator, also of one without kinds.
static bool isUsedAsWeight(Value value) {
  return isUsedAs(value, [](zc::onnx::NodeOp node, OpOperand &use) {
    return isParameterOperand(node.getOpType(), use.getOperandNumber()) ||
           isSlopeOperand(node.getOpType(), use.getOperandNumber()) ||
           isAddedBias(node, use);
  });
}

// Whether all that is read of a value is states, a row for each of several
// samples, in which recurrent operators begin.
static bool beginsSamples(Value value) {
  return !value.use_empty() &&
         llvm::all_of(value.getUses(), [](OpOperand &use) {
           auto node = dyn_cast<zc::onnx::NodeOp>(use.getOwner());
           if (!node || !node.getDomain().empty())
             return false;
           StringRef op = node.getOpType();
           auto type = cast<ShapedType>(use.get().getType());
           if (isInitialState(op, use.getOperandNumber()))
             return type.hasStaticShape() && type.getRank() == 3 &&
                    type.getDimSize(1) > 1;
           if (use.getOperandNumber() != 0)
             return false;
           auto result = dyn_cast<ShapedType>(node.getResult(0).getType());
           const bool keeps = result && result.hasStaticShape() &&
                              type.hasStaticShape() &&
                              result.getNumElements() == type.getNumElements();
           return (keepsParameter(op) || op == "Slice" ||
                   (op == "Expand" && keeps)) &&
                  beginsSamples(node.getResult(0));
         });
}

// Exporters write torch.zeros(layers, samples, features) so.
static bool isZeroState(zc::onnx::InitializerOp initializer) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(initializer.getValueAttr());
  return dense && dense.isSplat() && dense.getSplatValue<APFloat>().isZero() &&
         beginsSamples(initializer.getResult());
}

static bool isFloat(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

// Whole numbers that were floats: gradients pass straight through.
static bool isQuantised(Value value) {
  auto node = value.getDefiningOp<zc::onnx::NodeOp>();
  return node && node.getDomain().empty() &&
         node.getOpType() == "QuantizeLinear";
}

llvm::SetVector<Value> zc::findDifferentiable(zc::onnx::GraphOp graph) {
  llvm::SetVector<Value> reached;
  for (Value output : graph.getReturn().getOutputs())
    if (isFloat(output))
      reached.insert(output);
  for (size_t i = 0; i < reached.size(); ++i) {
    auto node = reached[i].getDefiningOp<zc::onnx::NodeOp>();
    if (!node || isStep(node.getOpType()))
      continue;
    for (OpOperand &operand : node->getOpOperands())
      if ((isFloat(operand.get()) || isQuantised(operand.get())) &&
          !isStatisticUse(operand) &&
          !isSetting(node.getOpType(), operand.getOperandNumber()))
        reached.insert(operand.get());
  }
  return reached;
}

// --- Values
// ----------------------------------------------------------------------------

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
static LogicalResult checkMask(zc::onnx::InitializerOp initializer,
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
  zc::onnx::ExternalAttr source = *initializer.getSource();
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
decideByDefault(zc::onnx::InitializerOp initializer, const std::string &folder,
                bool anyKind, const llvm::SetVector<Value> &differentiable,
                bool &trained) {
  auto type = cast<ShapedType>(initializer.getType());
  trained = false;
  if (!isa<FloatType>(type.getElementType()) ||
      isQuantisationScale(initializer))
    return success();
  if (initializer.getKind()) {
    trained = *initializer.getKind() == "PARAMETER";
  } else if (anyKind) {
    trained = isUsedAsParameter(initializer.getResult());
  } else if (!isStatistic(initializer) &&
             differentiable.contains(initializer.getResult()) &&
             (type.getNumElements() > 1 ||
              isUsedAsWeight(initializer.getResult())) &&
             !isZeroState(initializer)) {
    bool isMask = false;
    if (failed(checkMask(initializer, folder, isMask)))
      return failure();
    trained = !isMask;
  }
  return success();
}

// An expression without a match is a mistake in it.
LogicalResult ParameterRule::checkMatches(zc::onnx::GraphOp graph) const {
  for (auto [option, pattern] :
       {std::pair("--freeze", &freeze), {"--train", &train}}) {
    auto matches = [&,
                    &pattern = *pattern](zc::onnx::InitializerOp initializer) {
      return pattern->isIn(initializer.getName());
    };
    auto initializers = graph.getBody().getOps<zc::onnx::InitializerOp>();
    if (*pattern && llvm::none_of(initializers, matches))
      return graph.emitError() << option << " matches no initializer's name";
  }
  auto isScale = [](zc::onnx::InitializerOp each) {
    return isQuantisationScale(each);
  };
  if (trainScales &&
      llvm::none_of(graph.getBody().getOps<zc::onnx::InitializerOp>(), isScale))
    return graph.emitError()
           << "--train-scales: the model has no QuantizeLinear or "
              "DequantizeLinear with a stored scale";
  return success();
}

LogicalResult ParameterRule::apply(zc::onnx::GraphOp graph,
                                   const std::string &folder) const {
  if (failed(checkMatches(graph)))
    return failure();
  auto initializers = graph.getBody().getOps<zc::onnx::InitializerOp>();
  bool anyKind = llvm::any_of(initializers, [](zc::onnx::InitializerOp each) {
    return bool(each.getKind());
  });
  llvm::SetVector<Value> differentiable = findDifferentiable(graph);
  for (zc::onnx::InitializerOp initializer : initializers) {
    if (initializer.getFolded())
      continue;
    std::optional<bool> choice = getChoice(initializer.getName());
    auto type = cast<ShapedType>(initializer.getType());
    if (trainScales && choice != false && isQuantisationScale(initializer))
      choice = true;
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
