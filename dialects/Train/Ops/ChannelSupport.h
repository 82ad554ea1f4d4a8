//===- ChannelSupport.h - sums per part and channel -------------*- C++ -*-===//
//
// Ops on [parts, rows, channels] that leave [parts, channels].
//
//===----------------------------------------------------------------------===//
#ifndef ZC_DIALECTS_TRAIN_OPS_CHANNELSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_CHANNELSUPPORT_H

#include "dialects/Train/Ops/LoopSupport.h"

namespace zc::train {

/// Checks that `input` has three dims and that each of `perPart` (a name and a
/// type) is one element a part and channel of it, perhaps of another precision.
mlir::LogicalResult verifyChannelSums(
    mlir::Operation *op, mlir::RankedTensorType input,
    llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Type>> perPart);

/// Parts and channels are parallel, rows whole. Values of two dims are per part
/// and channel, of one dim per channel.
ShardingRule channelSumsShardingRule(mlir::Operation *op,
                                     mlir::RankedTensorType input);

/// One linalg.generic over all elements, in memory order; operands by their
/// dims as in the sharding rule.
void buildChannelLoops(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::ValueRange inputs, mlir::ValueRange outputs,
                       ScalarBody body);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_CHANNELSUPPORT_H
