//===- Coordinates.h - which rank of the mesh this one is -------*- C++ -*-===//
#ifndef ZC_DIALECTS_DIST_COORDINATES_H
#define ZC_DIALECTS_DIST_COORDINATES_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace zc::dist {

/// The state that holds a rank's number along `axis` (a scalar i64), made where
/// the module has none.
train::StateOp getCoordinateState(mlir::ModuleOp module, mlir::StringAttr axis);

} // namespace zc::dist

#endif // ZC_DIALECTS_DIST_COORDINATES_H
