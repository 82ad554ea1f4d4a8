//===- BatchNormSupport.h - the three batch_norm ops ------------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_BATCHNORMSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_BATCHNORMSUPPORT_H

#include "dialects/Train/Ops/LoopSupport.h"

namespace zc::train {

/// Checks the channel dim and that each of `perChannel` (a name and a type) has
/// one element a channel.
mlir::LogicalResult verifyBatchNorm(
    mlir::Operation *op, mlir::RankedTensorType input, int64_t channelDim,
    llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Type>> perChannel);

/// Channels are parallel; all other dims whole, or parallel too with
/// `othersParallel`. Values of one dim are per channel.
ShardingRule batchNormShardingRule(mlir::Operation *op,
                                   mlir::RankedTensorType input,
                                   int64_t channelDim, bool othersParallel);

/// Builds train ops on tensors of a batch norm's input type.
struct ChannelBuilder {
  ChannelBuilder(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::RankedTensorType type, int64_t channelDim)
      : builder(builder), loc(loc), type(type), channelDim(channelDim) {}

  /// A value per channel, at every element.
  mlir::Value spread(mlir::Value perChannel);
  /// The sum of every channel's elements.
  mlir::Value sum(mlir::Value elements);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value scaled(mlir::Value value, double factor);
  /// 1 / sqrt(variance + epsilon)
  mlir::Value rstd(mlir::Value variance, double epsilon);
  /// x - mean
  mlir::Value centred(mlir::Value input, mlir::Value mean);
  /// Elements per channel.
  double count() const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::RankedTensorType type;
  int64_t channelDim;
};

/// The linalg form of a batch norm, a block of channels at a time. The loops
/// run over the channels outermost, or innermost where these lie side by side
/// in memory.
class ChannelLoops {
public:
  ChannelLoops(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value image,
               int64_t channelDim);

  /// A temporary of one element per channel of a block.
  mlir::Value temporary();

  /// Calls `body` for every block of channels.
  void forEachBlock(llvm::function_ref<void()> body);

  /// The block of a buffer: of an image, of values per channel, of a temporary.
  mlir::Value image(mlir::Value buffer);
  mlir::Value perChannel(mlir::Value buffer);
  mlir::Value ofTemporary(mlir::Value buffer);

  /// One linalg.generic over all elements of a block; operands of one dim hold
  /// one element per channel.
  void generic(mlir::ValueRange inputs, mlir::ValueRange outputs,
               ScalarBody body);
  /// One linalg.generic over the channels of a block.
  void channels(mlir::ValueRange inputs, mlir::ValueRange outputs,
                ScalarBody body);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::SmallVector<int64_t> shape;
  mlir::Type element;
  int64_t channelDim;
  mlir::OpFoldResult offset;
  int64_t size = 0;
};

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_BATCHNORMSUPPORT_H
