//===- SoftmaxCrossEntropy.cpp - --loss softmax-cross-entropy -------------===//
#include "passes/Autodiff/Losses.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Autodiff/Losses/LossSupport.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

class SoftmaxCrossEntropy : public Loss {
public:
  explicit SoftmaxCrossEntropy(CrossEntropyOptions options)
      : options(std::move(options)) {}

  std::string check(RankedTensorType logits) override {
    int64_t rank = logits.getRank();
    if (rank < 1 || (rank == 1 && options.classAxis == INT64_MIN))
      return "softmax-cross-entropy needs logits of at least 2 dims, samples "
             "and classes";
    int64_t axis = classAxis(logits);
    if (axis < 0 || axis >= rank)
      return "class axis " + std::to_string(options.classAxis) +
             " is no dim of the logits, which have " + std::to_string(rank);
    std::string wrong = checkWeights(options.classWeights, logits, axis);
    return wrong.empty() ? checkFloat(logits) : wrong;
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
    return {0, logits.getDimSize(classAxis(logits)), options.ignoreIndex};
  }

  SampleLosses build(OpBuilder &builder, Location loc, Value logits,
                     Value labels, bool wantCorrect) override {
    logits = classesLast(builder, loc, logits);
    auto type = withShape(logits.getType(),
                          cast<RankedTensorType>(labels.getType()).getShape());
    auto loss = SoftmaxCrossEntropyOp::create(builder, loc, type, type, logits,
                                              labels, options.ignoreIndex);
    Value ignored = splat(builder, loc, labels.getType(), options.ignoreIndex);
    Value counted = compare(builder, loc, Predicate::Ne, labels, ignored);
    SampleLosses result;
    result.losses = loss.getLoss();
    result.weights = ConvertOp::create(builder, loc, type, counted);
    if (!options.classWeights.empty())
      weigh(builder, loc, labels, result);
    if (options.smoothing > 0)
      result.losses = smooth(builder, loc, loss, counted, result.losses);
    if (wantCorrect)
      result.correct = buildCorrect(builder, loc, logits, labels, type);
    return result;
  }

  double getMostWeight() override {
    double most = 1;
    for (double weight : options.classWeights)
      most = std::max(most, weight);
    return most;
  }

private:
  int64_t classAxis(RankedTensorType logits) const {
    int64_t rank = logits.getRank();
    if (options.classAxis == INT64_MIN)
      return rank == 3 ? 2 : 1;
    return options.classAxis < 0 ? options.classAxis + rank : options.classAxis;
  }

  Value classesLast(OpBuilder &builder, Location loc, Value logits) const {
    auto type = cast<RankedTensorType>(logits.getType());
    int64_t axis = classAxis(type);
    SmallVector<int64_t> permutation = otherDims(type.getRank(), {axis});
    permutation.push_back(axis);
    return transpose(builder, loc, logits, permutation);
  }

  /// Multiplies losses and their weights by the weight of the label's class.
  void weigh(OpBuilder &builder, Location loc, Value labels,
             SampleLosses &result) const {
    auto type = cast<RankedTensorType>(result.losses.getType());
    result.counts = result.weights;
    Value table = weightTable(builder, loc, options.classWeights, type, 1);
    Value weights = GatherOp::create(builder, loc, type, table, labels, 0, 0);
    result.losses = MulOp::create(builder, loc, result.losses, weights);
    result.weights = MulOp::create(builder, loc, result.counts, weights);
  }

  /// (1 - s) loss + s / C sum of -w_c log softmax(x)_c, where w_c are the class
  /// weights: s / C (lse sum of w_c - sum of w_c x_c). The second term counts
  /// only for `counted` labels. PyTorch's cross_entropy does the same.
  Value smooth(OpBuilder &builder, Location loc, SoftmaxCrossEntropyOp op,
               Value counted, Value losses) const {
    auto type = cast<RankedTensorType>(losses.getType());
    Value logits = op.getLogits();
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(logits.getType()).getShape();
    int64_t last = int64_t(shape.size()) - 1;
    double each = options.smoothing / double(shape.back()), sum = 0;
    if (options.classWeights.empty()) {
      sum = options.smoothing;
      logits = scale(builder, loc, logits, each);
    } else {
      for (double weight : options.classWeights)
        sum += each * weight;
      logits = weighClasses(builder, loc, logits, options.classWeights, each);
    }
    Value even =
        SubOp::create(builder, loc, scale(builder, loc, op.getLogSumExp(), sum),
                      reduceSum(builder, loc, logits, {last}));
    even = SelectOp::create(builder, loc, type, counted, even,
                            splat(builder, loc, type, 0));
    losses = scale(builder, loc, losses, 1 - options.smoothing);
    return AddOp::create(builder, loc, losses, even);
  }

  static Value scale(OpBuilder &builder, Location loc, Value value,
                     double factor) {
    return MulOp::create(builder, loc, value,
                         splat(builder, loc, value.getType(), factor));
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
    Value best = ReduceOp::create(builder, loc, type, ReduceKind::Max, logits,
                                  ArrayRef<int64_t>{last});
    best = broadcast(builder, loc, best, logitType.getShape(),
                     otherDims(last + 1, {last}));
    Value isBest = compare(builder, loc, Predicate::Eq, logits, best);
    Value candidates =
        SelectOp::create(builder, loc, numberType, isBest, numbers,
                         splat(builder, loc, numberType, double(classes)));
    auto chosenType = withElementType(type, builder.getI32Type());
    Value chosen = ReduceOp::create(builder, loc, chosenType, ReduceKind::Min,
                                    candidates, ArrayRef<int64_t>{last});
    chosen = ConvertOp::create(builder, loc, labels.getType(), chosen);
    Value right = compare(builder, loc, Predicate::Eq, chosen, labels);
    return ConvertOp::create(builder, loc, type, right);
  }

  CrossEntropyOptions options;
};

} // namespace

std::unique_ptr<Loss> makeSoftmaxCrossEntropy(CrossEntropyOptions options) {
  return std::make_unique<SoftmaxCrossEntropy>(std::move(options));
}

} // namespace zc
