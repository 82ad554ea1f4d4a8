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

std::string checkFloat(RankedTensorType logits) {
  return isa<FloatType>(logits.getElementType())
             ? ""
             : "the output is not floating-point";
}

class SoftmaxCrossEntropy : public Loss {
public:
  SoftmaxCrossEntropy(int64_t classAxis, int64_t ignoreIndex)
      : requestedAxis(classAxis), ignoreIndex(ignoreIndex) {}

  std::string check(RankedTensorType logits) override {
    int64_t rank = logits.getRank();
    if (rank < 1 || (rank == 1 && requestedAxis == INT64_MIN))
      return "softmax-cross-entropy needs logits of at least 2 dims, samples "
             "and classes";
    int64_t axis = classAxis(logits);
    if (axis < 0 || axis >= rank)
      return "class axis " + std::to_string(requestedAxis) +
             " is no dim of the logits, which have " + std::to_string(rank);
    return checkFloat(logits);
  }

  std::string warn(RankedTensorType logits) override {
    return logits.getDimSize(classAxis(logits)) > 1
               ? ""
               : "softmax-cross-entropy over one class is always 0 and trains "
                 "nothing; --loss bce-with-logits is of yes or no, --loss mse "
                 "of numbers";
  }

  RankedTensorType labelType(RankedTensorType logits) override {
    SmallVector<int64_t> shape;
    for (int64_t dim : otherDims(logits.getRank(), {classAxis(logits)}))
      shape.push_back(logits.getDimSize(dim));
    return RankedTensorType::get(shape,
                                 IntegerType::get(logits.getContext(), 64));
  }

  int64_t labelDim(RankedTensorType logits, int64_t logitsDim) override {
    int64_t axis = classAxis(logits);
    return logitsDim == axis ? -1 : logitsDim - (logitsDim > axis);
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

  // Whether the label is the first class whose logit is the largest.
  static Value buildCorrect(OpBuilder &builder, Location loc, Value logits,
                            Value labels, RankedTensorType type) {
    auto logitType = cast<RankedTensorType>(logits.getType());
    int64_t last = logitType.getRank() - 1;
    int64_t classes = logitType.getDimSize(last);
    auto numberType = withElementType(logitType, builder.getI32Type());
    auto classType = withShape(numberType, {classes});
    auto order = llvm::to_vector(llvm::seq<int32_t>(0, classes));
    Value numbers = ConstantOp::create(
        builder, loc, DenseElementsAttr::get(classType, ArrayRef(order)));
    numbers = broadcast(builder, loc, numbers, logitType.getShape(), {last});
    Value best = ReduceOp::create(builder, loc, type, "max", logits,
                                  ArrayRef<int64_t>{last});
    best = broadcast(builder, loc, best, logitType.getShape(),
                     otherDims(last + 1, {last}));
    Value isBest = compare(builder, loc, "eq", logits, best);
    Value candidates =
        SelectOp::create(builder, loc, numberType, isBest, numbers,
                         splat(builder, loc, numberType, double(classes)));
    auto chosenType = withElementType(type, builder.getI32Type());
    Value chosen = ReduceOp::create(builder, loc, chosenType, "min", candidates,
                                    ArrayRef<int64_t>{last});
    chosen = ConvertOp::create(builder, loc, labels.getType(), chosen);
    Value right = compare(builder, loc, "eq", chosen, labels);
    return ConvertOp::create(builder, loc, type, right);
  }

  int64_t requestedAxis;
  int64_t ignoreIndex;
};

/// Of every element of an output, against a label of its type.
class ElementwiseLoss : public Loss {
public:
  std::string check(RankedTensorType logits) override {
    return checkFloat(logits);
  }
  RankedTensorType labelType(RankedTensorType logits) override {
    return logits;
  }
  SmallVector<int64_t> labelRange(RankedTensorType) override { return {}; }
};

class MeanSquaredError : public ElementwiseLoss {
public:
  SampleLosses build(OpBuilder &builder, Location loc, Value logits,
                     Value labels, bool) override {
    Value difference = SubOp::create(builder, loc, logits, labels);
    SampleLosses result;
    result.losses = MulOp::create(builder, loc, difference, difference);
    return result;
  }
};

// -y log s(x) - (1 - y) log(1 - s(x)) = softplus(x) - x y
class BinaryCrossEntropy : public ElementwiseLoss {
public:
  SampleLosses build(OpBuilder &builder, Location loc, Value logits,
                     Value labels, bool wantCorrect) override {
    Value product = MulOp::create(builder, loc, logits, labels);
    Value softplus = SoftplusOp::create(builder, loc, logits);
    SampleLosses result;
    result.losses = SubOp::create(builder, loc, softplus, product);
    if (wantCorrect) {
      Value said = isAbove(builder, loc, logits, 0);
      Value right = isAbove(builder, loc, labels, 0.5);
      Value same = compare(builder, loc, "eq", said, right);
      result.correct = ConvertOp::create(builder, loc, logits.getType(), same);
    }
    return result;
  }

private:
  static Value isAbove(OpBuilder &builder, Location loc, Value value,
                       double limit) {
    Value bound = splat(builder, loc, value.getType(), limit);
    Value above = compare(builder, loc, "gt", value, bound);
    return ConvertOp::create(builder, loc, value.getType(), above);
  }
};

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

std::unique_ptr<Loss> makeSoftmaxCrossEntropy(int64_t classAxis,
                                              int64_t ignoreIndex) {
  return std::make_unique<SoftmaxCrossEntropy>(classAxis, ignoreIndex);
}

std::unique_ptr<Loss> makeMeanSquaredError() {
  return std::make_unique<MeanSquaredError>();
}

std::unique_ptr<Loss> makeBinaryCrossEntropy() {
  return std::make_unique<BinaryCrossEntropy>();
}

std::unique_ptr<Loss> makeOwnLoss() { return std::make_unique<OwnLoss>(); }

} // namespace zc
