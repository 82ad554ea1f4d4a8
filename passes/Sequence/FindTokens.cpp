//===- FindTokens.cpp - --zc-find-tokens ----------------------------------===//
#include "dialects/Interfaces/OpInterfaces.h"
#include "dialects/Sched/SchedDialect.h"
#include "dialects/Train/Ops/AttentionSupport.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/Tokens.h"
#include "passes/Sequence/ExchangeCost.h"
#include "passes/Sequence/Passes.h"
#include "passes/Sequence/TokenDims.h"
#include "passes/Sharding/Layout.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_FINDTOKENSPASS
#include "passes/Sequence/Passes.h.inc"

namespace {

/// The tokens that a node reads for itself. A recurrence takes each alone; a
/// running sum is made of shifted ones, as often as tokens double.
class TokenReads {
public:
  /// Whether the node is one of these. Masks and positions, which are integers,
  /// are whole on every rank at no cost.
  bool add(OpOperand &use, TokenDims &dims) {
    auto type = cast<RankedTensorType>(use.get().getType());
    Operation *op = use.getOwner();
    if (!isa<FloatType>(type.getElementType()) || !isa<SplitOp, SliceOp>(op))
      return false;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (dims.isMarked({use.get(), dim}))
        return addPieces(op, dim, type.getDimSize(dim));
    return false;
  }

private:
  bool addPieces(Operation *op, int64_t dim, int64_t tokens) {
    auto piece = cast<RankedTensorType>(op->getResult(0).getType());
    if (piece.getDimSize(dim) == 1)
      alone += op->getNumResults();
    else
      ++shifted;
    return tokens > 2 &&
           (alone >= tokens ||
            shifted >= std::max<int64_t>(3, llvm::Log2_64_Ceil(tokens)));
  }

  int64_t alone = 0, shifted = 0;
};

struct FindTokens : public impl::FindTokensPassBase<FindTokens> {
  using FindTokensPassBase::FindTokensPassBase;

  void runOnOperation() override {
    if (parts < 2)
      return;
    bool found = false;
    std::set<std::string> inputs;
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      if (failed(visit(program, inputs, found)))
        return signalPassFailure();
    }
    for (const std::string &dim : dims)
      if (!inputs.count(StringRef(dim).rsplit('=').first.str())) {
        getOperation().emitError("--token-dim ")
            << dim << ": no input has that name; there are " << list(inputs);
        return signalPassFailure();
      }
    if (!found) {
      getOperation().emitError()
          << (hasAttention()
                  ? "no input counts the tokens of attention: the model makes "
                    "them itself (as a convolution makes patches of images)"
                  : "no attention tells which dims count tokens")
          << ", so that '" << axis
          << "' has nothing to divide; say where they are with --token-dim "
             "INPUT=K; inputs are "
          << list(inputs);
      signalPassFailure();
    }
  }

private:
  bool hasAttention() {
    return getOperation()
        .walk([](Operation *op) {
          return isAttention(op) ? WalkResult::interrupt()
                                 : WalkResult::advance();
        })
        .wasInterrupted();
  }

  static std::string list(const std::set<std::string> &names) {
    std::string text;
    for (const std::string &name : names)
      text += (text.empty() ? "'" : ", '") + name + "'";
    return text.empty() ? "none" : text;
  }

  /// The dim that the user gives for an input; -1: it has no tokens.
  std::optional<int64_t> getGiven(StringRef input) {
    for (const std::string &text : dims) {
      auto [name, value] = StringRef(text).rsplit('=');
      int64_t dim = -1;
      if (name == input) {
        value.getAsInteger(10, dim);
        return value == "none" ? -1 : dim;
      }
    }
    return std::nullopt;
  }

  LogicalResult visit(func::FuncOp program, std::set<std::string> &inputs,
                      bool &found) {
    TokenDims tokens(program);
    tokens.markAttention();
    tokens.markMessages();
    auto forEachInput = [&](auto body) -> LogicalResult {
      for (BlockArgument argument : program.getArguments())
        if (auto name = program.getArgAttrOfType<StringAttr>(
                argument.getArgNumber(), kInputAttr);
            name &&
            !program.getArgAttr(argument.getArgNumber(), kSampleWeightAttr))
          if (failed(body(argument, name.getValue())))
            return failure();
      return success();
    };
    // A given dim tells of dims that depend on it, too.
    auto takeGiven = [&](BlockArgument argument, StringRef name) {
      inputs.insert(name.str());
      auto given = getGiven(name);
      if (!given || *given < 0)
        return success();
      tokens.mark({argument, *given});
      return setDim(program, argument, name, *given);
    };
    auto takeFound = [&](BlockArgument argument, StringRef name) {
      if (getGiven(name))
        return success();
      auto batch = program.getArgAttrOfType<IntegerAttr>(
          argument.getArgNumber(), kBatchDimAttr);
      int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
      for (int64_t dim = 0; dim < rank; ++dim)
        if (tokens.isMarked({argument, dim}) &&
            !(batch && batch.getInt() == dim))
          return setDim(program, argument, name, dim);
      return success();
    };
    const bool ordered = isOrdered(getOperation());
    if (!ordered &&
        (failed(forEachInput(takeGiven)) || failed(forEachInput(takeFound))))
      return failure();
    if (!ordered)
      divideResults(program, tokens);
    bool divided = ordered && divideOrders(program);
    for (unsigned i = 0; i < program.getNumArguments(); ++i)
      divided |= bool(program.getArgAttr(i, kTokenDimAttr));
    for (unsigned i = 0; i < program.getNumResults(); ++i)
      divided |= bool(program.getResultAttr(i, kTokenDimAttr));
    found |= divided;
    return divided ? divideOps(program, tokens) : success();
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

  LogicalResult setDim(func::FuncOp program, BlockArgument argument,
                       StringRef name, int64_t dim) {
    auto type = cast<RankedTensorType>(argument.getType());
    unsigned index = argument.getArgNumber();
    auto batch = program.getArgAttrOfType<IntegerAttr>(index, kBatchDimAttr);
    if (dim >= type.getRank())
      return program.emitError("--token-dim ")
             << name << "=" << dim << ": the input is " << type;
    if (batch && batch.getInt() == dim)
      return program.emitError("--token-dim ")
             << name << "=" << dim << ": the dim counts samples";
    int64_t size = type.getDimSize(dim);
    if (size % parts.getValue() != 0) {
      int64_t below = size / parts * parts;
      return program.emitError("input '")
             << name << "': " << size << " tokens, dim " << dim
             << ", do not divide among " << parts.getValue() << " ranks of '"
             << axis << "'; the next sizes that do are "
             << (below ? std::to_string(below) + " and " : std::string())
             << below + parts;
    }
    program.setArgAttr(
        index, kTokenDimAttr,
        IntegerAttr::get(IntegerType::get(&getContext(), 64), dim));
    return success();
  }

  /// Chooses how attentions divide; refuses what else mixes tokens.
  LogicalResult divideOps(func::FuncOp program, TokenDims &tokens) {
    DenseSet<Location> refused; // a node once, not its gradients too
    DenseMap<Location, TokenReads> reads;
    for (OpOperand *use : tokens.getGathers()) {
      Operation *op = use->getOwner();
      bool oneByOne = reads[op->getLoc()].add(*use, tokens);
      if ((oneByOne || isa<ImageOpInterface>(op)) &&
          refused.insert(op->getLoc()).second)
        op->emitError("'") << op->getName() << "' "
                           << (oneByOne ? "computes tokens one after another"
                                        : "mixes tokens")
                           << ", which '" << axis << "' divides among "
                           << parts.getValue()
                           << " ranks; leave the axis at 1, or keep its input "
                              "whole with --token-dim INPUT=none";
    }
    if (!refused.empty())
      return failure();
    WalkResult result = program.walk([&](Operation *op) {
      return isAttention(op) && tokens.isMarked({op->getOperand(0), kTokens}) &&
                     failed(chooseExchange(op))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    return success(!result.wasInterrupted());
  }

  /// A ring of tokens in order computes what a causal mask hides.
  bool choosesHeads(Operation *op) {
    return op->hasAttr("causal") || prefersHeads(op, {parts, headParts});
  }

  /// The way in which keys and values come where heads are not divided instead.
  StringRef getMode(Operation *op) {
    const bool ordered = isOrdered(getOperation());
    if (attention == "gather" || !canGoRound(op))
      return ordered ? "gather=zigzag" : "gather";
    return ordered ? "ring=zigzag" : "ring";
  }

  LogicalResult chooseExchange(Operation *op) {
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    int64_t heads = type.getDimSize(kHeads), own = heads / headParts;
    if (StringRef(attention).starts_with("ring") && !canGoRound(op))
      return op->emitError("has a mask of queries and keys, or other keys than "
                           "queries, which no ring of ranks hands on; "
                           "--sp-attention gather divides it");
    const bool divides = heads % headParts == 0 && own % parts == 0;
    // Tokens that have changed places are for rings alone.
    if (divides && !isOrdered(getOperation()) &&
        (attention == "ulysses" || (attention == "auto" && choosesHeads(op)))) {
      op->setAttr(kExchangeAttr,
                  DenseI64ArrayAttr::get(&getContext(), {kTokens, kHeads}));
      return success();
    }
    if (attention != "ulysses") {
      // Others than self-attention are computed whole by every rank.
      auto keys = cast<RankedTensorType>(op->getOperand(1).getType());
      if (keys.getDimSize(kTokens) == type.getDimSize(kTokens))
        op->setAttr(kTokensAttr, StringAttr::get(&getContext(), getMode(op)));
      return success();
    }
    std::string sizes;
    for (int64_t size = 1; size <= own; ++size)
      if (heads % headParts == 0 && own % size == 0)
        sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    return op->emitError("has ")
           << heads << " heads, which " << parts * headParts << " ranks of '"
           << axis << "' and 'tp' cannot divide; sizes of '" << axis
           << "' that can are " << (sizes.empty() ? "none" : sizes)
           << "; --sp-attention ring and gather divide no heads";
  }
};

} // namespace
} // namespace zc
