//===- MaskNumbers.cpp - the numbers that a mask adds to scores -----------===//
//
// A query that sees no key gets what the softmax makes of the numbers that hide
// its keys. Where scores are lost in them, the keys of the largest count alike
// and others not: the sum of two masks of -3.4e38 is minus infinity where both
// hide. But where scores are not lost in -1e4, keys count by them, too, which a
// block's log sum exp does not say: such masks are levelled (LevelMasks.cpp).
//
//===----------------------------------------------------------------------===//
#include "passes/Sequence/MaskNumbers.h"

#include "dialects/Train/StateLookup.h"
#include "passes/Sequence/TokenDims.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Numbers up to this are near 0: scores are not rounded beside them.
constexpr double kNear = 1e3;
/// A mask is computed by few ops, of few numbers.
constexpr int kDepth = 16;
constexpr size_t kMostNumbers = 8;

using Numbers = std::optional<MaskNumbers>;

bool isNear(double number) { return std::abs(number) <= kNear; }

/// Reads a mask by the ops that compute it.
class Reader {
public:
  static Numbers read(Value value, int depth = kDepth) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || depth == 0)
      return {};
    if (DenseElementsAttr data = findConstant(value))
      return readData(data);
    Operation *op = value.getDefiningOp();
    if (!op)
      return {};
    if (isa<BroadcastOp, GatherOp, ReshapeOp, TransposeOp, SliceOp>(op))
      return read(op->getOperand(0), depth - 1);
    if (auto convert = dyn_cast<ConvertOp>(op))
      return readConvert(convert, depth);
    if (auto select = dyn_cast<SelectOp>(op))
      return combine(read(select.getOnTrue(), depth - 1),
                     read(select.getOnFalse(), depth - 1));
    if (isa<AddOp, SubOp, MulOp>(op))
      return readBinary(op, depth);
    return {};
  }

private:
  static Numbers readData(DenseElementsAttr data) {
    MaskNumbers numbers;
    if (!isa<FloatType>(data.getElementType()))
      return {};
    auto take = [&](const APFloat &each) {
      return add(numbers, each.convertToDouble());
    };
    if (data.isSplat())
      return take(data.getSplatValue<APFloat>()) ? Numbers(numbers) : Numbers();
    for (const APFloat &each : data.getValues<APFloat>())
      if (!take(each))
        return {};
    return numbers;
  }

  /// Whether the number could be taken in.
  static bool add(MaskNumbers &numbers, double number) {
    if (std::isnan(number))
      return false;
    auto place = llvm::lower_bound(numbers.single, number);
    if (place != numbers.single.end() && *place == number)
      return true;
    // Numbers far away must be known; masks have few of them.
    const size_t most = isNear(number) ? kMostNumbers : 2 * kMostNumbers;
    if (numbers.single.size() < most) {
      numbers.single.insert(place, number + 0.0); // no -0
      return true;
    }
    numbers.hasOthers = true;
    return isNear(number);
  }

  static Numbers combine(Numbers a, Numbers b) {
    if (!a || !b)
      return {};
    a->hasOthers |= b->hasOthers;
    for (double number : b->single)
      if (!add(*a, number))
        return {};
    return a;
  }

  static double rounded(double number, Type element) {
    APFloat value(number);
    bool losesInfo = false;
    value.convert(cast<FloatType>(element).getFloatSemantics(),
                  APFloat::rmNearestTiesToEven, &losesInfo);
    return value.convertToDouble();
  }

  /// Floats stay as they are here: numbers far away may become minus infinity
  /// in 16 bits, but all alike.
  static Numbers readConvert(ConvertOp op, int depth) {
    Type from = getElementTypeOrSelf(op.getInput().getType());
    if (from.isInteger(1))
      return MaskNumbers{{0, 1}};
    return isa<FloatType>(from) ? read(op.getInput(), depth - 1) : Numbers();
  }

  static double compute(Operation *op, double a, double b) {
    return isa<AddOp>(op) ? a + b : isa<SubOp>(op) ? a - b : a * b;
  }

  /// Numbers near 0 are lost in those that are far away: 0 stands for those
  /// that are not known one by one. Their products may be anything.
  static Numbers readBinary(Operation *op, int depth) {
    Numbers a = read(op->getOperand(0), depth - 1);
    Numbers b = a ? read(op->getOperand(1), depth - 1) : Numbers();
    if (!b)
      return {};
    MaskNumbers numbers;
    numbers.hasOthers = a->hasOthers || b->hasOthers;
    if (numbers.hasOthers && isa<MulOp>(op))
      return {};
    for (MaskNumbers *each : {&*a, &*b})
      if (each->hasOthers && !add(*each, 0))
        return {};
    Type element = getElementTypeOrSelf(op->getResult(0).getType());
    for (double left : a->single)
      for (double right : b->single)
        if (!add(numbers, rounded(compute(op, left, right), element)))
          return {};
    return numbers;
  }
};

} // namespace

std::optional<double> MaskNumbers::findHidden() const {
  if (!isFar())
    return {};
  double hidden = 0;
  for (double number : single) {
    if (isNear(number))
      continue;
    if (hidden != 0)
      return {};
    hidden = number;
  }
  return hidden;
}

bool MaskNumbers::isFar() const {
  return llvm::all_of(
      single, [](double number) { return isNear(number) || number <= kFar; });
}

std::optional<MaskNumbers> findMaskNumbers(Value mask) {
  return Reader::read(mask);
}

bool isFar(Operation *attention) {
  const Numbers numbers = findMaskNumbers(getMask(attention));
  return numbers && numbers->isFar();
}

bool isLevelledByBlock(Operation *attention) {
  return attention->hasAttr("causal") && getMask(attention) &&
         !hasMaskOfQueries(attention) && !isFar(attention);
}

bool hidesAlike(Operation *attention) {
  if (!isFar(attention) || !attention->hasAttr("causal"))
    return isFar(attention);
  // Keys after a query never count.
  const std::optional<double> hidden =
      findMaskNumbers(getMask(attention))->findHidden();
  return hidden == 0.0 || hidden == -kInfinity;
}

} // namespace zc
