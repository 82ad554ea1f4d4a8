//===- AnnotateMesh.cpp - --zc-annotate-mesh ------------------------------===//
#include "dialects/Dist/Axes.h"
#include "dialects/Sched/TargetAttr.h"
#include "passes/Sharding/Layout.h"
#include "passes/Sharding/Passes.h"

using namespace mlir;

namespace zc {
#define GEN_PASS_DEF_ANNOTATEMESHPASS
#include "passes/Sharding/Passes.h.inc"

namespace {

struct AnnotateMesh : public impl::AnnotateMeshPassBase<AnnotateMesh> {
  using AnnotateMeshPassBase::AnnotateMeshPassBase;

  void runOnOperation() override {
    if (failed(setMesh()))
      return signalPassFailure();
    Axes axes;
    SmallVector<std::string> names(batchAxes.begin(), batchAxes.end());
    if (names.empty())
      names.assign(std::begin(dist::kSampleAxes), std::end(dist::kSampleAxes));
    for (const std::string &name : names)
      if (int axis = mesh.findAxis(name);
          axis >= 0 && mesh.getSizes()[axis] > 1)
        axes.push_back(axis);
    Axes tokens;
    if (int axis = mesh.findAxis(tokenAxis);
        axis >= 0 && mesh.getSizes()[axis] > 1)
      tokens.push_back(axis);
    for (auto program : getOperation().getOps<func::FuncOp>())
      if (failed(
              divideInputs(program, train::kBatchDimAttr, "samples", axes)) ||
          failed(divideInputs(program, kTokenDimAttr, "tokens", tokens)))
        return signalPassFailure();
  }

private:
  LogicalResult setMesh() {
    SmallVector<StringAttr> names;
    SmallVector<int64_t> sizes;
    SmallVector<StringRef> axes;
    StringRef(meshAxes()).split(axes, ',', -1, /*KeepEmpty=*/false);
    for (StringRef axis : axes) {
      auto [name, size] = axis.split('=');
      int64_t number;
      if (name.empty() || size.getAsInteger(10, number))
        return getOperation().emitError("mesh: expected AXIS=SIZE, found '")
               << axis << "'";
      names.push_back(StringAttr::get(&getContext(), name));
      sizes.push_back(number);
    }
    auto complain = [&] { return getOperation().emitError("mesh "); };
    mesh = dist::MeshAttr::getChecked(complain, &getContext(),
                                      ArrayRef<StringAttr>(names),
                                      ArrayRef<int64_t>(sizes));
    if (!mesh)
      return failure();
    getOperation()->setAttr(dist::kMeshAttr, mesh);
    return checkMachine();
  }

  /// The axes by which a described machine numbers its devices are the mesh's,
  /// in its order.
  LogicalResult checkMachine() {
    auto target =
        getOperation()->getAttrOfType<sched::TargetAttr>(sched::kTargetAttr);
    sched::MachineAttr machine = target ? target.getMachine() : nullptr;
    if (!machine || !machine.getAxes())
      return success();
    int before = -1;
    for (auto [axis, size] :
         llvm::zip_equal(machine.getAxes().getAsValueRange<StringAttr>(),
                         machine.getSizes().asArrayRef())) {
      const int found = mesh.findAxis(axis);
      if (found < 0 || mesh.getSizes()[found] != size)
        return getOperation().emitError(
                   "mesh: the machine of sched.target has ")
               << size << " ranks along '" << axis << "', which " << mesh
               << (found < 0 ? " lacks" : " has not");
      if (found < before)
        return getOperation().emitError("mesh: the machine of sched.target "
                                        "has its axes in the order ")
               << machine.getAxes() << ", not in that of " << mesh;
      before = found;
    }
    return success();
  }

  const std::string &meshAxes() { return AnnotateMeshPassBase::mesh; }

  /// Divides over `axes` the dim that an attribute of arguments tells.
  LogicalResult divideInputs(func::FuncOp program, StringRef attribute,
                             StringRef what, const Axes &axes) {
    if (axes.empty())
      return success();
    for (BlockArgument argument : program.getArguments()) {
      unsigned index = argument.getArgNumber();
      auto dim = program.getArgAttrOfType<IntegerAttr>(index, attribute);
      if (!dim)
        continue;
      auto type = cast<RankedTensorType>(argument.getType());
      int64_t size = type.getDimSize(dim.getInt());
      int64_t ranks = groupSize(axes, mesh);
      if (size % ranks != 0)
        return program.emitError("argument ")
               << index << ": " << size << " " << what
               << " do not divide among " << ranks << " ranks";
      Layout layout = layoutOf(argument, mesh);
      layout.dims[dim.getInt()] = axes;
      auto batch =
          program.getArgAttrOfType<IntegerAttr>(index, train::kBatchDimAttr);
      if (batch && dim.getInt() < batch.getInt())
        takePart(argument, layout);
      else
        program.setArgAttr(index, dist::kShardingAttr, layout.toAttr(mesh));
    }
    return success();
  }

  /// The host feeds dims before the samples' whole: each rank takes its part.
  void takePart(BlockArgument argument, const Layout &layout) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(argument.getOwner());
    auto part = dist::ReshardOp::create(builder, argument.getLoc(), argument);
    part->setAttr(dist::kShardingAttr, layout.toAttr(mesh));
    argument.replaceAllUsesExcept(part->getResult(0), part);
  }

  dist::MeshAttr mesh;
};

} // namespace
} // namespace zc
