//===- WidenSums.cpp - --zc-widen-sums ------------------------------------===//
//
// A model of 16 bits says how values are stored, not how they are computed.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Precision/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_WIDENSUMSPASS
#include "passes/Precision/Passes.h.inc"

namespace {

struct WidenSums : public impl::WidenSumsPassBase<WidenSums> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    Block &block = getOperation().getBody().front();
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      if (auto wide = dyn_cast<PrecisionOpInterface>(op))
        visit(&op, wide);
  }

private:
  void visit(Operation *op, PrecisionOpInterface wide) {
    bool all = wide.getPrecision() == Precision::Wide;
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands())
      if (all && isNarrow(getElementTypeOrSelf(operand.get())) &&
          !wide.takesAnyPrecision(operand.getOperandNumber()))
        operand.set(widen(builder, op->getLoc(), operand.get()));
    builder.setInsertionPointAfter(op);
    for (OpResult result : op->getResults())
      if (isNarrow(getElementTypeOrSelf(result)) &&
          (all || wide.isStatistic(result.getResultNumber())))
        widenResult(builder, result);
  }

  void widenResult(OpBuilder &builder, OpResult result) {
    Type stored = result.getType();
    result.setType(withElementType(result.getType(), builder.getF32Type()));
    ++numWidened;
    if (result.use_empty())
      return;
    Value rounded = narrow(builder, result.getLoc(), result, stored);
    result.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
  }
};

} // namespace
} // namespace zc
