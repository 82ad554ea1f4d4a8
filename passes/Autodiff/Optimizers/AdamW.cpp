//===- AdamW.cpp - Adam with decoupled weight decay -----------------------===//
//
// Loshchilov & Hutter 2019, in torch.optim.AdamW's order of operations:
// p = p (1 - lr wd); m = m + (1 - b1)(g - m); v = b2 v + (1 - b2) g g;
// p = p - lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps).
// What depends on the step number is computed in double precision, as PyTorch
// does on the host: 1 - 0.999 has few good digits in float32.
//
//===----------------------------------------------------------------------===//
#include "passes/Autodiff/Optimizers/Optimizer.h"
#include "passes/Autodiff/Optimizers/UpdateBuilder.h"

using namespace mlir;

namespace zc {
namespace {

class AdamW : public Optimizer {
public:
  explicit AdamW(const BuildOptimizerStepPassOptions &options)
      : beta1(options.beta1), beta2(options.beta2), eps(options.eps),
        weightDecay(options.weightDecay < 0 ? 0.01 : options.weightDecay) {}

  std::vector<std::string> slots() const override {
    return {"exp_avg", "exp_avg_sq"};
  }

  void buildShared(OpBuilder &builder, Location loc, Value lr,
                   Value step) override {
    UpdateBuilder u{builder, loc};
    Value rate = u.convert(lr, builder.getF64Type());
    Value one = u.number(step, 1);
    stepSize = u.div(rate, u.sub(one, u.pow(beta1, step)));
    correction = u.sqrt(u.sub(one, u.pow(beta2, step)));
    decay = u.sub(one, u.mul(rate, weightDecay));
  }

  Value update(OpBuilder &builder, Location loc, Value parameter,
               Value gradient, MutableArrayRef<Value> moments) override {
    UpdateBuilder u{builder, loc};
    Value &first = moments[0], &second = moments[1];
    Value decayed = u.mul(parameter, u.spread(decay, parameter));
    first = u.add(first, u.mul(u.sub(gradient, first), 1 - beta1));
    second = u.add(u.mul(second, beta2),
                   u.mul(u.mul(gradient, gradient), 1 - beta2));
    Value root = u.div(u.sqrt(second), u.spread(correction, parameter));
    Value ratio = u.div(first, u.add(root, u.number(root, eps)));
    return u.sub(decayed, u.mul(ratio, u.spread(stepSize, parameter)));
  }

private:
  double beta1, beta2, eps, weightDecay;
  Value stepSize, correction, decay;
};

} // namespace

std::unique_ptr<Optimizer>
makeAdamW(const BuildOptimizerStepPassOptions &options) {
  return std::make_unique<AdamW>(options);
}

} // namespace zc
