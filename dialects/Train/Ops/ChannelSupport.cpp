//===- ChannelSupport.cpp - sums per part and channel ---------------------===//
#include "dialects/Train/Ops/ChannelSupport.h"

using namespace mlir;

namespace zc::train {

/// The dims of [parts, rows, channels] that a value of `rank` dims has.
static SmallVector<int64_t> dimsOfRank(int64_t rank) {
  if (rank == 3)
    return {0, 1, 2};
  return rank == 2 ? SmallVector<int64_t>{0, 2} : SmallVector<int64_t>{2};
}

LogicalResult verifyChannelSums(Operation *op, RankedTensorType input,
                                ArrayRef<std::pair<StringRef, Type>> perPart) {
  if (input.getRank() != 3)
    return op->emitOpError()
           << "input is " << input << ", expected [parts, rows, channels]";
  auto expected = withShape(input, {input.getDimSize(0), input.getDimSize(2)});
  for (auto [name, type] : perPart)
    if (failed(verifyTypeOrPrecision(op, name, type, expected)))
      return failure();
  return success();
}

ShardingRule channelSumsShardingRule(Operation *op, RankedTensorType input) {
  ShardingRule rule = ShardingRule::whole(op);
  int parts = rule.addFactor(input.getDimSize(0));
  int channels = rule.addFactor(input.getDimSize(2));
  const int factors[] = {parts, ShardingRule::kWhole, channels};
  for (auto *all : {&rule.operandDims, &rule.resultDims})
    for (auto &dims : *all)
      for (auto [index, dim] : llvm::enumerate(dimsOfRank(dims.size())))
        dims[index] = factors[dim];
  return rule;
}

void buildChannelLoops(OpBuilder &builder, Location loc, ValueRange inputs,
                       ValueRange outputs, ScalarBody body) {
  SmallVector<AffineMap> maps;
  for (ValueRange operands : {inputs, outputs})
    for (Value operand : operands) {
      SmallVector<AffineExpr> loops;
      for (int64_t dim : dimsOfRank(shapeOf(operand).size()))
        loops.push_back(builder.getAffineDimExpr(dim));
      maps.push_back(AffineMap::get(3, 0, loops, builder.getContext()));
    }
  buildGeneric(builder, loc, 3, maps, inputs, outputs, body);
}

} // namespace zc::train
