//===- OrderTokens.cpp - --zc-order-tokens --------------------------------===//
//
// Under a causal mask late tokens have more to attend to than early ones. With
// an early and a late chunk of the tokens each (zigzag, as Llama 3 was trained)
// ranks have equally much to do. A model does to each token the same, but for
// what attention's mask and the sources of positions say: tokens change places
// where they come in, positions with them, and back where they go out.
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/OpInterfaces.h"
#include "dialects/Onnx/Location.h"
#include "dialects/Sched/SchedDialect.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/Tokens.h"
#include "passes/Analysis/OpWords.h"
#include "passes/Sequence/ExchangeCost.h"
#include "passes/Sequence/PartMasks.h"
#include "passes/Sequence/Passes.h"
#include "passes/Sequence/TokenDims.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_ORDERTOKENSPASS
#include "passes/Sequence/Passes.h.inc"

namespace {

/// One program.
class TokenOrderer {
public:
  TokenOrderer(func::FuncOp program, int64_t parts, int64_t headParts)
      : program(program), parts(parts), headParts(headParts), tokens(program) {
    tokens.markAttention();
  }

  bool hasAttention() { return tokens.hasAttention(); }

  /// Whether all attentions divide their heads instead, also if masks come
  /// apart for a ring.
  bool prefersHeads(bool comeApart = false) const {
    bool divides = true;
    program->walk([&](Operation *op) {
      if (isAttention(op))
        divides &= zc::prefersHeads(op, {parts, headParts}, comeApart);
    });
    return divides;
  }

  /// Whether keys can go round; --zc-find-tokens names those that cannot.
  bool hasRing() const { return tokens.getUnfused().get().empty(); }

  /// Why the order of the tokens must stay; empty: it need not.
  std::string findObstacle() {
    std::string why;
    program.walk([&](Operation *op) {
      if (isAttention(op) && why.empty())
        why = findObstacle(cast<AttentionOp>(op));
    });
    if (!why.empty())
      return why;
    if (!tokens.getUnfused().get().empty())
      return "an attention is several ops, for something changes its scores or "
             "weights";
    if (tokens.mergesTokens())
      return "the model merges tokens that stand side by side";
    for (OpOperand *use : tokens.getGathers())
      if (!isAttention(use->getOwner()) &&
          !isa<func::ReturnOp>(use->getOwner()))
        return readsInOrder(use->getOwner());
    program.walk([&](Operation *op) {
      if (why.empty() && looksUpTokens(op))
        why = readsInOrder(op);
    });
    return why;
  }

  /// Changes the places of tokens; `gathersKeys`: attention reads all keys, in
  /// the model's order.
  void run(bool gathersKeys) {
    SmallVector<Mask> masks = findMasks(gathersKeys);
    SmallVector<DimOf> sources;
    for (BlockArgument argument : program.getArguments())
      collect(argument, sources);
    for (Operation &op : program.getBody().front())
      for (Value result : op.getResults())
        if (!isa<ConstantOp>(op) || !isSplat(&op))
          collect(result, sources);
    for (const DimOf &source : sources)
      reorder(source);
    for (const Mask &mask : masks)
      orderMask(mask);
    Operation *end = program.getBody().front().getTerminator();
    OpBuilder builder(end);
    for (OpOperand &use : end->getOpOperands()) {
      Value value = use.get();
      std::optional<int64_t> kept =
          tokens.findReadDim(use.getOperandNumber(), parts);
      if (kept)
        keepOrder(use.getOperandNumber(), *kept);
      for (int64_t dim = 0; dim < rankOf(value); ++dim)
        if (tokens.isMarked({value, dim}) && dim != kept)
          use.set(gather(builder, use.get(), dim, /*inverse=*/true));
    }
  }

private:
  static std::string readsInOrder(Operation *op) {
    std::string text = wordsFor(op);
    if (auto origin = onnx::getOrigin(op->getLoc()))
      text += " of node '" + origin->node.str() + "'";
    return text + " reads tokens in their order";
  }

  /// Whether the op wants tokens by their numbers. Each rank could look for
  /// those that it has (the finer rule), but numbers are of the old order.
  bool looksUpTokens(Operation *op) {
    auto shardable = dyn_cast<ShardableOpInterface>(op);
    if (!shardable || isAttention(op))
      return false;
    ShardingRule rule = shardable.getShardingRule();
    ShardingRule finer = shardable.getFinerRule();
    for (auto [operand, dims] : llvm::enumerate(rule.operandDims))
      for (auto [dim, factor] : llvm::enumerate(dims))
        if (factor == ShardingRule::kWhole &&
            finer.operandDims[operand][dim] != ShardingRule::kWhole &&
            tokens.isMarked({op->getOperand(operand), int64_t(dim)}))
          return true;
    return false;
  }

  /// A mask of keys whose order differs from that of the keys.
  struct Mask {
    AttentionOp attention;
    bool isOrdered; // as the tokens that it is computed from
  };

  SmallVector<Mask> findMasks(bool gathersKeys) {
    SmallVector<Mask> masks;
    program.walk([&](AttentionOp op) {
      if (!op.getMask())
        return;
      const bool isOrdered = tokens.isMarked({op.getMask(), kMaskKeys});
      if (isOrdered == gathersKeys)
        masks.push_back({op, isOrdered});
    });
    return masks;
  }

  void orderMask(Mask mask) {
    OpBuilder builder(mask.attention);
    Value ordered = gather(builder, mask.attention.getMask(), kMaskKeys,
                           /*inverse=*/mask.isOrdered);
    // Stages of a pipeline are told by nodes.
    ordered.getDefiningOp()->setLoc(mask.attention.getLoc());
    mask.attention.getMaskMutable().assign(ordered);
  }

  /// Each rank has its tokens of a result: the host that reads them all puts
  /// them back.
  void keepOrder(unsigned result, int64_t dim) {
    Builder builder(program.getContext());
    program.setResultAttr(result, kTokenDimAttr,
                          builder.getI64IntegerAttr(dim));
    program.setResultAttr(result, kTokenOrderAttr,
                          builder.getStringAttr(kZigzag));
  }

  static int64_t rankOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getRank();
  }

  static bool isSplat(Operation *op) {
    auto dense = dyn_cast<DenseElementsAttr>(cast<ConstantOp>(op).getValue());
    return dense && dense.isSplat();
  }

  std::string findObstacle(AttentionOp op) const {
    int64_t count = op.getQuery().getType().getDimSize(kTokens);
    if (!op.getCausal() && hasMaskOfQueries(op))
      return "an attention has a mask of queries and keys that does not come "
             "apart in a causal one and one of keys";
    if (!op.getCausal())
      return "an attention is not causal: its work is even as it is";
    if (hasMaskOfQueries(op))
      return "an attention has a mask of queries and keys beside the causal "
             "one";
    if (count % (2 * parts) != 0)
      return std::to_string(count) + " tokens do not divide in " +
             std::to_string(2 * parts) + " chunks, two for each rank";
    return "";
  }

  /// Dims of tokens that an op makes, and does not take from an operand.
  void collect(Value value, SmallVectorImpl<DimOf> &sources) {
    for (int64_t dim = 0; dim < rankOf(value); ++dim) {
      DimOf each{value, dim};
      if (tokens.isMarked(each) && !comesFromOperand(each) && !isRepeated(each))
        sources.push_back(each);
    }
  }

  bool comesFromOperand(DimOf dim) {
    Operation *op = dim.value.getDefiningOp();
    return op && llvm::any_of(op->getOperands(), [&](Value operand) {
             for (int64_t each = 0; each < rankOf(operand); ++each)
               if (tokens.isMarked({operand, each}))
                 return true;
             return false;
           });
  }

  /// The elements that a broadcast repeats have no order.
  static bool isRepeated(DimOf dim) {
    return isa_and_nonnull<BroadcastOp>(dim.value.getDefiningOp()) &&
           isRepeatedAlong(dim);
  }

  void reorder(DimOf source) {
    OpBuilder builder(program.getContext());
    if (Operation *op = source.value.getDefiningOp())
      builder.setInsertionPointAfter(op);
    else
      builder.setInsertionPointToStart(&program.getBody().front());
    Value ordered = gather(builder, source.value, source.dim, false);
    source.value.replaceAllUsesExcept(ordered, ordered.getDefiningOp());
    setNode(ordered.getDefiningOp(), source.value);
  }

  /// Stages of a pipeline are told by nodes: an input's order belongs to the
  /// first that reads it.
  static void setNode(Operation *order, Value input) {
    if (!isa<BlockArgument>(input))
      return;
    Operation *first = nullptr;
    for (Operation *user : order->getUsers())
      if (!first || user->isBeforeInBlock(first))
        first = user;
    if (first && !isa<func::ReturnOp>(first))
      order->setLoc(first->getLoc());
  }

  Value gather(OpBuilder &builder, Value value, int64_t dim, bool inverse) {
    int64_t count = cast<RankedTensorType>(value.getType()).getDimSize(dim);
    auto order = makeZigzagOrder(builder.getContext(), count, parts, inverse);
    Value places =
        ConstantOp::create(builder, value.getLoc(),
                           cast<RankedTensorType>(order.getType()), order);
    return GatherOp::create(builder, value.getLoc(), value.getType(), value,
                            places, builder.getI64IntegerAttr(dim),
                            builder.getI64IntegerAttr(0), IntegerAttr());
  }

  func::FuncOp program;
  int64_t parts, headParts;
  TokenDims tokens;
};

struct OrderTokens : public impl::OrderTokensPassBase<OrderTokens> {
  using OrderTokensPassBase::OrderTokensPassBase;

  void runOnOperation() override {
    if (parts < 2)
      return;
    getOperation()->setAttr(
        kTokenPartsAttr,
        IntegerAttr::get(IntegerType::get(&getContext(), 64), parts));
    if (StringRef(attention).starts_with("ring") ||
        (attention == "auto" && prefersParts()))
      for (auto program : getOperation().getOps<func::FuncOp>())
        if (failed(partMasks(program)))
          return signalPassFailure();
    if (attention == "ulysses" || attention == "ring=contiguous")
      return;
    SmallVector<std::unique_ptr<TokenOrderer>> orderers;
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      auto orderer = std::make_unique<TokenOrderer>(program, parts, headParts);
      if (!orderer->hasAttention())
        continue;
      if (attention == "auto" && orderer->prefersHeads())
        return;
      std::string why = orderer->findObstacle();
      if (why.empty() && byHand)
        why = "--token-dim says where tokens are";
      if (why.empty()) {
        orderers.push_back(std::move(orderer));
        continue;
      }
      if (attention == "ring=zigzag" && orderer->hasRing()) {
        program.emitError("--sp-attention ring=zigzag: ")
            << why << "; ring=contiguous leaves tokens where they are";
        signalPassFailure();
      }
      return;
    }
    for (auto &orderer : orderers)
      orderer->run(/*gathersKeys=*/attention == "gather");
    if (!orderers.empty())
      getOperation()->setAttr(kTokenOrderAttr,
                              StringAttr::get(&getContext(), kZigzag));
  }

private:
  /// Whether a ring is faster once causal masks and those of keys are apart.
  bool prefersParts() {
    bool found = false;
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      TokenOrderer orderer(program, parts, headParts);
      if (!orderer.hasAttention())
        continue;
      if (orderer.prefersHeads(/*comeApart=*/true) || !comeApart(program))
        return false;
      found = true;
    }
    return found;
  }
};

} // namespace
} // namespace zc
