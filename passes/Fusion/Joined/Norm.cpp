//===- Norm.cpp - a batch norm and its ReLU as one call -------------------===//
//
// In passes over the image, generated kernels (SplitBatchNorm.cpp) need 3 for a
// batch norm and the ReLU behind it, 4 with a residual between them, and so
// does cuDNN, which keeps what fits on the chip. For the gradients they need 8:
// 3 for the slope of the ReLU, which is a kernel of its own, and 5. cuDNN needs
// 5 where no residual is between the two, since the ReLU's input is recomputed
// from the image: its sign may differ where it is next to 0, and the gradient
// at exactly 0 is the library's choice.
//
// Cases that it has no plan for, or does no better, are for generated kernels:
//
// - Without a ReLU 3 and 5 passes are 3 and 5, and what else follows becomes
//   one kernel with the norm there, but not here.
// - With a residual, its gradient is the ReLU's own, which others need. To
//   leave it in memory too, cuDNN would have to read the ReLU's result: 7
//   passes rather than 8; but generated kernels make it while they add up the
//   gradients of those that have read the result, two in a ResNet: 9 passes,
//   and with cuDNN 10.
// - A residual that only this sum reads and that a loop nest makes, such as a
//   ResNet's other batch norm, never is in memory with generated kernels: 5
//   passes for both norms, and with cuDNN 7.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Epilogue.h"
#include "dialects/Train/Ops/BatchNormSupport.h"
#include "passes/Analysis/ForwardOps.h"
#include "passes/Analysis/LoopNests.h"
#include "passes/Fusion/Cuda/EpilogueRegion.h"
#include "passes/Fusion/JoinedCalls.h" // written by CMake
#include "passes/Target/Target.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

/// In a train.fused's `joined`: its body is a batch
/// norm in training, perhaps the sum with another image (the unit `addend`),
/// and ReLU, of (image, scale, bias[, addend]) to (image, mean, inverse
/// deviation); or the gradients of the two without an addend, of (image, scale,
/// bias, mean, inverse deviation, gradient).
constexpr llvm::StringLiteral kNormKey = "norm";

/// Whether cuDNN normalises such images: channels last, in 16 bits.
bool isDnnNorm(Operation *op) {
  constexpr int64_t kChannelStep = 8;
  if (!isa<BatchNormTrainingOp, BatchNormGradOp>(op))
    return false;
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  Type element = type.getElementType();
  int64_t rank = type.getRank();
  return cast<ImageOpInterface>(op).hasChannelsLast() &&
         (element.isBF16() || element.isF16()) && (rank == 4 || rank == 5) &&
         type.getShape().back() % kChannelStep == 0 &&
         type.getNumElements() <= std::numeric_limits<int32_t>::max();
}

/// The library gives and takes 1 / sqrt(variance + epsilon). The way back
/// rounds three times: variance + epsilon is right to some 2^-22 of itself.
Value varianceOf(ChannelBuilder &b, Value inverse, double epsilon) {
  auto type = cast<RankedTensorType>(inverse.getType());
  Value sum = DivOp::create(b.builder, b.loc, splat(b.builder, b.loc, type, 1),
                            b.mul(inverse, inverse));
  return SubOp::create(b.builder, b.loc, sum,
                       splat(b.builder, b.loc, type, epsilon));
}

ChannelBuilder channelsOf(OpBuilder &builder, Location loc, Value image) {
  auto type = cast<RankedTensorType>(image.getType());
  return ChannelBuilder(builder, loc, type, type.getRank() - 1);
}

/// A region for the library, whose body is empty.
FusedOp createRegion(OpBuilder &builder, Location loc, StringRef library,
                     TypeRange types, ValueRange inputs, bool addend) {
  NamedAttrList norm;
  if (addend)
    norm.set(kAddendKey, builder.getUnitAttr());
  auto region = FusedOp::create(builder, loc, types, inputs);
  region.setLibrary(library);
  region.join(kNormKey, norm.getDictionary(builder.getContext()));
  cuda::addBlock(region);
  return region;
}

bool isFloat32(Value value) {
  return getElementTypeOrSelf(value.getType()).isF32();
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// The gradient of a ReLU right behind a batch norm, and the norm's.
struct SlopedGradient {
  BatchNormTrainingOp norm;
  BatchNormGradOp op;
  SelectOp select;

  static std::optional<SlopedGradient> find(BatchNormGradOp op) {
    auto select = op.getGrad().getDefiningOp<SelectOp>();
    auto compare = select && select->hasOneUse()
                       ? select.getCondition().getDefiningOp<CompareOp>()
                       : CompareOp();
    if (!compare || compare.getPredicate() != Predicate::Gt ||
        !isZero(compare.getRhs()) || !isZero(select.getOnFalse()))
      return std::nullopt;
    auto relu = compare.getLhs().getDefiningOp<ReluOp>();
    auto norm = relu ? relu.getInput().getDefiningOp<BatchNormTrainingOp>()
                     : BatchNormTrainingOp();
    if (!norm || norm.getResult() != relu.getInput() ||
        norm.getInput() != op.getInput() || norm.getScale() != op.getScale() ||
        norm.getMean() != op.getMean() ||
        norm.getVariance() != op.getVariance() ||
        norm.getEpsilon() != op.getEpsilon())
      return std::nullopt;
    return SlopedGradient{norm, op, select};
  }
};

/// The slope of a ReLU of what the norm makes, from the arguments of the region
/// for the library: `grad` where it is above 0.
Value buildSlope(ChannelBuilder &b, Block &block) {
  auto at = [&](unsigned i) { return block.getArgument(i); };
  Value scaled = b.mul(b.centred(at(0), at(3)), b.spread(b.mul(at(1), at(4))));
  Value norm = AddOp::create(b.builder, b.loc, scaled, b.spread(at(2)));
  Value positive = compare(b.builder, b.loc, Predicate::Gt, norm,
                           splat(b.builder, b.loc, norm.getType(), 0));
  Value grad = at(5);
  return SelectOp::create(b.builder, b.loc, positive, grad,
                          splat(b.builder, b.loc, grad.getType(), 0));
}

/// `inverse`: of the norm's variance.
void join(const SlopedGradient &found, StringRef library, Value inverse) {
  BatchNormGradOp op = found.op;
  BatchNormTrainingOp norm = found.norm;
  SelectOp select = found.select;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  FusedOp region =
      createRegion(builder, builder.getFusedLoc({select.getLoc(), loc}),
                   library, op.getResultTypes(),
                   {op.getInput(), widen(builder, loc, op.getScale()),
                    widen(builder, loc, norm.getBias()), op.getMean(), inverse,
                    select.getOnTrue()},
                   /*addend=*/false);
  region.takeMarksOf(op);
  auto gradients = [&](StringRef name) {
    auto listed = op->getAttrOfType<DenseI64ArrayAttr>(name);
    return listed ? listed.asArrayRef() : ArrayRef<int64_t>();
  };
  region.setGradients(gradients(kGradientsAttr));
  region.setKeptGradients(gradients(kKeptGradientsAttr));
  Block &block = region.getBody().front();
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  ChannelBuilder b = channelsOf(inner, loc, op.getInput());
  Value slope = buildSlope(b, block);
  Value variance =
      varianceOf(b, block.getArgument(4), op.getEpsilon().convertToDouble());
  auto gradient = BatchNormGradOp::create(
      inner, loc, op.getResultTypes(), block.getArgument(0),
      block.getArgument(1), block.getArgument(3), variance, slope,
      op.getChannelDimAttr(), op.getEpsilonAttr());
  YieldOp::create(inner, loc, gradient.getResults());
  op.replaceAllUsesWith(region.getResults());
  op.erase();
}

//===----------------------------------------------------------------------===//
// The forward
//===----------------------------------------------------------------------===//

/// A batch norm, perhaps a sum with another image, and a ReLU.
struct ActiveNorm {
  BatchNormTrainingOp op;
  AddOp add; // or null
  Value addend;
  ReluOp relu;

  static std::optional<ActiveNorm> find(BatchNormTrainingOp op) {
    ActiveNorm found = {op, {}, {}, {}};
    Value last = op.getResult();
    if (auto add = onlyUser<AddOp>(last)) {
      found.add = add;
      found.addend = add.getLhs() == last ? add.getRhs() : add.getLhs();
      if (!isInMemory(found.addend, op))
        return std::nullopt;
      last = add.getResult();
    }
    found.relu = onlyUser<ReluOp>(last);
    return found.relu ? std::optional(found) : std::nullopt;
  }

private:
  template <typename Op> static Op onlyUser(Value value) {
    return value.hasOneUse() ? dyn_cast<Op>(*value.getUsers().begin()) : Op();
  }

  /// Whether generated kernels would have `addend` in memory, too.
  static bool isInMemory(Value addend, BatchNormTrainingOp norm) {
    Operation *maker = addend.getDefiningOp();
    if (!maker)
      return true;
    return addend != norm.getResult() && !leadsTo(norm, maker) &&
           !isSplatConstant(maker) && !isa<BroadcastOp>(maker) &&
           !(addend.hasOneUse() &&
             (isInlinable(maker) || isa<BatchNormTrainingOp>(maker)));
  }
};

/// Returns the inverse deviation.
Value join(const ActiveNorm &found, StringRef library) {
  BatchNormTrainingOp op = found.op;
  Operation *relu = found.relu;
  OpBuilder builder(relu);
  Location loc = op.getLoc();
  double epsilon = op.getEpsilon().convertToDouble();
  SmallVector<Value> inputs = {op.getInput(),
                               widen(builder, loc, op.getScale()),
                               widen(builder, loc, op.getBias())};
  if (found.addend)
    inputs.push_back(found.addend);
  Type channels = op.getMean().getType();
  FusedOp region =
      createRegion(builder, builder.getFusedLoc({loc, relu->getLoc()}), library,
                   {op.getResult().getType(), channels, channels}, inputs,
                   bool(found.addend));
  Block &block = region.getBody().front();
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  auto norm = BatchNormTrainingOp::create(
      inner, loc, op.getResultTypes(), block.getArgument(0),
      block.getArgument(1), block.getArgument(2), op.getChannelDimAttr(),
      op.getEpsilonAttr());
  Value last = norm.getResult();
  if (found.addend)
    last =
        AddOp::create(inner, found.add->getLoc(), last, block.getArgument(3));
  last = ReluOp::create(inner, relu->getLoc(), last.getType(), last);
  Value inverse =
      channelsOf(inner, loc, op.getInput()).rstd(norm.getVariance(), epsilon);
  YieldOp::create(inner, loc, ValueRange{last, norm.getMean(), inverse});
  relu->getResult(0).replaceAllUsesWith(region.getResult(0));
  op.getMean().replaceAllUsesWith(region.getResult(1));
  if (!op.getVariance().use_empty()) {
    ChannelBuilder b = channelsOf(builder, loc, op.getInput());
    op.getVariance().replaceAllUsesWith(
        varianceOf(b, region.getResult(2), epsilon));
  }
  relu->erase();
  if (found.add)
    found.add->erase();
  op->erase();
  return region.getResult(2);
}

/// The norms of one block.
class Norms {
public:
  Norms(Block &block, StringRef library) : block(block), library(library) {}

  /// Returns how many regions were made.
  unsigned join() {
    // Gradients first: they look at the forward's ops.
    for (auto op : llvm::to_vector(block.getOps<BatchNormGradOp>()))
      joinGradient(op);
    for (auto op : llvm::to_vector(block.getOps<BatchNormTrainingOp>()))
      joinForward(op);
    return count;
  }

private:
  void joinGradient(BatchNormGradOp op) {
    auto found = SlopedGradient::find(op);
    if (!found || !isDnnNorm(op) || !isFloat32(op.getMean()) ||
        !isFloat32(op.getScaleGrad()))
      return;
    zc::join(*found, library, inverseOf(found->norm));
    ++count;
  }

  void joinForward(BatchNormTrainingOp op) {
    auto found = ActiveNorm::find(op);
    if (!found || !isDnnNorm(op) || !isFloat32(op.getMean()))
      return;
    Value before = inverses.lookup(op);
    Value inverse = zc::join(*found, library);
    if (before)
      before.replaceAllUsesWith(inverse);
    ++count;
  }

  /// 1 / sqrt(variance + epsilon); replaced by the result of a joined norm.
  Value inverseOf(BatchNormTrainingOp norm) {
    Value &inverse = inverses[norm];
    if (!inverse) {
      OpBuilder builder(norm.getContext());
      builder.setInsertionPointAfter(norm);
      inverse =
          channelsOf(builder, norm.getLoc(), norm.getInput())
              .rstd(norm.getVariance(), norm.getEpsilon().convertToDouble());
    }
    return inverse;
  }

  Block &block;
  const StringRef library;
  DenseMap<Operation *, Value> inverses;
  unsigned count = 0;
};

} // namespace

unsigned joinNorm(Block &block, const Target &target) {
  const StringRef library = target.joinedLibrary("norm");
  return library.empty() ? 0 : Norms(block, library).join();
}

} // namespace zc
