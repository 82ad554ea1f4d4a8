//===- ParameterDivision.cpp - how parameters are divided -----------------===//
#include "passes/Sharding/ParameterDivision.h"

#include "dialects/Train/StateLookup.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

DimClass *ParameterDivision::findClass(const DimOf &dim) {
  for (DimClass &each : classes)
    if (llvm::is_contained(each.dims, dim))
      return &each;
  return nullptr;
}

StateOp ParameterDivision::stateOf(BlockArgument argument) {
  auto [entry, isNew] = states.try_emplace(argument);
  if (isNew)
    entry->second = findState(argument);
  return entry->second;
}

void ParameterDivision::divideAll(
    const DimClass &dims, int axis,
    llvm::function_ref<std::string(StateOp)> why) {
  ++numDivided;
  for (const DimOf &each : dims.dims)
    if (divided.insert({each.value, axis}).second &&
        !byHand.contains(each.value))
      if (StateOp state = findState(each.value))
        assign(state, each.dim, axis, why(state));
}

void ParameterDivision::assign(StateOp state, int64_t dim, int axis,
                               const std::string &why) {
  auto before = state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
  auto [found, isNew] = layouts.insert(
      {state, before ? Layout::from(before, mesh)
                     : Layout::replicated(state.getTensorType())});
  if (found->second.divides(axis))
    return;
  found->second.dims[dim].push_back(axis);
  state.setWhy(why);
}

} // namespace zc
