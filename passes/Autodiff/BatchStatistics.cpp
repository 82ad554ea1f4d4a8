//===- BatchStatistics.cpp - batch normalisation in training --------------===//
//
// Statistics of one share of the samples each are statistics of more channels:
// the shares become the slowest part of the channel dim. So the program means
// the same on one rank and on many, and where every rank holds its own share,
// no elements move between ranks.
//
//===----------------------------------------------------------------------===//
#include "passes/Autodiff/BatchStatistics.h"

#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Autodiff/SampleDims.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

/// Values normalised by the batch's statistics, and what these are.
struct Normalised {
  Value result, mean, variance;
  int64_t count; // elements of a mean
};

/// Moves shares of a dim in front of the channels, and back.
class ShareMover {
public:
  ShareMover(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape,
             SampleDim place, int64_t channelDim, int64_t shares)
      : builder(builder), loc(loc), shape(shape), merged(shape) {
    // Samples may be the faster part of their dim: [outer, shares, inner].
    int64_t inner = place.size() / shares;
    int64_t outer = shape[place.dim] / (shares * inner);
    merged[place.dim] /= shares;
    merged[channelDim] *= shares;
    int64_t split = 0; // where the shares are in `divided`
    for (auto [dim, size] : llvm::enumerate(shape)) {
      if (static_cast<int64_t>(dim) != place.dim) {
        divided.push_back(size);
        continue;
      }
      if (outer > 1)
        divided.push_back(outer);
      split = divided.size();
      divided.append({shares, inner});
    }
    int64_t channels = channelDim;
    if (channelDim > place.dim)
      channels += outer > 1 ? 2 : 1;
    for (int64_t dim = 0; dim < static_cast<int64_t>(divided.size()); ++dim) {
      if (dim == split)
        continue;
      if (dim == channels)
        permutation.push_back(split);
      permutation.push_back(dim);
    }
  }

  Value move(Value value) {
    value = reshape(builder, loc, value, divided);
    return reshape(builder, loc, transpose(builder, loc, value, permutation),
                   merged);
  }

  Value moveBack(Value value) {
    SmallVector<int64_t> moved, inverse(permutation.size());
    for (auto [index, dim] : llvm::enumerate(permutation)) {
      moved.push_back(divided[dim]);
      inverse[dim] = index;
    }
    value = reshape(builder, loc, value, moved);
    return reshape(builder, loc, transpose(builder, loc, value, inverse),
                   shape);
  }

private:
  OpBuilder &builder;
  Location loc;
  SmallVector<int64_t> shape, merged, divided, permutation;
};

class Trainer {
public:
  Trainer(func::FuncOp step, int64_t shares) : step(step), shares(shares) {}

  LogicalResult run() {
    if (shares > 1)
      samples = findSampleDims(step);
    SmallVector<BatchNormOp> ops;
    SmallVector<BatchNormTrainingOp> own; // without running statistics
    for (Operation &op : step.getBody().front())
      if (auto norm = dyn_cast<BatchNormOp>(op); norm && norm.getMomentum())
        ops.push_back(norm);
      else if (auto norm = dyn_cast<BatchNormTrainingOp>(op))
        own.push_back(norm);
    for (BatchNormOp op : ops)
      if (failed(train(op)))
        return failure();
    for (BatchNormTrainingOp op : own)
      if (failed(separate(op)))
        return failure();
    for (auto [state, value] : latest)
      addResult(step, value,
                NamedAttribute(StringAttr::get(step.getContext(), kStateAttr),
                               state));
    return success();
  }

private:
  LogicalResult train(BatchNormOp op);
  LogicalResult separate(BatchNormTrainingOp op);
  FailureOr<std::optional<SampleDim>> findPlace(Operation *op, Value input,
                                                int64_t channelDim);
  template <typename Op> FailureOr<Normalised> normalise(Op op);

  func::FuncOp step;
  int64_t shares;
  SampleDims samples;
  llvm::MapVector<Attribute, Value> latest; // statistics, by state
};

/// running * momentum + batch * (1 - momentum)
Value blend(OpBuilder &builder, Location loc, Value running, Value batch,
            double momentum) {
  Value kept = MulOp::create(builder, loc, running,
                             splat(builder, loc, running.getType(), momentum));
  Value fresh = MulOp::create(
      builder, loc, batch, splat(builder, loc, batch.getType(), 1 - momentum));
  return AddOp::create(builder, loc, kept, fresh);
}

/// The dim of `input` to divide; none where every share has the same values, or
/// channels of its own.
FailureOr<std::optional<SampleDim>>
Trainer::findPlace(Operation *op, Value input, int64_t channelDim) {
  auto found = samples.places.find(input);
  if (shares == 1 || found == samples.places.end())
    return std::optional<SampleDim>();
  if (!found->second)
    return op->emitError("normalises values in which no dim counts samples, so "
                         "that no rank has statistics of its own; use "
                         "--batchnorm-stats global");
  if (samples.samples % shares != 0)
    return op->emitError("normalises ")
           << samples.samples << " samples, which do not divide into " << shares
           << " shares";
  if (found->second->groups % shares != 0)
    return op->emitError("normalises ")
           << found->second->groups << " groups of "
           << samples.samples / found->second->groups
           << " samples each, which do not divide into " << shares << " shares";
  if (found->second->dim == channelDim)
    return std::optional<SampleDim>();
  return found->second;
}

template <typename Op> FailureOr<Normalised> Trainer::normalise(Op op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value input = op.getInput(), scale = op.getScale(), bias = op.getBias();
  auto type = cast<RankedTensorType>(input.getType());
  int64_t channelDim = op.getChannelDim();
  int64_t channels = type.getDimSize(channelDim);
  auto statistic = withShape(type, channels);
  auto place = findPlace(op, input, channelDim);
  if (failed(place))
    return failure();
  if (!*place) {
    auto whole = BatchNormTrainingOp::create(
        builder, loc, type, statistic, statistic, input, scale, bias,
        op.getChannelDimAttr(), op.getEpsilonAttr());
    return Normalised{whole.getResult(), whole.getMean(), whole.getVariance(),
                      type.getNumElements() / channels};
  }
  ShareMover mover(builder, loc, type.getShape(), **place, channelDim, shares);
  auto perShare = [&](Value value) {
    value = broadcast(builder, loc, value, {shares, channels}, {1});
    return reshape(builder, loc, value, {shares * channels});
  };
  auto ofFirst = [&](Value value) -> Value {
    value = reshape(builder, loc, value, {shares, channels});
    dist::setTraffic(value.getDefiningOp(), dist::kStatistics);
    auto first = withShape(type, {1, channels});
    value = SliceOp::create(builder, loc, first, value, ArrayRef<int64_t>{0, 0},
                            ArrayRef<int64_t>{1, 1});
    return reshape(builder, loc, value, channels);
  };
  Value moved = mover.move(input);
  auto all = withShape(type, shares * channels);
  auto norm = BatchNormTrainingOp::create(
      builder, loc, moved.getType(), all, all, moved, perShare(scale),
      perShare(bias), op.getChannelDimAttr(), op.getEpsilonAttr());
  return Normalised{mover.moveBack(norm.getResult()), ofFirst(norm.getMean()),
                    ofFirst(norm.getVariance()),
                    type.getNumElements() / channels / shares};
}

LogicalResult Trainer::train(BatchNormOp op) {
  auto mean = stateOf(op.getMean()), variance = stateOf(op.getVariance());
  if (!mean || !variance)
    return op.emitError("running statistics are not initializers of the model; "
                        "use --batchnorm frozen");
  FailureOr<Normalised> batch = normalise(op);
  if (failed(batch))
    return failure();
  OpBuilder builder(op);
  Location loc = op.getLoc();
  if (op.getUnbiased()) {
    double count = static_cast<double>(batch->count);
    batch->variance =
        MulOp::create(builder, loc, batch->variance,
                      splat(builder, loc, batch->variance.getType(),
                            count / std::max(count - 1, 1.0)));
  }
  double momentum = op.getMomentum()->convertToDouble();
  auto update = [&](Attribute state, Value old, Value fresh) {
    Value &value = latest.insert({state, old}).first->second;
    value = blend(builder, loc, value, fresh, momentum);
  };
  update(mean, op.getMean(), batch->mean);
  update(variance, op.getVariance(), batch->variance);
  op.replaceAllUsesWith(batch->result);
  op.erase();
  return success();
}

LogicalResult Trainer::separate(BatchNormTrainingOp op) {
  if (shares == 1)
    return success();
  FailureOr<Normalised> batch = normalise(op);
  if (failed(batch))
    return failure();
  op->replaceAllUsesWith(
      ValueRange{batch->result, batch->mean, batch->variance});
  op.erase();
  return success();
}

} // namespace

LogicalResult trainBatchNorms(func::FuncOp step, int64_t shares) {
  return Trainer(step, shares).run();
}

} // namespace zc
