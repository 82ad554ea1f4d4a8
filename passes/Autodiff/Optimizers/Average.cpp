//===- Average.cpp - a moving average of the parameters -------------------===//
//
// ema = ema + (1 - decay) (p - ema) with the updated parameter p, which it is
// after the first step: torch.optim.swa_utils.get_ema_multi_avg_fn.
//
//===----------------------------------------------------------------------===//
#include "passes/Autodiff/Optimizers/Optimizer.h"
#include "passes/Autodiff/Optimizers/UpdateBuilder.h"

using namespace mlir;

namespace zc {
namespace {

/// Another optimizer, and one more slot.
class Averaged : public Optimizer {
public:
  Averaged(std::unique_ptr<Optimizer> rule, double decay)
      : rule(std::move(rule)), decay(decay) {}

  std::vector<Slot> slots(RankedTensorType parameter) const override {
    std::vector<Slot> all = rule->slots(parameter);
    all.push_back({"ema", parameter});
    return all;
  }

  bool ignoresZeros() const override { return rule->ignoresZeros(); }

  void visitNumbers(NumberVisitor visit) override { rule->visitNumbers(visit); }

  void buildShared(OpBuilder &builder, Location loc, Value lr,
                   Value step) override {
    rule->buildShared(builder, loc, lr, step);
    UpdateBuilder u{builder, loc};
    Value isLater = u.greater(step, u.number(step, 1));
    weight = u.select(isLater, u.number(step, 1 - decay), u.number(step, 1));
  }

  Value update(OpBuilder &builder, Location loc,
               ParameterUpdate &update) override {
    Value old = update.moments.pop_back_val();
    Value updated = rule->update(builder, loc, update);
    UpdateBuilder u{builder, loc};
    update.moments.push_back(
        u.add(old, u.mul(u.sub(updated, old), u.spread(weight, old))));
    return updated;
  }

private:
  std::unique_ptr<Optimizer> rule;
  double decay;
  Value weight;
};

} // namespace

std::unique_ptr<Optimizer> makeAveraged(std::unique_ptr<Optimizer> rule,
                                        double decay) {
  return std::make_unique<Averaged>(std::move(rule), decay);
}

} // namespace zc
