//===- OrderTokens.cpp - --zc-order-tokens --------------------------------===//
#include "dialects/Sched/SchedDialect.h"
#include "dialects/Train/Tokens.h"
#include "passes/Sequence/ExchangeCost.h"
#include "passes/Sequence/PartMasks.h"
#include "passes/Sequence/Passes.h"
#include "passes/Sequence/TokenOrder.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_ORDERTOKENSPASS
#include "passes/Sequence/Passes.h.inc"

namespace {

struct OrderTokens : public impl::OrderTokensPassBase<OrderTokens> {
  using OrderTokensPassBase::OrderTokensPassBase;

  void runOnOperation() override {
    if (parts < 2)
      return;
    getOperation()->setAttr(
        kTokenPartsAttr,
        IntegerAttr::get(IntegerType::get(&getContext(), 64), parts));
    settleMasks();
    if (attention == "ulysses" || attention == "ring=contiguous")
      return;
    SmallVector<std::unique_ptr<TokenOrder>> orders;
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      auto order = std::make_unique<TokenOrder>(program, partsOf());
      if (!order->hasAttention())
        continue;
      if ((attention == "auto" && order->prefersHeads()) || order->isRefused())
        return;
      const OrderObstacle obstacle = findObstacle(*order);
      if (obstacle.why.empty()) {
        orders.push_back(std::move(order));
        continue;
      }
      if (isAsked() && order->hasRing())
        complain(program, obstacle);
      return;
    }
    for (auto &order : orders)
      order->run([&](Operation *op) { return gathersKeys(op, attention); });
    if (!orders.empty())
      getOperation()->setAttr(kTokenOrderAttr,
                              StringAttr::get(&getContext(), kZigzag));
  }

private:
  AttentionParts partsOf() const { return {parts, headParts}; }
  bool isAsked() const { return attention == "ring=zigzag"; }

  OrderObstacle findObstacle(TokenOrder &order) {
    OrderObstacle obstacle = order.findObstacle(isAsked());
    if (obstacle.why.empty() && byHand)
      return {nullptr, "--token-dim says where tokens are"};
    return obstacle;
  }

  void complain(func::FuncOp program, const OrderObstacle &obstacle) {
    (obstacle.op ? obstacle.op->emitError() : program.emitError())
        << "--sp-attention ring=zigzag: " << obstacle.why
        << "; ring=contiguous leaves tokens where they are";
    signalPassFailure();
  }

  /// Masks become such whose blocks a ring adds up, where one may go round.
  void settleMasks() {
    const bool rings = StringRef(attention).starts_with("ring");
    const bool parts = rings || (attention == "auto" && prefersParts());
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      if (parts)
        partMasks(program);
      if (rings || attention == "auto")
        levelMasks(program, [&](Operation *op) {
          return rings || (canGoRound(op) && !prefersHeads(op, partsOf()));
        });
    }
  }

  /// Whether a ring is faster once causal masks and those of keys are apart.
  bool prefersParts() {
    bool found = false;
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      TokenOrder order(program, partsOf());
      if (!order.hasAttention())
        continue;
      if (order.prefersHeads(/*comeApart=*/true) || !comeApart(program))
        return false;
      found = true;
    }
    return found;
  }
};

} // namespace
} // namespace zc
