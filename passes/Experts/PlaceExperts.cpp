//===- PlaceExperts.cpp - --zc-place-experts ------------------------------===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/ExpertOps.h"
#include "passes/Experts/Passes.h"
#include "passes/Sharding/Layout.h"

using namespace mlir;

namespace zc {
#define GEN_PASS_DEF_PLACEEXPERTSPASS
#include "passes/Experts/Passes.h.inc"

namespace {

struct PlaceExperts : public impl::PlaceExpertsPassBase<PlaceExperts> {
  using PlaceExpertsPassBase::PlaceExpertsPassBase;

  void runOnOperation() override {
    SmallVector<train::PlaceExpertsOp> ops;
    getOperation().walk([&](train::PlaceExpertsOp op) { ops.push_back(op); });
    if (ops.empty())
      return;
    dist::MeshAttr mesh = dist::getMesh(getOperation());
    if (!mesh) {
      getOperation().emitError("has no dist.mesh; run --zc-annotate-mesh");
      return signalPassFailure();
    }
    for (train::PlaceExpertsOp op : ops)
      if (failed(replace(op, mesh)))
        return signalPassFailure();
  }

private:
  LogicalResult replace(train::PlaceExpertsOp op, dist::MeshAttr mesh) {
    auto type = cast<RankedTensorType>(op.getType());
    int expertAxis = mesh.findAxis(axis);
    if (type.getRank() < 2)
      return op.emitOpError("expected dims of experts and of groups");
    SmallVector<std::string> names(batchAxes.begin(), batchAxes.end());
    if (names.empty())
      names = {"dp", "dp_outer", "dp_inner", "ep"};
    Layout layout = Layout::replicated(type.getRank());
    for (const std::string &name : names)
      if (int each = mesh.findAxis(name);
          each >= 0 && mesh.getSizes()[each] > 1)
        if (!(op.getToExperts() && each == expertAxis))
          layout.dims[1].push_back(each);
    if (op.getToExperts() && expertAxis >= 0 && mesh.getSizes()[expertAxis] > 1)
      layout.dims[0].push_back(expertAxis);
    for (auto [dim, axes] : llvm::enumerate(layout.dims))
      if (type.getDimSize(dim) % groupSize(axes, mesh) != 0)
        return op.emitOpError("dim ")
               << dim << " of " << type << " does not divide among "
               << groupSize(axes, mesh) << " ranks";
    OpBuilder builder(op);
    auto reshard = dist::ReshardOp::create(builder, op.getLoc(), op.getInput());
    reshard->setAttr(dist::kShardingAttr, layout.toAttr(mesh));
    reshard->setAttr(dist::kTrafficAttr,
                     builder.getStringAttr(dist::kActivations));
    op.replaceAllUsesWith(reshard->getResult(0));
    op.erase();
    return success();
  }
};

} // namespace
} // namespace zc
