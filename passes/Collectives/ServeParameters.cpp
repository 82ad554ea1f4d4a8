//===- ServeParameters.cpp - --zc-serve-parameters ------------------------===//
//
// A parameter server (Li et al. 2014) that is one of the ranks: gradients are
// added up there (push), and the parameters that it computes go to the
// others (pull). The server alone knows the values that depend on a sum; only
// optimizer states may stay so.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/Axes.h"
#include "dialects/Dist/Server.h"
#include "dialects/Train/OpMarks.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Collectives/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_SERVEPARAMETERSPASS
#include "passes/Collectives/Passes.h.inc"

namespace {

constexpr StringLiteral kServedAxis = dist::kSampleAxis;

/// One program.
class Server {
public:
  explicit Server(func::FuncOp program)
      : program(program), end(program.getBody().front().getTerminator()) {}

  LogicalResult run() {
    if (failed(pushSums()))
      return failure();
    if (known.empty())
      return success();
    findWhatServerKnows();
    for (OpOperand &operand : end->getOpOperands())
      if (known.contains(operand.get()) && kindOf(operand) == kOptimizer)
        program.setResultAttr(operand.getOperandNumber(), dist::kServerAttr,
                              UnitAttr::get(program.getContext()));
    for (std::optional<StateKind> kind :
         {std::optional(kParameter), std::optional(kCopy),
          std::optional<StateKind>()})
      for (OpOperand &operand : end->getOpOperands())
        if (known.contains(operand.get()) && kindOf(operand) == kind)
          pull(operand, kind);
    return success();
  }

private:
  /// Sums of gradients go to the server.
  LogicalResult pushSums() {
    for (auto sum : llvm::to_vector(program.getOps<dist::AllReduceOp>())) {
      if (sum.getTraffic() != dist::kGradients)
        continue;
      auto axes = llvm::to_vector(sum.getAxes().getAsRange<StringAttr>());
      if (axes.size() != 1 || axes.front() != kServedAxis || sum.getHolders())
        return sum.emitOpError() << "adds up gradients along " << sum.getAxes()
                                 << "; a parameter server does along dp alone";
      OpBuilder builder(sum);
      auto pushed = dist::ReduceOp::create(builder, sum.getLoc(), sum.getType(),
                                           sum.getInput(), sum.getAxesAttr(),
                                           builder.getI64IntegerAttr(0),
                                           sum.getTrafficAttr());
      train::copyMarks(sum, pushed);
      sum.replaceAllUsesWith(pushed.getResult());
      sum.erase();
      known.insert(pushed.getResult());
    }
    return success();
  }

  void findWhatServerKnows() {
    for (Operation &op : program.getBody().front().without_terminator())
      if (llvm::any_of(op.getOperands(),
                       [&](Value each) { return known.contains(each); }))
        known.insert(op.result_begin(), op.result_end());
  }

  /// Parameter, copy or optimizer; none for scalars and metrics.
  std::optional<StateKind> kindOf(OpOperand &operand) {
    StateOp state = findState(
        program, program.getResultAttr(operand.getOperandNumber(), kStateAttr));
    const bool isServed =
        state &&
        llvm::is_contained({kParameter, kCopy, kOptimizer}, state.getKind());
    return isServed ? std::optional(state.getKind()) : std::nullopt;
  }

  /// A result of the program that other ranks need.
  void pull(OpOperand &operand, std::optional<StateKind> kind) {
    Value value = operand.get();
    // A copy is rounded by each rank of the parameter that it gets.
    auto rounded = value.getDefiningOp<ConvertOp>();
    if (kind == kCopy && rounded)
      if (Value whole = pulled.lookup(rounded.getInput())) {
        OpBuilder builder(end);
        operand.set(convert(builder, rounded.getLoc(), whole,
                            getElementTypeOrSelf(value.getType())));
        return;
      }
    Value &sent = pulled[value];
    if (!sent)
      sent = send(value, operand, kind);
    operand.set(sent);
  }

  Value send(Value value, OpOperand &operand, std::optional<StateKind> kind) {
    OpBuilder builder(program.getContext());
    builder.setInsertionPointAfterValue(value);
    auto sent = dist::BroadcastOp::create(
        builder, value.getLoc(), value.getType(), value,
        builder.getStrArrayAttr({kServedAxis}), builder.getI64IntegerAttr(0),
        builder.getStringAttr(
            stringifyTraffic(kind ? dist::kParameters : dist::kScalars)),
        /*of_server=*/builder.getUnitAttr(),
        program.getResultAttrOfType<FlatSymbolRefAttr>(
            operand.getOperandNumber(), kStateAttr));
    return sent;
  }

  func::FuncOp program;
  Operation *end;
  DenseSet<Value> known; // to the server alone
  DenseMap<Value, Value> pulled;
};

struct ServeParameters : public impl::ServeParametersPassBase<ServeParameters> {
  void runOnOperation() override {
    if (!getOperation()->hasAttr(dist::kServerAttr))
      return;
    for (auto program : getOperation().getOps<func::FuncOp>())
      if (failed(Server(program).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace zc
