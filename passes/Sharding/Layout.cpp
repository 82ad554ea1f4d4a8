//===- Layout.cpp - a sharding that passes compute with -------------------===//
#include "passes/Sharding/Layout.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace zc {

Layout Layout::replicated(int64_t rank) {
  Layout layout;
  layout.dims.resize(rank);
  return layout;
}

Layout Layout::replicated(Type type) {
  return replicated(cast<RankedTensorType>(type).getRank());
}

Layout Layout::from(dist::ShardingAttr sharding, dist::MeshAttr mesh) {
  Layout layout;
  for (ArrayAttr axes : sharding.getDims()) {
    Axes &dim = layout.dims.emplace_back();
    for (auto axis : axes.getAsRange<StringAttr>())
      dim.push_back(mesh.findAxis(axis));
  }
  for (StringAttr axis : sharding.getUnreduced())
    layout.unreduced.push_back(mesh.findAxis(axis));
  llvm::sort(layout.unreduced);
  return layout;
}

ArrayAttr axisNames(ArrayRef<int> axes, dist::MeshAttr mesh) {
  SmallVector<Attribute> names;
  for (int axis : axes)
    names.push_back(mesh.getNames()[axis]);
  return ArrayAttr::get(mesh.getContext(), names);
}

dist::ShardingAttr Layout::toAttr(dist::MeshAttr mesh) const {
  SmallVector<ArrayAttr> names;
  for (const Axes &axes : dims)
    names.push_back(axisNames(axes, mesh));
  SmallVector<StringAttr> open;
  for (int axis : unreduced)
    open.push_back(mesh.getNames()[axis]);
  return dist::ShardingAttr::get(mesh.getContext(), names, open);
}

bool Layout::isReplicated() const {
  return unreduced.empty() &&
         llvm::all_of(dims, [](const Axes &axes) { return axes.empty(); });
}

bool Layout::divides(int axis) const {
  return llvm::any_of(
      dims, [&](const Axes &axes) { return llvm::is_contained(axes, axis); });
}

int64_t groupSize(const Axes &axes, dist::MeshAttr mesh) {
  int64_t size = 1;
  for (int axis : axes)
    size *= mesh.getSizes()[axis];
  return size;
}

ArrayAttr toArrayAttr(ArrayRef<Layout> layouts, dist::MeshAttr mesh) {
  SmallVector<Attribute> attributes;
  for (const Layout &layout : layouts)
    attributes.push_back(layout.toAttr(mesh));
  return ArrayAttr::get(mesh.getContext(), attributes);
}

SmallVector<Layout> layoutsOf(Operation *op, StringRef attribute,
                              dist::MeshAttr mesh) {
  SmallVector<Layout> layouts;
  if (auto list = op->getAttrOfType<ArrayAttr>(attribute))
    for (auto sharding : list.getAsRange<dist::ShardingAttr>())
      layouts.push_back(Layout::from(sharding, mesh));
  return layouts;
}

Layout layoutOf(Value value, dist::MeshAttr mesh) {
  dist::ShardingAttr sharding;
  if (auto result = dyn_cast<OpResult>(value)) {
    auto list = result.getOwner()->getAttrOfType<ArrayAttr>(dist::kResultsAttr);
    if (list && result.getResultNumber() < list.size())
      sharding = dyn_cast<dist::ShardingAttr>(list[result.getResultNumber()]);
  } else {
    auto argument = cast<BlockArgument>(value);
    auto program = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    sharding = program.getArgAttrOfType<dist::ShardingAttr>(
        argument.getArgNumber(), dist::kShardingAttr);
  }
  return sharding ? Layout::from(sharding, mesh)
                  : Layout::replicated(value.getType());
}

Layout beforeReducing(Layout input, const Layout &result) {
  for (auto [mine, wanted] : llvm::zip(input.dims, result.dims)) {
    if (wanted.size() < mine.size() ||
        ArrayRef(wanted).take_front(mine.size()) != ArrayRef(mine))
      continue;
    for (int axis : ArrayRef(wanted).drop_front(mine.size())) {
      if (input.isUnreduced(axis) || input.divides(axis))
        break;
      mine.push_back(axis);
    }
  }
  return input;
}

bool dividesTokens(func::FuncOp program) {
  for (unsigned i = 0; i < program.getNumArguments(); ++i)
    if (program.getArgAttr(i, kTokenDimAttr))
      return true;
  for (unsigned i = 0; i < program.getNumResults(); ++i)
    if (program.getResultAttr(i, kTokenDimAttr))
      return true;
  for (auto module = program->getParentOfType<ModuleOp>(); module;
       module = module->getParentOfType<ModuleOp>())
    if (module->hasAttr(kTokenOrderAttr))
      return true;
  return false;
}

} // namespace zc
