//===- SplitBatchNorm.cpp - batch normalisation in passes over memory -----===//
//
// A batch norm in one op is divided among threads by channels only, whose
// elements lie scattered, and the ops behind it are another kernel. Sums by
// parts of the rows and elementwise ops read memory as it lies, and the latter
// become one kernel with the activation and the residual.
//
// In passes over the image, with a ReLU behind it: forward 3 (read for the
// moments; read, written), backward 5 and 3 for the slope of the ReLU, which is
// a kernel of its own. Norms that cuDNN computes in as many passes or fewer
// were matched earlier (Joined/Norm.cpp).
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/BatchNormSupport.h"
#include "passes/Fusion/Passes.h"
#include "passes/Target/Target.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_SPLITBATCHNORMPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

/// Elements of a part: they stay in a second-level cache for a second look.
constexpr int64_t kMostElements = 16 * 1024;
constexpr int64_t kFewestRows = 4;
/// A GPU's team takes some channels of a part: rows enough for its threads, and
/// so few that all teams' stay in the second-level cache. A square that divides
/// most images.
constexpr int64_t kTeamRows = 28 * 28;

/// Train ops on a channels-last image and on its parts.
class PartBuilder : public ChannelBuilder {
public:
  PartBuilder(OpBuilder &builder, Operation *op, RankedTensorType type,
              bool forTeams)
      : ChannelBuilder(builder, op->getLoc(), type, type.getRank() - 1) {
    channels = type.getDimSize(channelDim);
    int64_t all = type.getNumElements() / channels;
    rows = std::min(all, forTeams
                             ? kTeamRows
                             : std::max<int64_t>(kMostElements / channels, 1));
    while (all % rows != 0)
      --rows;
    parts = all / rows;
  }

  /// Whether the parts are several, and not too small.
  bool isWorthwhile() const { return parts > 1 && rows >= kFewestRows; }

  Value divided(Value image) {
    return reshape(builder, loc, image, {parts, rows, channels});
  }
  Type perPart() const {
    return withComputeType(withShape(type, {parts, channels}));
  }
  Value sumOfParts(Value value) { return reduceSum(builder, loc, value, {0}); }

  Value mean(Value means) {
    return scaled(sumOfParts(means), 1.0 / static_cast<double>(parts));
  }

  /// The parts' own deviations and those of their means.
  Value variance(Value means, Value deviations, Value mean) {
    Value spread =
        broadcast(builder, loc, mean, {parts, channels}, ArrayRef<int64_t>{1});
    Value shift = SubOp::create(builder, loc, means, spread);
    Value between =
        ReduceOp::create(builder, loc, mean.getType(), ReduceKind::SumSquare,
                         shift, ArrayRef<int64_t>{0});
    Value sum = AddOp::create(builder, loc, sumOfParts(deviations),
                              scaled(between, static_cast<double>(rows)));
    return scaled(sum, 1 / count());
  }

  int64_t parts, rows, channels;
};

struct SplitBatchNorm : public impl::SplitBatchNormPassBase<SplitBatchNorm> {
  using SplitBatchNormPassBase::SplitBatchNormPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<FusedOp>(op)) // a library's
        return WalkResult::skip();
      if (isa<BatchNormTrainingOp, BatchNormGradOp>(op) &&
          cast<ImageOpInterface>(op).hasChannelsLast())
        ops.push_back(op);
      return WalkResult::advance();
    });
    for (Operation *op : ops) {
      OpBuilder builder(op);
      bool forTeams = getTarget(getOperation()).runsThreadBlocks();
      PartBuilder parts(builder, op,
                        cast<RankedTensorType>(op->getOperand(0).getType()),
                        forTeams);
      // Stored in 16 bits, the pieces need conversions between them, which a
      // CPU's registers do not do as they load.
      if (!parts.isWorthwhile() ||
          (!forTeams &&
           isNarrow(getElementTypeOrSelf(op->getOperand(0).getType()))))
        continue;
      if (auto forward = dyn_cast<BatchNormTrainingOp>(op))
        split(parts, forward);
      else
        split(parts, cast<BatchNormGradOp>(op));
      op->erase();
      ++numSplit;
    }
  }

private:
  static void split(PartBuilder &b, BatchNormTrainingOp op) {
    Value x = op.getInput();
    auto moments = ChannelMomentsOp::create(
        b.builder, b.loc, TypeRange{b.perPart(), b.perPart()}, b.divided(x));
    Value mean = b.mean(moments.getMean());
    Value variance =
        b.variance(moments.getMean(), moments.getDeviations(), mean);
    Value factor = b.mul(op.getScale(),
                         b.rstd(variance, op.getEpsilon().convertToDouble()));
    Value scaled = b.mul(b.centred(x, mean), b.spread(factor));
    Value result =
        AddOp::create(b.builder, b.loc, scaled,
                      b.spread(widen(b.builder, b.loc, op.getBias())));
    replace(b, op, {result, mean, variance});
  }

  static void split(PartBuilder &b, BatchNormGradOp op) {
    Value x = op.getInput(), grad = op.getGrad();
    Value mean = widen(b.builder, b.loc, op.getMean());
    auto products = ChannelProductsOp::create(
        b.builder, b.loc, TypeRange{b.perPart(), b.perPart()}, b.divided(x),
        mean, b.divided(grad));
    Value sum = b.sumOfParts(products.getSum());
    Value rstd = b.rstd(op.getVariance(), op.getEpsilon().convertToDouble());
    Value scaleGrad = b.mul(b.sumOfParts(products.getProduct()), rstd);
    // scale rstd (grad - sum/n + (mean - x) rstd^2 product/n)
    Value slope = b.scaled(b.mul(scaleGrad, rstd), 1 / b.count());
    Value rest = SubOp::create(b.builder, b.loc, widen(b.builder, b.loc, grad),
                               b.spread(b.scaled(sum, 1 / b.count())));
    // Not x - mean, which would be kept since the forward.
    Value below = SubOp::create(b.builder, b.loc, b.spread(mean),
                                widen(b.builder, b.loc, x));
    rest = AddOp::create(b.builder, b.loc, rest, b.mul(below, b.spread(slope)));
    Value result = b.mul(rest, b.spread(b.mul(op.getScale(), rstd)));
    replace(b, op, {result, scaleGrad, sum});
  }

  /// With values in the precision of the op's results.
  static void replace(PartBuilder &b, Operation *op, ArrayRef<Value> values) {
    for (auto [result, value] : llvm::zip(op->getResults(), values))
      result.replaceAllUsesWith(
          narrow(b.builder, b.loc, value, result.getType()));
  }
};

} // namespace
} // namespace zc
