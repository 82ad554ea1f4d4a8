//===- DivideMessages.cpp - --zc-divide-messages --------------------------===//
#include "dialects/Train/TrainDialect.h"
#include "passes/Analysis/Messages.h"
#include "passes/Sharding/Layout.h"
#include "passes/Sharding/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_DIVIDEMESSAGESPASS
#include "passes/Sharding/Passes.h.inc"

namespace {

struct DivideMessages : public impl::DivideMessagesPassBase<DivideMessages> {
  using DivideMessagesPassBase::DivideMessagesPassBase;

  void runOnOperation() override {
    mesh = dist::getMesh(getOperation());
    if (!mesh) {
      getOperation().emitError("has no dist.mesh; run --zc-annotate-mesh");
      return signalPassFailure();
    }
    number = mesh.findAxis(axis);
    if (number < 0 || mesh.getSizes()[number] == 1)
      return;
    for (auto program : getOperation().getOps<func::FuncOp>())
      divide(program);
  }

private:
  void divide(func::FuncOp program) {
    for (BlockArgument argument : program.getArguments()) {
      const unsigned index = argument.getArgNumber();
      if (!getReceived(program, index))
        continue;
      auto dim = program.getArgAttrOfType<IntegerAttr>(index, kBatchDimAttr);
      const Layout whole = layoutOf(argument, mesh);
      Layout layout = whole;
      if (!divide(layout, cast<RankedTensorType>(argument.getType()), dim))
        continue;
      program.setArgAttr(index, dist::kShardingAttr, layout.toAttr(mesh));
      gather(argument, whole);
    }
    Operation *end = program.getBody().front().getTerminator();
    for (auto [index, value] : llvm::enumerate(end->getOperands())) {
      if (!getSent(program, index))
        continue;
      auto dim = program.getResultAttrOfType<IntegerAttr>(index, kBatchDimAttr);
      Layout layout = Layout::replicated(value.getType());
      if (divide(layout, cast<RankedTensorType>(value.getType()), dim))
        program.setResultAttr(index, dist::kShardingAttr, layout.toAttr(mesh));
    }
  }

  /// At once, for all that read it: what is computed stays as it was.
  void gather(BlockArgument argument, const Layout &whole) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(argument.getOwner());
    auto gathered =
        dist::ReshardOp::create(builder, argument.getLoc(), argument);
    gathered->setAttr(dist::kShardingAttr, whole.toAttr(mesh));
    gathered->setAttr(dist::kTrafficAttr,
                      builder.getStringAttr(dist::kActivations));
    argument.replaceAllUsesExcept(gathered, gathered);
  }

  /// Both ends decide by the type alone: the first dim behind the samples' that
  /// the axis divides, and that nothing divides yet.
  bool divide(Layout &layout, RankedTensorType type, IntegerAttr batchDim) {
    const int64_t ranks = mesh.getSizes()[number];
    for (int64_t dim = batchDim ? batchDim.getInt() + 1 : 0;
         dim < type.getRank(); ++dim)
      if (layout.dims[dim].empty() && type.getDimSize(dim) % ranks == 0) {
        layout.dims[dim].push_back(number);
        return true;
      }
    return false;
  }

  dist::MeshAttr mesh;
  int number = -1; // of the axis
};

} // namespace
} // namespace zc
