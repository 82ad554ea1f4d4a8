//===- Losses.cpp - loss functions as train ops ---------------------------===//
#include "passes/Autodiff/Losses.h"

#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

Value sumAll(OpBuilder &builder, Location loc, Value value) {
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  return reduceSum(builder, loc, value, otherDims(rank, {}));
}

namespace {

class SoftmaxCrossEntropy : public Loss {
public:
  SoftmaxCrossEntropy(int64_t classAxis, int64_t ignoreIndex)
      : requestedAxis(classAxis), ignoreIndex(ignoreIndex) {}

  RankedTensorType labelType(RankedTensorType logits,
                             std::string &error) override {
    int64_t rank = logits.getRank();
    if (rank < 1 || (rank == 1 && requestedAxis == INT64_MIN)) {
      error = "softmax-cross-entropy needs logits of at least 2 dims, samples "
              "and classes";
      return nullptr;
    }
    int64_t axis = classAxis(logits);
    if (axis < 0 || axis >= rank) {
      error = "class axis " + std::to_string(requestedAxis) +
              " is no dim of the logits, which have " + std::to_string(rank);
      return nullptr;
    }
    if (!isa<FloatType>(logits.getElementType())) {
      error = "the logits are not floating-point";
      return nullptr;
    }
    SmallVector<int64_t> shape;
    for (int64_t dim : otherDims(rank, {axis}))
      shape.push_back(logits.getDimSize(dim));
    return RankedTensorType::get(shape,
                                 IntegerType::get(logits.getContext(), 64));
  }

  SmallVector<int64_t> labelRange(RankedTensorType logits) override {
    return {0, logits.getDimSize(classAxis(logits)), ignoreIndex};
  }

  SampleLosses build(OpBuilder &builder, Location loc, Value logits,
                     Value labels, bool wantCorrect) override {
    logits = classesLast(builder, loc, logits);
    auto type = withShape(logits.getType(),
                          cast<RankedTensorType>(labels.getType()).getShape());
    auto loss = SoftmaxCrossEntropyOp::create(builder, loc, type, type, logits,
                                              labels, ignoreIndex);
    Value ignored = splat(builder, loc, labels.getType(), ignoreIndex);
    Value counted = compare(builder, loc, "ne", labels, ignored);
    SampleLosses result;
    result.losses = loss.getLoss();
    result.counts = ConvertOp::create(builder, loc, type, counted);
    if (wantCorrect)
      result.correct = buildCorrect(builder, loc, logits, labels, type);
    return result;
  }

private:
  int64_t classAxis(RankedTensorType logits) const {
    int64_t rank = logits.getRank();
    if (requestedAxis == INT64_MIN)
      return rank == 3 ? 2 : 1;
    return requestedAxis < 0 ? requestedAxis + rank : requestedAxis;
  }

  Value classesLast(OpBuilder &builder, Location loc, Value logits) const {
    auto type = cast<RankedTensorType>(logits.getType());
    int64_t axis = classAxis(type);
    SmallVector<int64_t> permutation = otherDims(type.getRank(), {axis});
    permutation.push_back(axis);
    return transpose(builder, loc, logits, permutation);
  }

  // Whether the label's logit is the largest: logits as one row of numbers,
  // sample i's label at i * classes + label.
  static Value buildCorrect(OpBuilder &builder, Location loc, Value logits,
                            Value labels, RankedTensorType type) {
    auto logitType = cast<RankedTensorType>(logits.getType());
    int64_t classes = logitType.getShape().back();
    int64_t samples = type.getNumElements();
    auto labelType = RankedTensorType::get({samples}, builder.getI64Type());
    SmallVector<int64_t> starts;
    for (int64_t sample = 0; sample < samples; ++sample)
      starts.push_back(sample * classes);
    Value start = ConstantOp::create(
        builder, loc, DenseElementsAttr::get(labelType, ArrayRef(starts)));
    Value flatLabels = reshape(builder, loc, labels, {samples});
    Value index = AddOp::create(builder, loc, start, flatLabels);
    Value flat = reshape(builder, loc, logits, {samples * classes});
    Value chosen = GatherOp::create(
        builder, loc, withShape(logitType, {samples}), flat, index, 0);
    Value best = ReduceOp::create(builder, loc, type, "max", logits,
                                  ArrayRef<int64_t>{logitType.getRank() - 1});
    Value right = compare(builder, loc, "ge",
                          reshape(builder, loc, chosen, type.getShape()), best);
    return ConvertOp::create(builder, loc, type, right);
  }

  int64_t requestedAxis;
  int64_t ignoreIndex;
};

class MeanSquaredError : public Loss {
public:
  RankedTensorType labelType(RankedTensorType logits,
                             std::string &error) override {
    if (isa<FloatType>(logits.getElementType()))
      return logits;
    error = "the output is not floating-point";
    return nullptr;
  }

  SmallVector<int64_t> labelRange(RankedTensorType) override { return {}; }

  SampleLosses build(OpBuilder &builder, Location loc, Value logits,
                     Value labels, bool) override {
    Value difference = SubOp::create(builder, loc, logits, labels);
    SampleLosses result;
    result.losses = MulOp::create(builder, loc, difference, difference);
    return result;
  }
};

} // namespace

std::unique_ptr<Loss> makeSoftmaxCrossEntropy(int64_t classAxis,
                                              int64_t ignoreIndex) {
  return std::make_unique<SoftmaxCrossEntropy>(classAxis, ignoreIndex);
}

std::unique_ptr<Loss> makeMeanSquaredError() {
  return std::make_unique<MeanSquaredError>();
}

} // namespace zc
