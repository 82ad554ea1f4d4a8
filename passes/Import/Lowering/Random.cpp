//===- Random.cpp - draws of random bits ----------------------------------===//
//
// PyTorch's exporter writes every draw of zeros and ones (stochastic depth,
// dropout of whole channels) as a comparison of uniform numbers with a constant
// probability. Such a draw is a dropout of the probability itself: in training
// it is 1 or 0, in evaluation it is the probability, its expectation. So
// `x * draw / probability` is x in evaluation, as PyTorch's modules are.
//
//===----------------------------------------------------------------------===//
#include "passes/Import/Lowering/Random.h"
#include "mlir/IR/Matchers.h"
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"

using namespace mlir;
using namespace zc;

/// Between the 0 and the 1 that are drawn.
static constexpr double kHalf = 0.5;

/// The node that draws `value`, perhaps behind casts to a type.
static onnx::NodeOp findDraw(Value value) {
  auto node = value.getDefiningOp<onnx::NodeOp>();
  while (node && (node.getOpType() == "Cast" || node.getOpType() == "CastLike"))
    node = node.getInputs()[0].getDefiningOp<onnx::NodeOp>();
  if (!node || (node.getOpType() != "RandomUniformLike" &&
                node.getOpType() != "RandomUniform"))
    return {};
  return node;
}

/// The one number that all elements of a train value are.
static std::optional<double> splatNumber(Value value) {
  while (value.getDefiningOp()) {
    Operation *op = value.getDefiningOp();
    if (isa<train::BroadcastOp, train::ReshapeOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    DenseFPElementsAttr numbers;
    if (matchPattern(value, m_Constant(&numbers)) && numbers.isSplat())
      return numbers.getSplatValue<APFloat>().convertToDouble();
    return std::nullopt;
  }
  return std::nullopt;
}

/// 1 with `probability` and 0 otherwise; a dropout that drops nothing where
/// there is nothing to draw, so that `zc::drawnBits` knows all of them.
static Value drawBits(NodeContext &context, double probability) {
  TensorBuilder &build = context.build;
  auto type =
      RankedTensorType::get(context.resultShape(), build.builder.getF32Type());
  bool draws = context.options.dropout && probability > 0 && probability < 1;
  return train::DropoutOp::create(build.builder, build.loc,
                                  build.splat(type, probability),
                                  APFloat(draws ? 1 - probability : 0.0));
}

static LogicalResult emitUnknown(NodeContext &context, Value probability) {
  return context.emitError()
         << "draws with a probability of type " << probability.getType()
         << " that is not one number known at compile time, which zc cannot";
}

bool zc::comparesDraw(onnx::NodeOp node) {
  return llvm::any_of(node.getInputs(),
                      [](Value input) { return findDraw(input); });
}

LogicalResult zc::lowerComparedDraw(NodeContext &context, bool isLess) {
  unsigned at = findDraw(context.node.getInputs()[0]) ? 0 : 1;
  onnx::NodeOp draw = findDraw(context.node.getInputs()[at]);
  std::optional<double> limit = splatNumber(context.operand(1 - at));
  if (!limit)
    return emitUnknown(context, context.operand(1 - at));
  double low = draw.getFloat("low", 0), high = draw.getFloat("high", 1);
  double below = std::clamp((*limit - low) / (high - low), 0.0, 1.0);
  Value bits = drawBits(context, isLess == (at == 0) ? below : 1 - below);
  return context.set(context.build.compare("gt", bits, kHalf));
}

Value zc::drawnBits(Value condition) {
  auto compare = condition.getDefiningOp<train::CompareOp>();
  auto bits = compare ? compare.getLhs().getDefiningOp<train::DropoutOp>()
                      : train::DropoutOp();
  if (!bits || compare.getPredicate() != "gt" ||
      !splatNumber(bits.getInput()) || splatNumber(compare.getRhs()) != kHalf)
    return {};
  return bits;
}

// The numbers themselves are no value of the program; those who compare them
// draw bits in their place.
static LogicalResult lowerUniform(NodeContext &context) {
  SmallVector<Value> pending{context.node.getResult(0)};
  while (!pending.empty()) {
    Value numbers = pending.pop_back_val();
    for (OpOperand &use : numbers.getUses()) {
      auto user = dyn_cast<onnx::NodeOp>(use.getOwner());
      StringRef op = user ? user.getOpType() : "";
      if (op == "CastLike" && use.getOperandNumber() == 1)
        continue; // wants the type
      if (op == "Cast" || op == "CastLike")
        pending.push_back(user.getResult(0));
      else if (!llvm::is_contained(
                   {"Less", "LessOrEqual", "Greater", "GreaterOrEqual"}, op))
        return context.emitError()
               << "draws numbers that are used other than in a comparison "
                  "with a probability; give the model random numbers as an "
                  "input";
    }
  }
  return context.set(context.build.splat(context.resultType(), 0));
}

static LogicalResult lowerBernoulli(NodeContext &context) {
  std::optional<double> probability = splatNumber(context.operand(0));
  if (!probability)
    return emitUnknown(context, context.operand(0));
  return context.set(context.build.convert(
      drawBits(context, *probability), context.resultType().getElementType()));
}

void zc::registerRandom(LoweringRegistry &registry) {
  registry.add("RandomUniform", 1, 22, lowerUniform);
  registry.add("RandomUniformLike", 1, 22, lowerUniform);
  registry.add("Bernoulli", 15, 22, lowerBernoulli);
}
