//===- TokenMixing.cpp - ops that mix tokens ------------------------------===//
#include "passes/Sequence/TokenMixing.h"

#include "dialects/Interfaces/OpInterfaces.h"
#include "dialects/Train/Ops/WindowOps.h"
#include "passes/Sequence/Halos.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

/// The tokens that a node reads for itself. A recurrence takes each alone; a
/// running sum is made of shifted ones, as often as tokens double.
class TokenReads {
public:
  /// Whether the node is one of these, by a read of a part of dim `dim`. Masks
  /// and positions, which are integers, are whole on every rank at no cost.
  bool add(OpOperand &use, int64_t dim) {
    auto type = cast<RankedTensorType>(use.get().getType());
    return isa<FloatType>(type.getElementType()) &&
           isa<SplitOp, SliceOp>(use.getOwner()) &&
           addPieces(use.getOwner(), dim, type.getDimSize(dim));
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

int64_t sizeOfDim(Value value, int64_t dim) {
  return cast<RankedTensorType>(value.getType()).getDimSize(dim);
}

/// The marked dim of an operand, in which `parts` elements are the edges of
/// ranks' blocks; -1: none.
int64_t findMarkedDim(Value value, TokenDims &tokens, int64_t parts) {
  const int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim)
    if (tokens.isMarked({value, dim}) && sizeOfDim(value, dim) != parts)
      return dim;
  return -1;
}

/// The search for nodes that make tokens of what is not marked.
class HiddenMixing {
public:
  explicit HiddenMixing(TokenDims &tokens) : tokens(tokens) {}

  SmallVector<TokenMixing> run(func::FuncOp program) {
    program.walk([&](ShardableOpInterface op) { visit(op); });
    for (const auto &[node, tokensMade] : made)
      addReads(node, tokensMade);
    return std::move(found);
  }

private:
  void visit(ShardableOpInterface op) {
    ShardingRule rule = op.getFinerRule();
    for (OpResult result : op->getResults())
      for (auto [dim, factor] :
           llvm::enumerate(rule.resultDims[result.getResultNumber()]))
        if (factor == ShardingRule::kWhole &&
            tokens.isMarked({result, int64_t(dim)}))
          addWhole(op, result, int64_t(dim));
    for (OpOperand &use : op->getOpOperands())
      for (auto [dim, factor] :
           llvm::enumerate(rule.operandDims[use.getOperandNumber()]))
        if (factor == ShardingRule::kWhole && isa<SplitOp, SliceOp>(op) &&
            !tokens.isMarked({use.get(), int64_t(dim)}))
          parts[op.getLoc()].push_back({&use, int64_t(dim)});
  }

  /// An op makes all tokens of dim `dim` of a result at once.
  void addWhole(Operation *op, Value result, int64_t dim) {
    auto images = dyn_cast<ImageOpInterface>(op);
    if (!images) {
      made.insert({op->getLoc(), sizeOfDim(result, dim)});
      return;
    }
    OpOperand &image = op->getOpOperand(images.getImageOperands()[0]);
    if (!tokens.isMarked({image.get(), dim}) && sharesPlaces(op, dim) &&
        nodes.insert(op->getLoc()).second)
      found.push_back({&image, /*oneByOne=*/false});
  }

  /// A node that makes so many tokens: does it read as many one by one?
  void addReads(Location node, int64_t tokensMade) {
    TokenReads reads;
    for (auto [use, dim] : parts[node])
      if (sizeOfDim(use->get(), dim) == tokensMade && reads.add(*use, dim) &&
          nodes.insert(node).second)
        found.push_back({use, /*oneByOne=*/true});
  }

  TokenDims &tokens;
  SmallVector<TokenMixing> found;
  DenseSet<Location> nodes;
  llvm::MapVector<Location, int64_t> made; // tokens, by nodes
  DenseMap<Location, SmallVector<std::pair<OpOperand *, int64_t>>> parts;
};

/// The most ranks, fewer than `parts`, whose neighbours have all that the
/// window of a convolution over tokens reaches; 1: none have.
int64_t findMostRanks(Operation *op, TokenDims &tokens, int64_t parts) {
  auto conv = dyn_cast<ConvOp>(op);
  if (!conv)
    return 1;
  const int64_t rank = conv.getInput().getType().getRank();
  for (int64_t ranks = parts - 1; ranks > 1; --ranks)
    for (int64_t dim = 2; dim < rank; ++dim)
      if ((tokens.isMarked({conv.getInput(), dim}) ||
           tokens.isMarked({conv.getResult(), dim})) &&
          findHalo(conv, dim - 2, ranks))
        return ranks;
  return 1;
}

} // namespace

SmallVector<TokenMixing> findMixing(func::FuncOp program, TokenDims &tokens,
                                    int64_t parts) {
  SmallVector<TokenMixing> found;
  DenseSet<Location> nodes;
  // The gradients of nodes that the user wants whole read marked tokens.
  DenseMap<Location, Operation *> hidden;
  for (const TokenMixing &each : findHiddenMixing(program, tokens)) {
    Operation *op = each.use->getOwner();
    hidden[op->getLoc()] = op;
  }
  DenseMap<Location, TokenReads> reads;
  for (OpOperand *use : tokens.getGathers()) {
    Operation *op = use->getOwner();
    Operation *forward = hidden.lookup(op->getLoc());
    if (forward && forward->isBeforeInBlock(op))
      continue;
    const int64_t dim = findMarkedDim(use->get(), tokens, parts);
    const bool oneByOne = dim >= 0 && reads[op->getLoc()].add(*use, dim);
    if ((oneByOne || isa<ImageOpInterface>(op)) &&
        nodes.insert(op->getLoc()).second)
      found.push_back({use, oneByOne});
  }
  return found;
}

SmallVector<TokenMixing> findHiddenMixing(func::FuncOp program,
                                          TokenDims &tokens) {
  return HiddenMixing(tokens).run(program);
}

void refuseMixing(const TokenMixing &mixing, TokenDims &tokens,
                  const TokenRanks &ranks, StringRef whole) {
  Operation *op = mixing.use->getOwner();
  auto error = op->emitError(
      mixing.oneByOne ? "computes tokens one after another" : "mixes tokens");
  error << ", which '" << ranks.axis << "' divides among " << ranks.count
        << " ranks; leave the axis at 1";
  if (const int64_t most = findMostRanks(op, tokens, ranks.count); most > 1)
    error << ", or at most at " << most
          << " ranks, whose blocks have as many tokens as the window reaches";
  if (!whole.empty())
    error << ", or keep whole what it reads: " << whole;
}

} // namespace zc
