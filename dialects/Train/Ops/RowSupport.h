//===- RowSupport.h - what softmax and its losses do with a row -*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_ROWSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_ROWSUPPORT_H

#include "dialects/Train/Ops/LoopSupport.h"

#include <utility>

namespace zc::train {

/// The largest element of `row`, NaN if any is. `scratch` is a temporary of no
/// dims.
mlir::Value buildRowLargest(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value row, mlir::Value scratch);

/// The largest element of `row` and the sum of exp(row - largest), as scalars.
/// The exponentials go to `exponentials` if it is given (it may be `row`).
/// `scratch` is a temporary of no dims.
std::pair<mlir::Value, mlir::Value>
buildRowExp(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row,
            mlir::Value exponentials, mlir::Value scratch);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_ROWSUPPORT_H
