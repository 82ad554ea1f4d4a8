//===- WindowOps.h - which ops go over images by windows --------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_WINDOWOPS_H
#define ZC_DIALECTS_TRAIN_OPS_WINDOWOPS_H

#include "mlir/IR/Operation.h"

namespace zc::train {

/// Whether places along dim `dim` of an op's images share elements: its windows
/// overlap along it, or it has none, as a norm of a batch. Patches, whose
/// stride is their size, share nothing.
bool sharesPlaces(mlir::Operation *imageOp, int64_t dim);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_WINDOWOPS_H
