//===- PlaceExperts.cpp - --zc-place-experts ------------------------------===//
#include "dialects/Dist/Axes.h"
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
  /// Where rows are: of experts over theirs, or of groups over all.
  Layout layoutOf(RankedTensorType type, dist::MeshAttr mesh, bool toExperts) {
    int expertAxis = mesh.findAxis(axis);
    SmallVector<std::string> names(batchAxes.begin(), batchAxes.end());
    if (names.empty())
      names.assign(std::begin(dist::kSampleAxes), std::end(dist::kSampleAxes));
    Layout layout = Layout::replicated(type.getRank());
    for (const std::string &name : names)
      if (int each = mesh.findAxis(name); each >= 0 &&
                                          mesh.getSizes()[each] > 1 &&
                                          !(toExperts && each == expertAxis))
        layout.dims[1].push_back(each);
    if (toExperts && expertAxis >= 0 && mesh.getSizes()[expertAxis] > 1)
      layout.dims[0].push_back(expertAxis);
    return layout;
  }

  /// The axis whose ranks are sent the same rows, as they divide tokens, where
  /// these are of enough groups that each multiplies those of its own; or -1.
  int findTokenAxis(RankedTensorType type, dist::MeshAttr mesh) {
    int tokenAxis = mesh.findAxis(dist::kTokenAxis);
    if (tokenAxis < 0 || mesh.getSizes()[tokenAxis] < 2)
      return -1;
    int64_t ranks =
        groupSize(layoutOf(type, mesh, /*toExperts=*/true).dims[1], mesh) *
        mesh.getSizes()[tokenAxis];
    return type.getDimSize(1) % ranks == 0 ? tokenAxis : -1;
  }

  static Value reshard(OpBuilder &builder, Location loc, Value value,
                       const Layout &layout, dist::MeshAttr mesh) {
    auto op = dist::ReshardOp::create(builder, loc, value);
    op->setAttr(dist::kShardingAttr, layout.toAttr(mesh));
    dist::setTraffic(op, dist::kActivations);
    return op->getResult(0);
  }

  LogicalResult replace(train::PlaceExpertsOp op, dist::MeshAttr mesh) {
    auto type = cast<RankedTensorType>(op.getType());
    if (type.getRank() < 2)
      return op.emitOpError("expected dims of experts and of groups");
    Layout layout = layoutOf(type, mesh, op.getToExperts());
    for (auto [dim, axes] : llvm::enumerate(layout.dims))
      if (type.getDimSize(dim) % groupSize(axes, mesh) != 0)
        return op.emitOpError("dim ")
               << dim << " of " << type << " does not divide among "
               << groupSize(axes, mesh) << " ranks";
    OpBuilder builder(op);
    Value value = op.getInput();
    if (int tokenAxis = findTokenAxis(type, mesh); tokenAxis >= 0) {
      // There in a step of its own: a slice; back: a gather, before the others.
      Layout whole = layoutOf(type, mesh, /*toExperts=*/true);
      value = reshard(builder, op.getLoc(), value, whole, mesh);
      if (op.getToExperts())
        layout.dims[1].push_back(tokenAxis);
    }
    op.replaceAllUsesWith(reshard(builder, op.getLoc(), value, layout, mesh));
    op.erase();
    return success();
  }
};

} // namespace
} // namespace zc
