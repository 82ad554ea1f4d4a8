//===- Sm3.cpp - one second moment per index of each dim ------------------===//
//
// Anil et al. 2019, algorithm SM3-II, the covers being the slices along each
// dim: v(i) = min_r mu_r(i_r) + g(i)^2; u = g / sqrt(v), 0 where v is 0;
// mu_r(k) = max over the slice k of v; p = p - lr u. With momentum b, the step
// is m = b m + (1 - b) u, as in the authors' implementation. Parameters of
// fewer than two dims have one accumulator per element. Decay is added to the
// gradient.
//
//===----------------------------------------------------------------------===//
#include "passes/Autodiff/Optimizers/Optimizer.h"
#include "passes/Autodiff/Optimizers/UpdateBuilder.h"

using namespace mlir;

namespace zc {
namespace {

class Sm3 : public Optimizer {
public:
  explicit Sm3(const BuildOptimizerStepPassOptions &options)
      : momentum{options.momentum}, weightDecay{options.weightDecay < 0
                                                    ? 0.0
                                                    : options.weightDecay} {}

  std::vector<Slot> slots(RankedTensorType parameter) const override {
    std::vector<Slot> slots;
    for (int64_t dim = 0; dim < numCovers(parameter); ++dim)
      slots.push_back(
          {"accumulator_" + std::to_string(dim), coverType(parameter, dim)});
    if (momentum.value != 0)
      slots.push_back({"momentum_buffer", parameter});
    return slots;
  }

  void visitNumbers(NumberVisitor visit) override {
    if (momentum.value != 0)
      visit("momentum", momentum);
    if (weightDecay.value != 0)
      visit("weight-decay", weightDecay);
  }

  void buildShared(OpBuilder &builder, Location loc, Value rate,
                   Value) override {
    lr = rate;
    rest = UpdateBuilder{builder, loc}.rest(momentum);
  }

  Value update(OpBuilder &builder, Location loc,
               ParameterUpdate &update) override {
    UpdateBuilder u{builder, loc};
    Value parameter = update.parameter, gradient = update.gradient;
    SmallVector<Value> &moments = update.moments;
    if (update.decays && weightDecay.value != 0)
      gradient = u.add(gradient, u.mul(parameter, weightDecay));
    auto type = cast<RankedTensorType>(parameter.getType());
    int64_t covers = numCovers(type);
    Value bound = u.stretch(moments[0], gradient);
    for (int64_t dim = 1; dim < covers; ++dim)
      bound = u.min(bound, u.stretch(moments[dim], gradient));
    Value variance = u.add(bound, u.mul(gradient, gradient));
    Value zero = u.number(variance, 0);
    Value direction = u.select(u.greater(variance, zero),
                               u.mul(gradient, u.rsqrt(variance)), zero);
    for (int64_t dim = 0; dim < covers; ++dim)
      moments[dim] = covers == 1 ? variance : u.largestOfOthers(variance, dim);
    if (momentum.value != 0) {
      Value &buffer = moments.back();
      buffer = u.add(u.mul(buffer, momentum), u.mul(direction, rest));
      direction = buffer;
    }
    return u.sub(parameter, u.mul(direction, u.spread(lr, parameter)));
  }

private:
  static int64_t numCovers(RankedTensorType type) {
    return std::max<int64_t>(1, type.getRank());
  }

  /// All dims but `dim` are 1.
  static RankedTensorType coverType(RankedTensorType type, int64_t dim) {
    if (type.getRank() < 2)
      return type;
    SmallVector<int64_t> shape(type.getRank(), 1);
    shape[dim] = type.getDimSize(dim);
    return RankedTensorType::get(shape, type.getElementType());
  }

  RuleNumber momentum, weightDecay, rest; // the last: 1 - momentum
  Value lr;
};

} // namespace

std::unique_ptr<Optimizer>
makeSm3(const BuildOptimizerStepPassOptions &options) {
  return std::make_unique<Sm3>(options);
}

} // namespace zc
