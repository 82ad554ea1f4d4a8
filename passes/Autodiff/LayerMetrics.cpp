//===- LayerMetrics.cpp - layers' metrics among roles ---------------------===//
#include "passes/Autodiff/LayerMetrics.h"

#include "dialects/Dist/Axes.h"
#include "dialects/Dist/Coordinates.h"
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Analysis/Messages.h"
#include "passes/Autodiff/ExpertMetrics.h"

#include <algorithm>

using namespace mlir;
using namespace zc::train;

namespace zc {

using dist::kRoleAxis;

static Value join(OpBuilder &builder, Location loc, ArrayRef<Value> parts,
                  int64_t length) {
  if (parts.size() == 1)
    return parts.front();
  auto type = withShape(parts.front().getType(), {length});
  return ConcatOp::create(builder, loc, type, parts, 0);
}

LayerMetrics::LayerMetrics(ModuleOp role) : role(role) {
  auto types = role->getAttrOfType<DictionaryAttr>(kMetricTypesAttr);
  auto layers = role->getAttrOfType<DenseI64ArrayAttr>(kLayerRolesAttr);
  dist::MeshAttr mesh = dist::getMesh(role);
  const int axis = mesh ? mesh.findAxis(kRoleAxis) : -1;
  if (!types || !layers || layers.empty() || axis < 0)
    return;
  roleOfLayer = layers.asArrayRef();
  roles = mesh.getSizes()[axis];
  experts =
      cast<RankedTensorType>(types.getAs<TypeAttr>(kExpertTokens).getValue())
          .getDimSize(1);
  hasOverflow = types.contains(kExpertOverflow);
  std::map<int64_t, int64_t> layersOf;
  for (int64_t each : roleOfLayer)
    most = std::max(most, ++layersOf[each]);
  count = roles * most * experts + (hasOverflow ? 1 : 0);
}

/// [roles, 1], 1 where this one's layers have their place: replicas share it.
Value LayerMetrics::findPlace(OpBuilder &builder, Location loc,
                              func::FuncOp program) {
  auto axis = StringAttr::get(role.getContext(), kRoleAxis);
  Value own = getStateArgument(program, dist::getCoordinateState(role, axis));
  Type integer = getElementTypeOrSelf(own.getType());
  auto turn = role->getAttrOfType<IntegerAttr>(kTurnAttr);
  if (turn && turn.getInt() > 0)
    own = SubOp::create(
        builder, loc, own,
        splat(builder, loc, own.getType(), double(turn.getInt())));
  Value all =
      IotaOp::create(builder, loc, RankedTensorType::get({roles}, integer), 1);
  Value isOwn = compare(builder, loc, Predicate::Eq, all,
                        broadcast(builder, loc, own, {roles}, {}));
  return reshape(builder, loc,
                 convert(builder, loc, isOwn, builder.getF32Type()),
                 {roles, 1});
}

Value LayerMetrics::buildTerm(OpBuilder &builder, Location loc,
                              func::FuncOp program, const Sums &own) {
  auto numbers = [&](int64_t length) {
    return RankedTensorType::get({length}, builder.getF32Type());
  };
  SmallVector<Value> rows;
  for (int64_t layer = 0; layer < int64_t(roleOfLayer.size()); ++layer)
    if (auto found = own.find(getLayerMetric(kExpertTokens, layer));
        found != own.end())
      rows.push_back(reshape(builder, loc, found->second, {experts}));
  const int64_t length = most * experts;
  if (int64_t left = length - int64_t(rows.size()) * experts)
    rows.push_back(splat(builder, loc, numbers(left), 0));
  Value mine = join(builder, loc, rows, length);
  mine = broadcast(builder, loc, mine, {roles, length}, {1});
  Value place = findPlace(builder, loc, program);
  place = broadcast(builder, loc, place, {roles, length}, {0, 1});
  Value term = reshape(builder, loc, MulOp::create(builder, loc, mine, place),
                       {roles * length});
  if (!hasOverflow)
    return term;
  Value overflow = splat(builder, loc, numbers(1), 0);
  for (const auto &[name, sum] : own)
    if (findLayerMetric(name) == kExpertOverflow)
      overflow = AddOp::create(builder, loc, overflow, sum);
  return join(builder, loc, {term, overflow}, count);
}

void LayerMetrics::addResults(OpBuilder &builder, func::FuncOp program,
                              Value sum) const {
  Location loc = sum.getLoc();
  auto take = [&](int64_t begin, int64_t length) -> Value {
    return SliceOp::create(builder, loc, withShape(sum.getType(), {length}),
                           sum, ArrayRef<int64_t>{begin}, ArrayRef<int64_t>{1});
  };
  auto add = [&](StringRef name, Value value) {
    addResult(program, value,
              builder.getNamedAttr(kMetricAttr, builder.getStringAttr(name)));
  };
  SmallVector<Value> rows;
  std::map<int64_t, int64_t> layersOf;
  for (int64_t each : roleOfLayer)
    rows.push_back(take((each * most + layersOf[each]++) * experts, experts));
  const int64_t layers = rows.size();
  Value all = join(builder, loc, rows, layers * experts);
  add(kExpertTokens, reshape(builder, loc, all, {layers, experts}));
  if (hasOverflow)
    add(kExpertOverflow, take(count - 1, 1));
}

} // namespace zc
