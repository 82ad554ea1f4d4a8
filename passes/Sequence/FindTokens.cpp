//===- FindTokens.cpp - --zc-find-tokens ----------------------------------===//
#include "dialects/Interfaces/OpInterfaces.h"
#include "dialects/Sched/SchedDialect.h"
#include "dialects/Train/Ops/AttentionSupport.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/Tokens.h"
#include "passes/Autodiff/SampleDims.h"
#include "passes/Sequence/ExchangeCost.h"
#include "passes/Sequence/Passes.h"
#include "passes/Sequence/TokenDims.h"
#include "passes/Sequence/TokenInputs.h"
#include "passes/Sequence/TokenMixing.h"
#include "passes/Sharding/ExchangedDims.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_FINDTOKENSPASS
#include "passes/Sequence/Passes.h.inc"

namespace {

struct FindTokens : public impl::FindTokensPassBase<FindTokens> {
  using FindTokensPassBase::FindTokensPassBase;

  void runOnOperation() override {
    if (parts < 2)
      return;
    for (auto program : getOperation().getOps<func::FuncOp>())
      if (failed(visit(program)))
        return signalPassFailure();
  }

private:
  LogicalResult visit(func::FuncOp program) {
    TokenDims tokens(program);
    tokens.markAttention();
    tokens.markMessages(); // and what --zc-mark-tokens says
    const bool ordered = isOrdered(getOperation());
    if (!ordered && failed(divideInputs(program, tokens)))
      return failure();
    if (!ordered)
      divideResults(program, tokens);
    bool divided = ordered && divideOrders(program);
    for (unsigned i = 0; i < program.getNumArguments(); ++i)
      divided |= bool(program.getArgAttr(i, kTokenDimAttr));
    for (unsigned i = 0; i < program.getNumResults(); ++i)
      divided |= bool(program.getResultAttr(i, kTokenDimAttr));
    return divided ? divideOps(program, tokens) : success();
  }

  LogicalResult divideInputs(func::FuncOp program, TokenDims &tokens) {
    return forEachTokenInput(program, [&](BlockArgument argument, StringRef) {
      const unsigned index = argument.getArgNumber();
      std::optional<int64_t> dim = tokens.findInputDim(argument);
      if (!dim || program.getArgAttr(index, kTokenDimAttr) ||
          program.getArgAttr(index, kNoTokensAttr))
        return success();
      return setTokenDim(argument, *dim, {axis, parts},
                         hasOtherTokens(program, tokens, {argument, *dim}));
    });
  }

  /// Whether inputs count an attention's tokens that are not those of `dim`.
  static bool hasOtherTokens(func::FuncOp program, TokenDims &tokens,
                             DimOf dim) {
    bool others = false;
    (void)forEachTokenInput(program, [&](BlockArgument input, StringRef) {
      if (std::optional<int64_t> own = tokens.findInputDim(input))
        others |= !tokens.areTied({input, *own}, dim) &&
                  tokens.isOfAttention({input, *own});
      return success();
    });
    return others;
  }

  /// Ranks keep their tokens of what the host reads, which puts them together.
  void divideResults(func::FuncOp program, TokenDims &tokens) {
    Builder builder(&getContext());
    for (unsigned i = 0; i < program.getNumResults(); ++i)
      if (auto dim = tokens.findReadDim(i, parts))
        program.setResultAttr(i, kTokenDimAttr,
                              builder.getI64IntegerAttr(*dim));
  }

  /// Tokens that --zc-order-tokens has put in order are divided where that is
  /// done: every rank reads its own.
  bool divideOrders(func::FuncOp program) {
    bool found = false;
    for (auto constant :
         llvm::make_early_inc_range(program.getOps<ConstantOp>())) {
      if (!isZigzagOrder(constant, parts))
        continue;
      OpBuilder builder(&getContext());
      builder.setInsertionPointAfter(constant);
      auto part = dist::ReshardOp::create(builder, constant.getLoc(),
                                          constant.getResult());
      part->setAttr(dist::kShardingAttr,
                    dist::ShardingAttr::get(
                        &getContext(), {builder.getStrArrayAttr({axis})}, {}));
      constant.getResult().replaceUsesWithIf(
          part.getResult(), [](OpOperand &use) {
            return isa<GatherOp, ScatterAddOp>(use.getOwner());
          });
      found = true;
    }
    return found;
  }

  /// Chooses how attentions divide; refuses what else mixes tokens.
  LogicalResult divideOps(func::FuncOp program, TokenDims &tokens) {
    if (failed(refuseAllMixing(program, tokens)))
      return failure();
    const bool ordered = isOrdered(getOperation());
    WalkResult result = program.walk([&](Operation *op) {
      return isAttention(op) &&
                     (ordered ||
                      tokens.isDivided({op->getOperand(0), kTokens})) &&
                     failed(chooseExchange(op, tokens))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    const int64_t samples = findSampleDims(program).samples;
    for (const UnfusedAttention &each : tokens.getUnfused().get())
      if (tokens.isDivided(each.getQueries()) &&
          failed(divideProducts(each, samples)))
        return failure();
    return success();
  }

  /// An error for each node that mixes tokens, or reads them in their order.
  LogicalResult refuseAllMixing(func::FuncOp program, TokenDims &tokens) {
    const SmallVector<TokenMixing> found = findMixing(program, tokens, parts);
    for (const TokenMixing &each : found)
      refuseMixing(each, tokens, {axis, parts},
                   findSources(program, *each.use, tokens));
    return success(found.empty());
  }

  /// "--token-dim INPUT=none" for each input whose tokens an op reads, if
  /// others have tokens, too, that can still be divided.
  static std::string findSources(func::FuncOp program, OpOperand &use,
                                 TokenDims &tokens) {
    std::string names;
    bool others = false;
    const int64_t rank = cast<RankedTensorType>(use.get().getType()).getRank();
    auto visit = [&](BlockArgument argument, StringRef name) {
      std::optional<int64_t> dim = tokens.findInputDim(argument);
      if (!dim)
        return success();
      bool isRead = false;
      for (int64_t each = 0; each < rank; ++each)
        isRead |= tokens.areTied({use.get(), each}, {argument, *dim});
      others |= !isRead && tokens.isOfAttention({argument, *dim});
      if (isRead)
        names += (names.empty() ? "--token-dim " : " --token-dim ") +
                 name.str() + "=none";
      return success();
    };
    (void)forEachTokenInput(program, visit);
    return others ? names : "";
  }

  /// A ring of tokens in order computes what a causal mask hides.
  bool choosesHeads(Operation *op) {
    return op->hasAttr("causal") || prefersHeads(op, {parts, headParts});
  }

  /// The way in which keys and values come where heads are not divided instead.
  KeySource chooseSource(Operation *op, bool dividesKeys) {
    if (!dividesKeys)
      return KeySource::Whole;
    const bool gathers = gathersKeys(op, attention);
    if (isOrdered(getOperation()))
      return gathers ? KeySource::GatherZigzag : KeySource::RingZigzag;
    return gathers ? KeySource::Gather : KeySource::Ring;
  }

  /// Whether ranks have parts of the keys. Those of an input that is whole they
  /// have all.
  bool dividesKeys(Operation *op, TokenDims &tokens) {
    return hasKeysOfQueries(op) ||
           (countTokens(op->getOperand(1)) % parts == 0 &&
            tokens.isDivided({op->getOperand(1), kTokens}));
  }

  LogicalResult chooseExchange(Operation *op, TokenDims &tokens) {
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    const int64_t heads = type.getDimSize(kHeads);
    const bool dividesKeys = this->dividesKeys(op, tokens);
    const bool divides = heads % (headParts * parts) == 0;
    // Tokens that have changed places are for rings alone.
    if (divides && !isOrdered(getOperation()) &&
        (attention == "ulysses" ||
         (attention == "auto" && dividesKeys && choosesHeads(op)))) {
      op->setAttr(kExchangeAttr,
                  DenseI64ArrayAttr::get(&getContext(), {kTokens, kHeads}));
      return success();
    }
    if (attention == "ulysses")
      return refuseHeads(op, heads, "ring and gather divide");
    setKeySource(op, chooseSource(op, dividesKeys));
    return success();
  }

  /// `others` divide no heads.
  LogicalResult refuseHeads(Operation *op, int64_t heads, StringRef others) {
    SmallVector<std::string> sizes;
    for (int64_t size = 1; size <= heads / headParts; ++size)
      if (heads % (headParts * size) == 0)
        sizes.push_back(std::to_string(size));
    return op->emitError("has ")
           << heads << (heads == 1 ? " head" : " heads") << ", which "
           << parts * headParts << " ranks of '" << axis
           << "' and 'tp' cannot divide; "
           << (sizes.empty()       ? "no size of '"
               : sizes.size() == 1 ? "the one size of '"
                                   : "sizes of '")
           << axis
           << (sizes.empty()       ? "' can"
               : sizes.size() == 1 ? "' that can is "
                                   : "' that can are ")
           << llvm::join(sizes, ", ") << "; --sp-attention " << others
           << " no heads";
  }

  /// Products of an attention of several ops: they divide heads, or queries and
  /// gather keys and values.
  LogicalResult divideProducts(const UnfusedAttention &unfused,
                               int64_t samples) {
    if (StringRef(attention).starts_with("ring"))
      return unfused.reason->emitError(
          "changes the scores or weights of an attention, which is several ops "
          "then; no ring of ranks hands on their keys; --sp-attention gather "
          "and ulysses divide it");
    const int64_t heads = unfused.countHeads(samples);
    const bool divides = heads % (parts * headParts) == 0;
    if (attention == "ulysses" && !divides)
      return refuseHeads(unfused.softmax, heads, "gather divides");
    // Samples times heads may be divided already: by whom is not known here.
    const bool joined = unfused.getQueries().dim == 1;
    const bool byHeads =
        attention == "ulysses" || (attention == "auto" && divides && !joined);
    for (const ScoreProduct &product : unfused.products)
      divideProduct(product, byHeads);
    return success();
  }

  void divideProduct(const ScoreProduct &product, bool byHeads) {
    Operation *op = product.op;
    SmallVector<int64_t> gathered = {product.keys};
    if (byHeads) {
      gathered.push_back(product.queries);
      op->setAttr(kExchangeAttr,
                  DenseI64ArrayAttr::get(&getContext(), findDims(product)));
    }
    op->setAttr(kGatheredAttr, DenseI64ArrayAttr::get(&getContext(), gathered));
  }

  /// The dims of tokens (-1: of both queries and keys) and heads of a product's
  /// result.
  static SmallVector<int64_t> findDims(const ScoreProduct &product) {
    Operation *op = product.op;
    auto dims = cast<ShardableOpInterface>(op).getShardingRule().resultDims[0];
    int64_t tokens = -1, heads = 0;
    for (auto [dim, factor] : llvm::enumerate(dims)) {
      if (factor == product.heads)
        heads = int64_t(dim);
      if (!product.makesScores &&
          (factor == product.queries || factor == product.keys))
        tokens = int64_t(dim);
    }
    return {tokens, heads};
  }
};

} // namespace
} // namespace zc
