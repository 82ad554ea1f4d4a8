//===- Losses.cpp - what losses share, and a model's own ------------------===//
#include "passes/Autodiff/Losses.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Autodiff/Losses/LossSupport.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

Value sumAll(OpBuilder &builder, Location loc, Value value) {
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  return reduceSum(builder, loc, value, otherDims(rank, {}));
}

std::string checkFloat(RankedTensorType logits) {
  return isa<FloatType>(logits.getElementType())
             ? ""
             : "the output is not floating-point";
}

Value weightTable(OpBuilder &builder, Location loc, ArrayRef<double> weights,
                  RankedTensorType like, double factor) {
  auto element = cast<FloatType>(like.getElementType());
  SmallVector<APFloat> numbers;
  for (double weight : weights) {
    APFloat number(weight * factor);
    bool loses;
    number.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &loses);
    numbers.push_back(number);
  }
  auto type = withShape(like, {int64_t(numbers.size())});
  return ConstantOp::create(builder, loc,
                            DenseElementsAttr::get(type, numbers));
}

Value weighClasses(OpBuilder &builder, Location loc, Value values,
                   ArrayRef<double> weights, double factor) {
  auto type = cast<RankedTensorType>(values.getType());
  Value table = weightTable(builder, loc, weights, type, factor);
  return MulOp::create(
      builder, loc, values,
      broadcast(builder, loc, table, type.getShape(), {type.getRank() - 1}));
}

std::string checkWeights(ArrayRef<double> weights, RankedTensorType logits,
                         int64_t dim) {
  int64_t count = int64_t(weights.size()), classes = logits.getDimSize(dim);
  return count == 0 || count == classes
             ? ""
             : "--class-weights has " + std::to_string(count) +
                   " numbers; expected one for each of " +
                   std::to_string(classes) + " classes (dim " +
                   std::to_string(dim) + ")";
}

namespace {

class OwnLoss : public Loss {
public:
  std::string check(RankedTensorType logits) override {
    if (logits.getNumElements() != 1)
      return "with --loss none the output is the loss, one number; name the "
             "right one with --loss-output";
    return checkFloat(logits);
  }
  RankedTensorType labelType(RankedTensorType) override { return nullptr; }
  SmallVector<int64_t> labelRange(RankedTensorType) override { return {}; }

  SampleLosses build(OpBuilder &builder, Location loc, Value logits, Value,
                     bool) override {
    SampleLosses result;
    result.losses = reshape(builder, loc, logits, {});
    return result;
  }
};

} // namespace

std::unique_ptr<Loss> makeOwnLoss() { return std::make_unique<OwnLoss>(); }

} // namespace zc
