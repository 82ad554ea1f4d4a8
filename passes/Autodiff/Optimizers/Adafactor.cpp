//===- Adafactor.cpp - second moments of rows and columns -----------------===//
//
// Shazeer & Stern 2018, in torch.optim.Adafactor's form: of the last two dims
// only the means over rows and over columns are kept,
// r = r + t^-0.8 (mean_m(g g) - r), c likewise, v = r c / mean_n(r);
// u = g / sqrt(v), u = u / max(1, rms(u)),
// p = p - max(eps2, rms(p)) min(lr, 1 / sqrt(t)) u. Parameters of fewer dims
// keep v itself. Decay shrinks the parameter, p (1 - lr wd).
//
//===----------------------------------------------------------------------===//
#include "passes/Autodiff/Optimizers/Optimizer.h"
#include "passes/Autodiff/Optimizers/UpdateBuilder.h"

#include <limits>

using namespace mlir;

namespace zc {
namespace {

constexpr double kDecayOfBeta2 = -0.8;
constexpr double kLeastScale = 1e-3; // eps2
constexpr double kLargestUpdate = 1; // d

class Adafactor : public Optimizer {
public:
  explicit Adafactor(const BuildOptimizerStepPassOptions &options)
      : weightDecay{options.weightDecay < 0 ? 0.0 : options.weightDecay} {}

  std::vector<Slot> slots(RankedTensorType parameter) const override {
    int64_t rank = parameter.getRank();
    if (rank < 2)
      return {{"variance", parameter}};
    return {{"row_var", onlyOne(parameter, rank - 1)},
            {"col_var", onlyOne(parameter, rank - 2)}};
  }

  bool ignoresZeros() const override { return false; } // means count them

  void visitNumbers(NumberVisitor visit) override {
    if (weightDecay.value != 0)
      visit("weight-decay", weightDecay);
  }

  void buildShared(OpBuilder &builder, Location loc, Value lr,
                   Value step) override {
    UpdateBuilder u{builder, loc};
    Value rate = u.convert(lr, builder.getF64Type());
    Value one = u.number(step, 1);
    weight = u.pow(step, kDecayOfBeta2);
    relativeRate = u.min(rate, u.div(one, u.sqrt(step)));
    shrink = u.sub(one, u.mul(rate, weightDecay));
  }

  Value update(OpBuilder &builder, Location loc,
               ParameterUpdate &update) override {
    UpdateBuilder u{builder, loc};
    Value parameter = update.parameter, gradient = update.gradient;
    Value scale = u.rootMeanSquare(parameter);
    scale = u.mul(u.max(scale, u.number(scale, kLeastScale)),
                  u.convert(relativeRate, elementOf(parameter)));
    if (update.decays && weightDecay.value != 0)
      parameter = u.mul(parameter, u.spread(shrink, parameter));
    Value variance = estimateVariance(u, gradient, update.moments);
    double least = leastVariance(elementOf(gradient));
    variance = u.max(variance, u.number(variance, least * least));
    Value direction = u.mul(u.rsqrt(variance), gradient);
    Value size = u.mul(u.rootMeanSquare(direction), 1 / kLargestUpdate);
    scale = u.div(scale, u.max(size, u.number(size, 1)));
    return u.sub(parameter, u.mul(direction, u.spread(scale, direction)));
  }

private:
  static Type elementOf(Value value) {
    return cast<ShapedType>(value.getType()).getElementType();
  }

  /// eps1: the distance of 1 to the next number, as PyTorch has it.
  static double leastVariance(Type element) {
    return element.isF64() ? std::numeric_limits<double>::epsilon()
                           : std::numeric_limits<float>::epsilon();
  }

  static RankedTensorType onlyOne(RankedTensorType type, int64_t dim) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = 1;
    return RankedTensorType::get(shape, type.getElementType());
  }

  /// `old` moved towards the mean of `squares` over `dim`, which keeps size 1.
  Value moveToMean(UpdateBuilder &u, Value old, Value squares, int64_t dim) {
    Value mean = u.mean(squares, dim);
    return u.add(old, u.mul(u.sub(mean, old), u.spread(weight, old)));
  }

  Value estimateVariance(UpdateBuilder &u, Value gradient,
                         SmallVectorImpl<Value> &moments) {
    Value squares = u.mul(gradient, gradient);
    int64_t rank = cast<ShapedType>(gradient.getType()).getRank();
    if (rank < 2) {
      moments[0] = u.add(moments[0], u.mul(u.sub(squares, moments[0]),
                                           u.spread(weight, moments[0])));
      return moments[0];
    }
    Value rows = moments[0] = moveToMean(u, moments[0], squares, rank - 1);
    Value columns = moments[1] = moveToMean(u, moments[1], squares, rank - 2);
    Value level = u.mean(rows, rank - 2);
    level = u.max(level, u.number(level, leastVariance(elementOf(gradient))));
    return u.div(u.mul(u.stretch(rows, gradient), u.stretch(columns, gradient)),
                 u.stretch(level, gradient));
  }

  RuleNumber weightDecay;
  Value weight, relativeRate, shrink;
};

} // namespace

std::unique_ptr<Optimizer>
makeAdafactor(const BuildOptimizerStepPassOptions &options) {
  return std::make_unique<Adafactor>(options);
}

} // namespace zc
