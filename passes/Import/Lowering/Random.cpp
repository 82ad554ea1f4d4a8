//===- Random.cpp - draws of random bits ----------------------------------===//
//
// PyTorch's exporter writes every draw of zeros and ones (stochastic depth,
// dropout of whole channels) as a comparison of uniform numbers with a constant
// probability. Such a draw is a dropout of the probability itself: in training
// it is 1 or 0, in evaluation it is the probability, its expectation. So
// `x * draw / probability` is x in evaluation, as PyTorch's modules are.
//
// All other draws are numbers, in evaluation too.
//
//===----------------------------------------------------------------------===//
#include "passes/Import/Lowering/Random.h"
#include "dialects/Onnx/Location.h"
#include "mlir/IR/Matchers.h"
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"
#include "llvm/Support/xxhash.h"

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

Value zc::compareDraw(NodeContext &context, bool isLess) {
  unsigned at = findDraw(context.node.getInputs()[0]) ? 0 : 1;
  onnx::NodeOp draw = findDraw(context.node.getInputs()[at]);
  std::optional<double> limit;
  if (draw)
    limit = splatNumber(context.operand(1 - at));
  if (!limit)
    return {};
  double low = draw.getFloat("low", 0), high = draw.getFloat("high", 1);
  double below = std::clamp((*limit - low) / (high - low), 0.0, 1.0);
  Value bits = drawBits(context, isLess == (at == 0) ? below : 1 - below);
  return context.build.compare(Predicate::Gt, bits, kHalf);
}

Value zc::drawnBits(Value condition) {
  auto compare = condition.getDefiningOp<train::CompareOp>();
  auto bits = compare ? compare.getLhs().getDefiningOp<train::DropoutOp>()
                      : train::DropoutOp();
  if (!bits || compare.getPredicate() != Predicate::Gt ||
      !splatNumber(bits.getInput()) || splatNumber(compare.getRhs()) != kHalf)
    return {};
  return bits;
}

/// Numbers of mean 0, drawn by `Op` of one number that says how wide they
/// spread. Until --zc-build-loss gives them a key of the run, their own is a
/// hash of their name and place: no two draws are the same op.
template <typename Op>
static Value drawNumbers(NodeContext &context, double spread) {
  TensorBuilder &build = context.build;
  Type element = context.resultType().getElementType();
  Type drawn = element.isF64() ? element : build.builder.getF32Type();
  auto type = RankedTensorType::get(context.resultShape(), drawn);
  auto origin = onnx::getOrigin(context.node.getLoc());
  uint64_t site = llvm::xxh3_64bits(origin ? origin->node : "");
  for (Operation *op = context.node; op; op = op->getPrevNode())
    ++site;
  auto keyType = RankedTensorType::get({}, build.builder.getI64Type());
  Value key = train::ConstantOp::create(
      build.builder, build.loc,
      DenseElementsAttr::get(keyType, static_cast<int64_t>(site)));
  Value numbers = Op::create(build.builder, build.loc, type,
                             build.broadcast(key, type.getShape()),
                             ValueRange(), APFloat(spread));
  return build.convert(numbers, element);
}

static LogicalResult lowerUniform(NodeContext &context) {
  double low = context.node.getFloat("low", 0);
  double high = context.node.getFloat("high", 1);
  Value numbers =
      drawNumbers<train::RandomUniformOp>(context, (high - low) / 2);
  return context.set(context.build.add(numbers, (low + high) / 2));
}

static LogicalResult lowerNormal(NodeContext &context) {
  Value numbers =
      drawNumbers<train::RandomNormalOp>(context, context.getFloat("scale", 1));
  return context.set(context.build.add(numbers, context.getFloat("mean", 0)));
}

// 1 where a uniform number is below the probability, number by number if that
// is no constant.
static LogicalResult lowerBernoulli(NodeContext &context) {
  TensorBuilder &build = context.build;
  Type element = context.resultType().getElementType();
  if (std::optional<double> probability = splatNumber(context.operand(0)))
    return context.set(build.convert(drawBits(context, *probability), element));
  Value probability =
      build.convert(context.operand(0), build.builder.getF32Type());
  Value number = drawNumbers<train::RandomUniformOp>(context, 0.5);
  number = build.add(build.convert(number, build.builder.getF32Type()), 0.5);
  return context.set(build.convert(
      build.compare(Predicate::Lt, number, probability), element));
}

void zc::registerRandom(LoweringRegistry &registry) {
  registry.add("RandomUniform", 1, 22, lowerUniform);
  registry.add("RandomUniformLike", 1, 22, lowerUniform);
  registry.add("RandomNormal", 1, 22, lowerNormal);
  registry.add("RandomNormalLike", 1, 22, lowerNormal);
  registry.add("Bernoulli", 15, 22, lowerBernoulli);
}
