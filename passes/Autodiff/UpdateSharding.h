//===- UpdateSharding.h - how an update is divided --------------*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_UPDATESHARDING_H
#define ZC_PASSES_AUTODIFF_UPDATESHARDING_H

#include "dialects/Dist/DistDialect.h"

namespace zc {

/// How a parameter's gradient and moments are divided where it is updated: as
/// --zc-apply-zero says, or else as the parameter is. Null: they are whole.
inline dist::ShardingAttr getUpdateSharding(train::StateOp parameter) {
  if (auto moments =
          parameter->getAttrOfType<dist::ShardingAttr>(dist::kMomentsAttr))
    return moments;
  return parameter->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
}

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_UPDATESHARDING_H
