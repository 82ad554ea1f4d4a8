//===- RoleSum.h - sums over the roles of a pipeline ------------*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_ROLESUM_H
#define ZC_PASSES_AUTODIFF_ROLESUM_H

#include "dialects/Dist/Axes.h"
#include "dialects/Dist/DistDialect.h"

namespace zc {

/// The sum of `value` over all roles, or over `holders`; every one of them
/// builds the op, in the same order.
inline mlir::Value buildRoleSum(mlir::OpBuilder &builder, mlir::Location loc,
                                mlir::Value value, Traffic traffic,
                                mlir::DenseI64ArrayAttr holders = nullptr) {
  return dist::RoleSumOp::create(builder, loc, value,
                                 builder.getStrArrayAttr({dist::kRoleAxis}),
                                 traffic, holders);
}

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_ROLESUM_H
