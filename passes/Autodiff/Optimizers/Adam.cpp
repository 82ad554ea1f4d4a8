//===- Adam.cpp - Adam and AdamW ------------------------------------------===//
//
// Kingma & Ba 2015, in torch.optim.Adam's order of operations:
// m = m + (1 - b1)(g - m); v = b2 v + (1 - b2) g g;
// p = p - lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps).
// Weight decay is added to the gradient, g + wd p; AdamW (Loshchilov & Hutter
// 2019) shrinks the parameter instead, p (1 - lr wd).
// Factors that depend on the step number are computed in double precision, as
// PyTorch does on the host: 1 - 0.999 has few good digits in float32.
//
//===----------------------------------------------------------------------===//
#include "passes/Autodiff/Optimizers/Optimizer.h"
#include "passes/Autodiff/Optimizers/UpdateBuilder.h"

using namespace mlir;

namespace zc {
namespace {

class Adam : public Optimizer {
public:
  Adam(const BuildOptimizerStepPassOptions &options, bool decoupled,
       double defaultDecay)
      : beta1{options.beta1}, beta2{options.beta2},
        eps(options.eps), weightDecay{options.weightDecay < 0
                                          ? defaultDecay
                                          : options.weightDecay},
        decoupled(decoupled) {}

  std::vector<Slot> slots(RankedTensorType parameter) const override {
    return {{"exp_avg", parameter}, {"exp_avg_sq", parameter}};
  }

  void visitNumbers(NumberVisitor visit) override {
    visit("beta1", beta1);
    visit("beta2", beta2);
    if (weightDecay.value != 0)
      visit("weight-decay", weightDecay);
  }

  void buildShared(OpBuilder &builder, Location loc, Value lr,
                   Value step) override {
    UpdateBuilder u{builder, loc};
    Value rate = u.convert(lr, builder.getF64Type());
    Value one = u.number(step, 1);
    stepSize = u.div(rate, u.sub(one, u.pow(beta1, step)));
    correction = u.sqrt(u.sub(one, u.pow(beta2, step)));
    rest1 = u.rest(beta1);
    rest2 = u.rest(beta2);
    shrink = u.sub(one, u.mul(rate, weightDecay));
  }

  Value update(OpBuilder &builder, Location loc,
               ParameterUpdate &update) override {
    UpdateBuilder u{builder, loc};
    Value parameter = update.parameter, gradient = update.gradient;
    if (update.decays && weightDecay.value != 0) {
      if (decoupled)
        parameter = u.mul(parameter, u.spread(shrink, parameter));
      else
        gradient = u.add(gradient, u.mul(parameter, weightDecay));
    }
    Value &first = update.moments[0], &second = update.moments[1];
    first = u.add(first, u.mul(u.sub(gradient, first), rest1));
    second =
        u.add(u.mul(second, beta2), u.mul(u.mul(gradient, gradient), rest2));
    Value root = u.div(u.sqrt(second), u.spread(correction, parameter));
    Value ratio = u.div(first, u.add(root, u.number(root, eps)));
    return u.sub(parameter, u.mul(ratio, u.spread(stepSize, parameter)));
  }

private:
  RuleNumber beta1, beta2;
  double eps;
  RuleNumber weightDecay;
  bool decoupled;
  RuleNumber rest1, rest2; // 1 - beta1, 1 - beta2
  Value stepSize, correction, shrink;
};

} // namespace

std::unique_ptr<Optimizer>
makeAdam(const BuildOptimizerStepPassOptions &options) {
  return std::make_unique<Adam>(options, /*decoupled=*/false,
                                /*defaultDecay=*/0);
}

std::unique_ptr<Optimizer>
makeAdamW(const BuildOptimizerStepPassOptions &options) {
  return std::make_unique<Adam>(options, /*decoupled=*/true,
                                /*defaultDecay=*/0.01);
}

} // namespace zc
