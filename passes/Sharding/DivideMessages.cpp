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
    const Axes batchAxes = findBatchAxes(program);
    for (OpOperand &use : end->getOpOperands()) {
      const unsigned index = use.getOperandNumber();
      if (!getSent(program, index))
        continue;
      auto type = cast<RankedTensorType>(use.get().getType());
      auto dim = program.getResultAttrOfType<IntegerAttr>(index, kBatchDimAttr);
      Layout layout = Layout::replicated(type);
      if (!divide(layout, type, dim))
        continue;
      program.setResultAttr(index, dist::kShardingAttr, layout.toAttr(mesh));
      Layout whole = Layout::replicated(type);
      if (dim)
        whole.dims[dim.getInt()] = batchAxes;
      OpBuilder builder(end);
      use.set(reshard(builder, use.get(), whole));
    }
  }

  /// The axes that divide the samples of a program's arguments.
  Axes findBatchAxes(func::FuncOp program) {
    for (BlockArgument argument : program.getArguments())
      if (auto dim = program.getArgAttrOfType<IntegerAttr>(
              argument.getArgNumber(), kBatchDimAttr))
        return layoutOf(argument, mesh).dims[dim.getInt()];
    return {};
  }

  /// Fixed to a layout, so that what is computed stays as it was.
  dist::ReshardOp reshard(OpBuilder &builder, Value value,
                          const Layout &layout) {
    auto op = dist::ReshardOp::create(builder, value.getLoc(), value);
    op->setAttr(dist::kShardingAttr, layout.toAttr(mesh));
    dist::setTraffic(op, dist::kActivations);
    return op;
  }

  /// At once, for all that read it.
  void gather(BlockArgument argument, const Layout &whole) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(argument.getOwner());
    dist::ReshardOp gathered = reshard(builder, argument, whole);
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
