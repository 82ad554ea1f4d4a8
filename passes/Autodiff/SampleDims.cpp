//===- SampleDims.cpp - where the samples are in a program ----------------===//
#include "passes/Autodiff/SampleDims.h"

#include "dialects/Train/TrainDialect.h"
#include "passes/Analysis/Tensors.h"

#include <numeric>

using namespace mlir;
using namespace zc::train;

namespace zc {

std::optional<SampleDim> reshapeSampleDim(SampleDim place,
                                          ArrayRef<int64_t> from,
                                          ArrayRef<int64_t> to) {
  int64_t stride = place.inner;
  for (int64_t size : from.drop_front(place.dim + 1))
    stride *= size;
  int64_t after = 1;
  for (int64_t dim = to.size() - 1; dim >= 0; --dim) {
    int64_t size = to[dim];
    // As many of `from`'s groups begin at an index of this dim again.
    int64_t joined = after / std::gcd(stride, after);
    if (place.groups % joined == 0) {
      SampleDim there{dim, stride * joined / after, place.groups / joined};
      bool counts = there.groups > 1 || (place.groups == 1 && size == 1);
      if (counts && size % there.size() == 0)
        return there;
    }
    after *= size;
  }
  return std::nullopt;
}

namespace {

class Spreading {
public:
  explicit Spreading(func::FuncOp program) : program(program) {}

  SampleDims run() {
    Block &block = program.getBody().front();
    for (BlockArgument argument : block.getArguments())
      begin(argument);
    for (Operation &op : block.without_terminator())
      visit(&op);
    return std::move(found);
  }

private:
  void begin(BlockArgument argument) {
    auto dim = program.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                     kBatchDimAttr);
    if (!dim)
      return;
    found.samples = shapeOf(argument)[dim.getInt()];
    found.places[argument] = SampleDim{dim.getInt(), 1, found.samples};
  }

  void visit(Operation *op) {
    std::optional<SampleDim> place;
    int factor = ShardingRule::kWhole;
    bool depends = false;
    auto shardable = dyn_cast<ShardableOpInterface>(op);
    if (!shardable) { // a place to reshard at: the same tensor
      auto known = found.places.find(op->getOperand(0));
      if (known != found.places.end() && op->getNumResults() == 1 &&
          op->getOperand(0).getType() == op->getResult(0).getType())
        found.places[op->getResult(0)] = std::optional(known->second);
      return;
    }
    ShardingRule rule = shardable.getShardingRule();
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      auto known = found.places.find(operand);
      if (known == found.places.end())
        continue;
      depends = true;
      // The smallest groups say most; all of them have the same shares.
      if (!known->second || (place && place->groups >= known->second->groups))
        continue;
      place = known->second;
      factor = rule.operandDims[index][place->dim];
    }
    if (!depends)
      return;
    for (auto [index, result] : llvm::enumerate(op->getResults()))
      found.places[result] =
          place ? inResult(op, index, rule, *place, factor) : std::nullopt;
  }

  std::optional<SampleDim> inResult(Operation *op, unsigned index,
                                    const ShardingRule &rule, SampleDim place,
                                    int factor) {
    if (auto reshape = dyn_cast<ReshapeOp>(op))
      return reshapeSampleDim(place, shapeOf(reshape.getInput()),
                              shapeOf(reshape.getResult()));
    if (factor != ShardingRule::kWhole)
      for (auto [dim, of] : llvm::enumerate(rule.resultDims[index]))
        if (of == factor)
          return SampleDim{static_cast<int64_t>(dim), place.inner,
                           place.groups};
    return std::nullopt;
  }

  func::FuncOp program;
  SampleDims found;
};

} // namespace

SampleDims findSampleDims(func::FuncOp program) {
  return Spreading(program).run();
}

} // namespace zc
