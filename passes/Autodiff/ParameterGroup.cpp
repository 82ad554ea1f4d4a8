//===- ParameterGroup.cpp - a parameter's own optimizer settings ----------===//
#include "passes/Autodiff/ParameterGroup.h"

using namespace mlir;

namespace zc {

ParameterGroup ParameterGroup::of(train::StateOp parameter) {
  ParameterGroup group;
  DictionaryAttr settings = parameter.getGroupAttr();
  if (!settings)
    return group;
  if (auto scale = settings.getAs<FloatAttr>("lr_scale"))
    group.rateScale = scale.getValueAsDouble();
  if (auto decay = settings.getAs<FloatAttr>("weight_decay"))
    group.weightDecay = decay.getValueAsDouble();
  return group;
}

void ParameterGroup::setOn(train::StateOp parameter) const {
  Builder builder(parameter.getContext());
  SmallVector<NamedAttribute> settings;
  if (rateScale != 1)
    settings.push_back(
        builder.getNamedAttr("lr_scale", builder.getF64FloatAttr(rateScale)));
  if (weightDecay)
    settings.push_back(builder.getNamedAttr(
        "weight_decay", builder.getF64FloatAttr(*weightDecay)));
  if (!settings.empty())
    parameter.setGroupAttr(builder.getDictionaryAttr(settings));
}

} // namespace zc
