//===- LayerNormSupport.h - layer_norm and its gradient ---------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_LAYERNORMSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_LAYERNORMSUPPORT_H

#include "dialects/Train/Ops/LoopSupport.h"

namespace zc::train {

/// Checks the operands and results that layer_norm and its gradient share.
mlir::LogicalResult verifyLayerNorm(mlir::Operation *op,
                                    mlir::RankedTensorType input, int64_t axis,
                                    mlir::Type scale, mlir::Type mean,
                                    mlir::Type rstd);

/// The dims before `axis` are parallel, those from it on whole. `operands` and
/// `results` are those that have the former dims.
ShardingRule layerNormShardingRule(mlir::Operation *op,
                                   mlir::RankedTensorType input, int64_t axis,
                                   llvm::ArrayRef<int> operands,
                                   llvm::ArrayRef<int> results);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_LAYERNORMSUPPORT_H
