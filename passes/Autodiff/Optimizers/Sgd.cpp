//===- Sgd.cpp - stochastic gradient descent ------------------------------===//
//
// torch.optim.SGD: d = g + wd p; b = momentum b + d; d = d + momentum b with
// Nesterov, else b; p = p - lr d. A buffer of zeros makes the first b equal d.
//
//===----------------------------------------------------------------------===//
#include "passes/Autodiff/Optimizers/Optimizer.h"
#include "passes/Autodiff/Optimizers/UpdateBuilder.h"

using namespace mlir;

namespace zc {
namespace {

class Sgd : public Optimizer {
public:
  explicit Sgd(const BuildOptimizerStepPassOptions &options)
      : momentum{options.momentum},
        nesterov(options.nesterov), weightDecay{options.weightDecay < 0
                                                    ? 0.0
                                                    : options.weightDecay} {}

  std::vector<Slot> slots(RankedTensorType parameter) const override {
    if (momentum.value == 0)
      return {};
    return {{"momentum_buffer", parameter}};
  }

  void visitNumbers(NumberVisitor visit) override {
    if (momentum.value != 0)
      visit("momentum", momentum);
    if (weightDecay.value != 0)
      visit("weight-decay", weightDecay);
  }

  void buildShared(OpBuilder &, Location, Value rate, Value) override {
    lr = rate;
  }

  Value update(OpBuilder &builder, Location loc,
               ParameterUpdate &update) override {
    UpdateBuilder u{builder, loc};
    Value parameter = update.parameter, direction = update.gradient;
    SmallVector<Value> &moments = update.moments;
    if (update.decays && weightDecay.value != 0)
      direction = u.add(direction, u.mul(parameter, weightDecay));
    if (!moments.empty()) {
      moments[0] = u.add(u.mul(moments[0], momentum), direction);
      direction =
          nesterov ? u.add(direction, u.mul(moments[0], momentum)) : moments[0];
    }
    return u.sub(parameter, u.mul(direction, u.spread(lr, parameter)));
  }

private:
  RuleNumber momentum;
  bool nesterov;
  RuleNumber weightDecay;
  Value lr;
};

} // namespace

std::unique_ptr<Optimizer>
makeSgd(const BuildOptimizerStepPassOptions &options) {
  return std::make_unique<Sgd>(options);
}

} // namespace zc
