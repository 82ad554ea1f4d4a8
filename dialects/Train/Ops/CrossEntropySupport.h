//===- CrossEntropySupport.h - the loss and its gradient --------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_CROSSENTROPYSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_CROSSENTROPYSUPPORT_H

#include "dialects/Train/Ops/LoopSupport.h"

namespace zc::train {

/// Checks logits [samples..., classes] against labels [samples...].
mlir::LogicalResult verifyCrossEntropy(mlir::Operation *op,
                                       mlir::RankedTensorType logits,
                                       mlir::RankedTensorType labels);

/// Samples are parallel, classes whole, nothing linear.
ShardingRule crossEntropyShardingRule(mlir::Operation *op,
                                      mlir::RankedTensorType logits);

/// Whether a label says that its sample does not count.
mlir::Value buildIsIgnored(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value label, int64_t ignoreIndex);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_CROSSENTROPYSUPPORT_H
