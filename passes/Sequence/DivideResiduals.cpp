//===- DivideResiduals.cpp - --zc-divide-residuals ------------------------===//
//
// Between the sum that ends one pair of divided layers and the layer that
// begins the next, every rank of tp does the same to all tokens. With its share
// of the tokens it does a share of the work and keeps a share of what the
// backward needs (Korthikanti et al. 2022, sequence parallelism). Where
// residuals are divided so, norms and dropout follow, sums become
// reduce-scatters, and what the next layer reads is gathered.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/Tokens.h"
#include "passes/Analysis/ForwardOps.h"
#include "passes/Autodiff/SampleDims.h"
#include "passes/Sequence/Passes.h"
#include "passes/Sequence/TokenDims.h"
#include "passes/Sequence/TokenInputs.h"
#include "passes/Sharding/Layout.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_DIVIDERESIDUALSPASS
#include "passes/Sequence/Passes.h.inc"

namespace {

struct DivideResiduals : public impl::DivideResidualsPassBase<DivideResiduals> {
  using DivideResidualsPassBase::DivideResidualsPassBase;

  void runOnOperation() override {
    mesh = dist::getMesh(getOperation());
    if (!mesh) {
      getOperation().emitError("has no dist.mesh; run --zc-annotate-mesh");
      return signalPassFailure();
    }
    for (StringRef name : {StringRef(kTokenAxis), StringRef(axis)})
      if (int found = mesh.findAxis(name); found >= 0 &&
                                           mesh.getSizes()[found] > 1 &&
                                           (name == axis || dividesBySp()))
        axes.push_back(found);
    if (axes.empty() || mesh.getNames()[axes.back()] != axis)
      return;
    for (auto program : getOperation().getOps<func::FuncOp>())
      divide(program);
    if (failed(checkTokens()))
      return signalPassFailure();
    getOperation()->setAttr(kDividedResidualsAttr,
                            Builder(&getContext()).getI64IntegerAttr(count));
    numDivided += count;
  }

private:
  /// Nobody may ask for what cannot be done and get nothing.
  LogicalResult checkTokens() {
    if (!isAsked || count > 0 || undivided == 0)
      return success();
    const int64_t ranks = groupSize(axes, mesh);
    return getOperation().emitError("--sequence-parallel on: ")
           << undivided << " tokens do not divide among " << ranks
           << " ranks of 'tp'" << (axes.size() > 1 ? " and 'sp'" : "") << "; "
           << nextSizes(undivided, ranks);
  }

  bool dividesBySp() {
    return llvm::any_of(getOperation().getOps<func::FuncOp>(),
                        [](func::FuncOp each) { return dividesTokens(each); });
  }

  void divide(func::FuncOp program) {
    TokenDims tokens(program);
    tokens.markAttention();
    tokens.markMessages();
    SampleDims samples = findSampleDims(program);
    Axes batchAxes = findBatchAxes(program);
    forward = findForwardOps(program);
    SmallVector<Value> region;
    for (AddOp op : llvm::make_early_inc_range(program.getOps<AddOp>()))
      if (std::optional<int64_t> dim = findTokens(op, tokens)) {
        Layout layout = layoutOf(op.getResult(), samples, batchAxes);
        layout.dims[*dim] = axes;
        region.push_back(reshard(op.getResult(), layout, op));
        ++count;
      }
    for (Value value : findRegion(region, tokens))
      gather(value, tokens, layoutOf(value, samples, batchAxes));
  }

  /// Whether an op needs more than a part of an operand's tokens, or divides
  /// features instead.
  static bool readsAll(OpOperand &use, TokenDims &tokens) {
    auto op = dyn_cast<ShardableOpInterface>(use.getOwner());
    if (!op || isa<MatmulOp>(use.getOwner()) || isAttention(use.getOwner()))
      return true;
    ShardingRule rule = op.getShardingRule();
    for (auto [dim, factor] :
         llvm::enumerate(rule.operandDims[use.getOperandNumber()]))
      if (factor == ShardingRule::kWhole &&
          tokens.isMarked({use.get(), static_cast<int64_t>(dim)}))
        return true;
    return false;
  }

  /// The values computed from divided residuals, up to the next layer's
  /// product.
  static SmallVector<Value> findRegion(ArrayRef<Value> residuals,
                                       TokenDims &tokens) {
    llvm::SetVector<Value> found(residuals.begin(), residuals.end());
    for (size_t i = 0; i < found.size(); ++i)
      for (OpOperand &use : found[i].getUses()) {
        Operation *user = use.getOwner();
        if (isa<dist::ReshardOp>(user) || !readsAll(use, tokens))
          found.insert(user->result_begin(), user->result_end());
      }
    return found.takeVector();
  }

  /// For products, which divide features: with all tokens that sp leaves. The
  /// backward gathers again what the forward has let go.
  void gather(Value value, TokenDims &tokens, Layout layout) {
    const int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim)
      if (tokens.isMarked({value, dim}))
        layout.dims[dim] = Axes(ArrayRef(axes).drop_back());
    for (bool isForward : {true, false}) {
      SmallVector<OpOperand *> uses;
      for (OpOperand &use : value.getUses())
        if (isa<ShardableOpInterface>(use.getOwner()) &&
            readsAll(use, tokens) &&
            (forward.empty() || forward.contains(use.getOwner())) == isForward)
          uses.push_back(&use);
      if (uses.empty())
        continue;
      Operation *first = uses.front()->getOwner();
      for (OpOperand *use : uses)
        if (use->getOwner()->isBeforeInBlock(first))
          first = use->getOwner();
      OpBuilder builder(first);
      auto whole = dist::ReshardOp::create(builder, value.getLoc(), value);
      whole->setAttr(dist::kShardingAttr, layout.toAttr(mesh));
      whole->setAttr(dist::kTrafficAttr,
                     builder.getStringAttr(dist::kActivations));
      whole->setAttr(dist::kPassAttr,
                     builder.getStringAttr(isForward ? "forward" : "backward"));
      for (OpOperand *use : uses)
        use->set(whole.getResult());
    }
  }

  /// The axes that divide the samples of a program's arguments.
  Axes findBatchAxes(func::FuncOp program) {
    for (BlockArgument argument : program.getArguments())
      if (auto dim = program.getArgAttrOfType<IntegerAttr>(
              argument.getArgNumber(), kBatchDimAttr))
        return zc::layoutOf(argument, mesh).dims[dim.getInt()];
    return {};
  }

  /// The dim of tokens where an op adds a branch to a residual [samples,
  /// tokens, features], not a bias, and not what attention's heads are made of.
  std::optional<int64_t> findTokens(AddOp op, TokenDims &tokens) {
    auto type = cast<RankedTensorType>(op.getType());
    if (type.getRank() != 3 || tokens.getUnfused().isScores(op.getResult()))
      return std::nullopt;
    for (Value operand : op.getOperands())
      if (isa_and_nonnull<BroadcastOp, ConstantOp>(operand.getDefiningOp()))
        return std::nullopt;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (tokens.isMarked({op.getResult(), dim})) {
        if (type.getDimSize(dim) % groupSize(axes, mesh) == 0)
          return dim;
        undivided = type.getDimSize(dim);
      }
    return std::nullopt;
  }

  /// Divided by samples alone.
  Layout layoutOf(Value value, const SampleDims &samples,
                  const Axes &batchAxes) {
    Layout layout = Layout::replicated(value.getType());
    auto place = samples.places.find(value);
    if (place != samples.places.end() && place->second)
      layout.dims[place->second->dim] = batchAxes;
    return layout;
  }

  Value reshard(Value value, const Layout &layout, Operation *behind) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfter(behind);
    auto divided = dist::ReshardOp::create(builder, value.getLoc(), value);
    divided->setAttr(dist::kShardingAttr, layout.toAttr(mesh));
    divided->setAttr(dist::kTrafficAttr,
                     builder.getStringAttr(dist::kActivations));
    value.replaceAllUsesExcept(divided.getResult(), divided);
    return divided;
  }

  dist::MeshAttr mesh;
  Axes axes; // that divide a residual's tokens
  int64_t count = 0;
  int64_t undivided = 0; // tokens of a residual that ranks cannot divide
  DenseSet<Operation *> forward;
};

} // namespace
} // namespace zc
