//===- DivideResiduals.cpp - --zc-divide-residuals ------------------------===//
//
// Between the sum that ends one pair of divided layers and the layer that
// begins the next, every rank of tp does the same to all tokens. With its share
// of the tokens it does a share of the work and keeps a share of the
// activations (Korthikanti et al. 2022, sequence parallelism). Where residuals
// are divided so, norms and dropout follow, sums become reduce-scatters, and
// the next layer's input is gathered: together these send as much as the sums
// did. The gradients of the next layer's weights read the gathered input once
// more. It is gathered again for them, or kept: the first sends more, the
// second keeps all tokens of one value a product.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/Tokens.h"
#include "passes/Analysis/ForwardOps.h"
#include "passes/Analysis/Messages.h"
#include "passes/Autodiff/SampleDims.h"
#include "passes/Sequence/Passes.h"
#include "passes/Sequence/TokenDims.h"
#include "passes/Sequence/TokenInputs.h"
#include "passes/Sharding/Layout.h"
#include "llvm/ADT/SetOperations.h"
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
    if (!isAsked || count > 0 || oddTokens == 0)
      return success();
    const int64_t ranks = groupSize(axes, mesh);
    return getOperation().emitError("--sequence-parallel ")
           << (keeps ? "on=kept: " : "on: ") << oddTokens
           << " tokens do not divide among " << ranks << " ranks of 'tp'"
           << (axes.size() > 1 ? " and 'sp'" : "") << "; "
           << nextSizes(oddTokens, ranks);
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
    lastOfForward = nullptr;
    for (Operation &op : program.getBody().front())
      if (forward.contains(&op))
        lastOfForward = &op;
    llvm::SetVector<Operation *> found;
    SmallVector<AddOp> sums;
    for (AddOp op : program.getOps<AddOp>())
      if (findTokens(op, tokens) && !isTermOfSum(op) && addsBranch(op, found)) {
        found.insert(op);
        sums.push_back(op);
      }
    SmallVector<Value> region;
    auto divideValue = [&](Value value) {
      Layout layout = layoutOf(value, samples, batchAxes);
      layout.dims[*findDim(value, tokens)] = axes;
      region.push_back(reshard(value, layout));
      ++count;
    };
    for (AddOp op : sums)
      divideValue(op.getResult());
    for (Value begin : findBegins(sums, findRegion(region, tokens), tokens))
      divideValue(begin);
    SmallVector<Value> all = findRegion(region, tokens);
    OpOperand *last = keeps ? nullptr : findLastRead(all, tokens);
    for (Value value : all)
      gather(value, tokens, layoutOf(undivided(value), samples, batchAxes),
             last && last->get() == value);
  }

  /// The gradients of several products that read one value are added up before
  /// they are sent.
  bool isTermOfSum(AddOp op) {
    return op->hasOneUse() && isa<AddOp>(*op->user_begin());
  }

  /// Whether an op adds products to what is computed without them. Terms of an
  /// activation or of its gradient (x + x^3) come of the same products: they
  /// are inside a pair of layers, whose features tp divides.
  static bool addsBranch(AddOp op, const llvm::SetVector<Operation *> &sums) {
    const DenseSet<Value> lhs = findSources(op.getLhs(), sums);
    const DenseSet<Value> rhs = findSources(op.getRhs(), sums);
    return !llvm::set_is_subset(lhs, rhs) && !llvm::set_is_subset(rhs, lhs);
  }

  /// The products, earlier residuals and arguments that a value is computed
  /// from without another of them between.
  static DenseSet<Value> findSources(Value value,
                                     const llvm::SetVector<Operation *> &sums) {
    DenseSet<Value> sources, seen;
    SmallVector<Value> work = {value};
    while (!work.empty()) {
      Value next = work.pop_back_val();
      if (!seen.insert(next).second)
        continue;
      Operation *op = next.getDefiningOp();
      if (!op || isa<MatmulOp, ScaledMatmulOp>(op) || isAttention(op) ||
          sums.contains(op))
        sources.insert(next);
      else
        work.append(op->operand_begin(), op->operand_end());
    }
    return sources;
  }

  /// The begins of residuals: values that a branch reads and is added to, if
  /// nothing has divided them yet. Their producers are divided as far as they
  /// may be.
  SmallVector<Value> findBegins(ArrayRef<AddOp> sums, ArrayRef<Value> divided,
                                TokenDims &tokens) {
    DenseSet<Value> done(divided.begin(), divided.end());
    llvm::SetVector<Value> begins;
    for (AddOp op : sums) {
      if (!isForward(op))
        continue;
      Value lhs = op.getLhs(), rhs = op.getRhs();
      for (auto [from, branch] : {std::pair(lhs, rhs), std::pair(rhs, lhs)})
        if (!done.contains(from) && findDim(from, tokens) &&
            isComputedFrom(branch, from))
          begins.insert(from);
    }
    return begins.takeVector();
  }

  static bool isComputedFrom(Value branch, Value from) {
    Operation *first = from.getDefiningOp();
    SmallVector<Value> work = {branch};
    DenseSet<Operation *> seen;
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (value == from)
        return true;
      Operation *op = value.getDefiningOp();
      if (op && (!first || first->isBeforeInBlock(op)) &&
          seen.insert(op).second)
        work.append(op->operand_begin(), op->operand_end());
    }
    return false;
  }

  bool isForward(Operation *op) const {
    return forward.empty() || forward.contains(op);
  }

  /// The value that the pass has divided, of which dims and samples are known.
  static Value undivided(Value value) {
    auto reshard = value.getDefiningOp<dist::ReshardOp>();
    return reshard ? reshard.getInput() : value;
  }

  /// Whether an op needs more than a part of an operand's tokens, or divides
  /// features instead.
  static bool readsAll(OpOperand &use, TokenDims &tokens) {
    auto op = dyn_cast<ShardableOpInterface>(use.getOwner());
    if (!op || isa<MatmulOp, ScaledMatmulOp, ScatterAddOp>(use.getOwner()) ||
        isAttention(use.getOwner()))
      return true;
    ShardingRule rule = op.getShardingRule();
    for (auto [dim, factor] :
         llvm::enumerate(rule.operandDims[use.getOperandNumber()]))
      if (factor == ShardingRule::kWhole &&
          tokens.isMarked({undivided(use.get()), static_cast<int64_t>(dim)}))
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

  /// The operand of the forward's last product. The backward begins with its
  /// gradient: there is nothing to save by letting go of it. Stages of a
  /// pipeline keep what is theirs for a while.
  OpOperand *findLastRead(ArrayRef<Value> region, TokenDims &tokens) {
    OpOperand *last = nullptr;
    for (Value value : region)
      for (OpOperand &use : value.getUses())
        if (isForward(use.getOwner()) && isRead(use, tokens) &&
            (!last || last->getOwner()->isBeforeInBlock(use.getOwner())))
          last = &use;
    if (!last || hasMessages(last->getOwner()->getParentOfType<func::FuncOp>()))
      return nullptr;
    return last;
  }

  static bool hasMessages(func::FuncOp program) {
    for (unsigned i = 0; i < program.getNumArguments(); ++i)
      if (getReceived(program, i))
        return true;
    for (unsigned i = 0; i < program.getNumResults(); ++i)
      if (getSent(program, i))
        return true;
    return false;
  }

  static bool isRead(OpOperand &use, TokenDims &tokens) {
    return isa<ShardableOpInterface>(use.getOwner()) && readsAll(use, tokens);
  }

  static SmallVector<OpOperand *> readsOf(Value value, TokenDims &tokens) {
    SmallVector<OpOperand *> reads;
    for (OpOperand &use : value.getUses())
      if (isRead(use, tokens))
        reads.push_back(&use);
    return reads;
  }

  /// Whether an op makes a parameter's gradient.
  static bool makesGradient(Operation *op) {
    return op->hasAttr(kGradientsAttr) && isa<ReduceOp>(op);
  }

  /// For products, which divide features: with all tokens that sp leaves. The
  /// backward gathers again what the forward has let go, unless it is kept.
  void gather(Value value, TokenDims &tokens, Layout layout, bool isKept) {
    const int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim)
      if (tokens.isMarked({undivided(value), dim}))
        layout.dims[dim] = Axes(ArrayRef(axes).drop_back());
    if (!isKept && !keeps)
      for (OpOperand *use : readsOf(value, tokens))
        moveAgain(use->getOwner());
    SmallVector<OpOperand *> forwards, backwards;
    for (OpOperand *use : readsOf(value, tokens))
      (isForward(use->getOwner()) ? forwards : backwards).push_back(use);
    // Each rank sums up gathered rows itself: a bias needs no all-reduce.
    if (!backwards.empty())
      for (OpOperand &use : value.getUses())
        if (makesGradient(use.getOwner()) &&
            !llvm::is_contained(backwards, &use))
          backwards.push_back(&use);
    if (isKept || keeps) {
      forwards.append(backwards);
      backwards.clear();
    }
    for (OpOperand *use : backwards)
      moveToReaders(use->getOwner());
    gatherFor(forwards, value, layout, dist::StepPass::Forward);
    gatherFor(backwards, value, layout, dist::StepPass::Backward);
  }

  /// Whether an op gives elements another place, or several: rows of tokens for
  /// their experts.
  static bool movesElements(Operation *op) {
    return isa<BroadcastOp, ConvertOp, ExchangeRowsOp, GatherOp, ReshapeOp,
               TransposeOp>(op);
  }

  /// The backward moves elements again that the forward has moved, for readers
  /// of its own: rows of experts, of which a token has several, would be kept.
  void moveAgain(Operation *op) {
    if (!isForward(op) || !movesElements(op))
      return;
    for (Operation *user : llvm::to_vector(op->getUsers()))
      moveAgain(user);
    Operation *first = nullptr;
    for (Operation *user : op->getUsers())
      if (!isForward(user) && (!first || user->isBeforeInBlock(first)))
        first = user;
    if (!first)
      return;
    OpBuilder builder(first);
    Operation *again = builder.clone(*op);
    op->getResult(0).replaceUsesWithIf(
        again->getResult(0), [&](OpOperand &use) {
          return use.getOwner() != again && !isForward(use.getOwner());
        });
  }

  /// Moves what the backward alone reads, but stands among the ops of the
  /// forward as the reshape that a product had in common with its gradient,
  /// to its first reader: what it reads would be kept from there on.
  void moveToReaders(Operation *op) {
    if (!isInForward(op))
      return;
    for (Operation *user : op->getUsers())
      moveToReaders(user);
    Operation *first = nullptr;
    for (Operation *user : op->getUsers())
      if (!first || user->isBeforeInBlock(first))
        first = user;
    if (first)
      op->moveBefore(first);
  }

  bool isInForward(Operation *op) const {
    return !isForward(op) && lastOfForward &&
           op->isBeforeInBlock(lastOfForward);
  }

  void gatherFor(ArrayRef<OpOperand *> uses, Value value, const Layout &layout,
                 dist::StepPass pass) {
    if (uses.empty())
      return;
    Operation *first = uses.front()->getOwner();
    for (OpOperand *use : uses)
      if (use->getOwner()->isBeforeInBlock(first))
        first = use->getOwner();
    OpBuilder builder(first);
    auto whole = dist::ReshardOp::create(builder, value.getLoc(), value);
    whole->setAttr(dist::kShardingAttr, layout.toAttr(mesh));
    dist::setTraffic(whole, dist::kActivations);
    dist::setPass(whole, pass);
    for (OpOperand *use : uses)
      use->set(whole.getResult());
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
    return findDim(op.getResult(), tokens);
  }

  /// The dim of a value's tokens, if the axes divide them.
  std::optional<int64_t> findDim(Value value, TokenDims &tokens) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getRank() != 3)
      return std::nullopt;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (tokens.isMarked({value, dim})) {
        if (type.getDimSize(dim) % groupSize(axes, mesh) == 0)
          return dim;
        oddTokens = type.getDimSize(dim);
      }
    return std::nullopt;
  }

  /// Divided by samples alone.
  Layout layoutOf(Value value, const SampleDims &samples,
                  const Axes &batchAxes) {
    Layout layout = Layout::replicated(value.getType());
    auto place = samples.places.find(value);
    if (place != samples.places.end() && place->second &&
        place->second->groups == samples.samples)
      layout.dims[place->second->dim] = batchAxes;
    return layout;
  }

  Value reshard(Value value, const Layout &layout) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    auto divided = dist::ReshardOp::create(builder, value.getLoc(), value);
    divided->setAttr(dist::kShardingAttr, layout.toAttr(mesh));
    dist::setTraffic(divided, dist::kActivations);
    value.replaceAllUsesExcept(divided.getResult(), divided);
    return divided;
  }

  dist::MeshAttr mesh;
  Axes axes; // that divide a residual's tokens
  int64_t count = 0;
  int64_t oddTokens = 0; // of a residual, that ranks cannot divide
  DenseSet<Operation *> forward;
  Operation *lastOfForward = nullptr;
};

} // namespace
} // namespace zc
