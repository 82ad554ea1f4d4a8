//===- ConvSupport.h - conv and its two gradients ---------------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_CONVSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_CONVSUPPORT_H

#include "dialects/Train/Ops/WindowSupport.h"

namespace zc::train {

/// The three tensors of a convolution; two are operands of the op, one is its
/// result.
struct ConvTypes {
  mlir::RankedTensorType image, filter, output;
};

mlir::LogicalResult verifyConvolution(mlir::Operation *op, const Window &window,
                                      int64_t groups, ConvTypes types,
                                      llvm::StringRef outputName);

enum class ConvTensor { Image, Filter, Output };

/// The rule of an op whose two operands and one result are these tensors of the
/// convolution. A factor that the result lacks is a sum. The op is linear in
/// each operand. Several groups are one loop over the channels of all three, of
/// which they are the slowest part.
ShardingRule convShardingRule(const Window &window, int64_t groups,
                              ConvTypes types, ConvTensor first,
                              ConvTensor second, ConvTensor result);

/// The groups that a part of the channels has. A rank's part of grouped
/// channels is some of the groups, and of channels that are one group it is
/// one.
int64_t groupsOfPart(const Window &window, ConvTypes part);

/// A multiply-add per output element and filter element that meets it.
double convFlops(ConvTypes types);

/// Calls `body` with the rows of channels that meet: of the image [C/groups],
/// of the filter [K/groups, C/groups] and of the output [K/groups], for every
/// place, group and filter element on the image.
void buildConvLoops(
    mlir::OpBuilder &builder, mlir::Location loc, const Window &window,
    mlir::Value image, mlir::Value filter, mlir::Value output,
    llvm::function_ref<void(mlir::Value, mlir::Value, mlir::Value)> body);

/// target += a b, where an image row is indexed by channel, an output row by
/// output channel and a filter by both.
void buildConvProduct(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value a, ConvTensor aTensor, mlir::Value b,
                      ConvTensor bTensor, mlir::Value target,
                      ConvTensor targetTensor);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_CONVSUPPORT_H
