//===- Elementwise.cpp - --loss mse, l1, huber, bce-with-logits -----------===//
#include "passes/Autodiff/Losses.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Autodiff/Losses/LossSupport.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

/// A loss of each element of an output and a label of its type.
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

class MeanAbsoluteError : public ElementwiseLoss {
public:
  SampleLosses build(OpBuilder &builder, Location loc, Value logits,
                     Value labels, bool) override {
    SampleLosses result;
    result.losses = AbsOp::create(builder, loc,
                                  SubOp::create(builder, loc, logits, labels));
    return result;
  }
};

// With c = min(d, delta), both cases are c (d - c / 2).
class Huber : public ElementwiseLoss {
public:
  explicit Huber(double delta) : delta(delta) {}

  SampleLosses build(OpBuilder &builder, Location loc, Value logits,
                     Value labels, bool) override {
    Value distance = AbsOp::create(builder, loc,
                                   SubOp::create(builder, loc, logits, labels));
    auto number = [&](double value) {
      return splat(builder, loc, distance.getType(), value);
    };
    Value near = MinOp::create(builder, loc, distance, number(delta));
    Value rest = SubOp::create(builder, loc, distance,
                               MulOp::create(builder, loc, near, number(0.5)));
    SampleLosses result;
    result.losses = MulOp::create(builder, loc, near, rest);
    return result;
  }

private:
  double delta;
};

// -y log s(x) - (1 - y) log(1 - s(x)) = softplus(x) - x y. With a weight p on
// the first term: (1 - y) x + (1 + (p - 1) y) softplus(-x).
class BinaryCrossEntropy : public ElementwiseLoss {
public:
  BinaryCrossEntropy(double positiveWeight, SmallVector<double> classWeights)
      : positiveWeight(positiveWeight), classWeights(std::move(classWeights)) {}

  std::string check(RankedTensorType logits) override {
    if (!classWeights.empty() && logits.getRank() == 0)
      return "--class-weights needs an output with a dim of classes";
    std::string wrong =
        classWeights.empty()
            ? ""
            : checkWeights(classWeights, logits, logits.getRank() - 1);
    return wrong.empty() ? checkFloat(logits) : wrong;
  }

  SampleLosses build(OpBuilder &builder, Location loc, Value logits,
                     Value labels, bool wantCorrect) override {
    SampleLosses result;
    result.losses = positiveWeight == 1
                        ? buildPlain(builder, loc, logits, labels)
                        : buildWeighted(builder, loc, logits, labels);
    if (!classWeights.empty())
      result.losses =
          weighClasses(builder, loc, result.losses, classWeights, 1);
    if (wantCorrect) {
      Value said = isAbove(builder, loc, logits, 0);
      Value right = isAbove(builder, loc, labels, 0.5);
      Value same = compare(builder, loc, Predicate::Eq, said, right);
      result.correct = ConvertOp::create(builder, loc, logits.getType(), same);
    }
    return result;
  }

private:
  static Value buildPlain(OpBuilder &builder, Location loc, Value logits,
                          Value labels) {
    Value product = MulOp::create(builder, loc, logits, labels);
    Value softplus = SoftplusOp::create(builder, loc, logits);
    return SubOp::create(builder, loc, softplus, product);
  }

  Value buildWeighted(OpBuilder &builder, Location loc, Value logits,
                      Value labels) const {
    auto number = [&](double value) {
      return splat(builder, loc, labels.getType(), value);
    };
    Value weight = AddOp::create(
        builder, loc,
        MulOp::create(builder, loc, labels, number(positiveWeight - 1)),
        number(1));
    Value softplus =
        SoftplusOp::create(builder, loc, NegOp::create(builder, loc, logits));
    Value negative = SubOp::create(builder, loc, number(1), labels);
    return AddOp::create(builder, loc,
                         MulOp::create(builder, loc, negative, logits),
                         MulOp::create(builder, loc, weight, softplus));
  }

  static Value isAbove(OpBuilder &builder, Location loc, Value value,
                       double limit) {
    Value bound = splat(builder, loc, value.getType(), limit);
    Value above = compare(builder, loc, Predicate::Gt, value, bound);
    return ConvertOp::create(builder, loc, value.getType(), above);
  }

  double positiveWeight;
  SmallVector<double> classWeights;
};

} // namespace

std::unique_ptr<Loss> makeMeanSquaredError() {
  return std::make_unique<MeanSquaredError>();
}

std::unique_ptr<Loss> makeMeanAbsoluteError() {
  return std::make_unique<MeanAbsoluteError>();
}

std::unique_ptr<Loss> makeHuber(double delta) {
  return std::make_unique<Huber>(delta);
}

std::unique_ptr<Loss> makeBinaryCrossEntropy(double positiveWeight,
                                             SmallVector<double> classWeights) {
  return std::make_unique<BinaryCrossEntropy>(positiveWeight,
                                              std::move(classWeights));
}

} // namespace zc
