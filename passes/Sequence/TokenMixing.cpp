//===- TokenMixing.cpp - ops that mix tokens ------------------------------===//
#include "passes/Sequence/TokenMixing.h"

#include "dialects/Interfaces/OpInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

/// The tokens that a node reads for itself. A recurrence takes each alone; a
/// running sum is made of shifted ones, as often as tokens double.
class TokenReads {
public:
  /// In a dim of `parts` elements, these are the edges of ranks' blocks.
  explicit TokenReads(int64_t parts = 0) : parts(parts) {}

  /// Whether the node is one of these. Masks and positions, which are integers,
  /// are whole on every rank at no cost.
  bool add(OpOperand &use, TokenDims &dims) {
    auto type = cast<RankedTensorType>(use.get().getType());
    Operation *op = use.getOwner();
    if (!isa<FloatType>(type.getElementType()) || !isa<SplitOp, SliceOp>(op))
      return false;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (dims.isMarked({use.get(), dim}) && type.getDimSize(dim) != parts)
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

  int64_t parts, alone = 0, shifted = 0;
};

} // namespace

SmallVector<TokenMixing> findMixing(TokenDims &tokens, int64_t parts) {
  SmallVector<TokenMixing> found;
  DenseSet<Location> nodes;
  DenseMap<Location, TokenReads> reads;
  for (OpOperand *use : tokens.getGathers()) {
    Operation *op = use->getOwner();
    const bool oneByOne = reads.try_emplace(op->getLoc(), TokenReads(parts))
                              .first->second.add(*use, tokens);
    if ((oneByOne || isa<ImageOpInterface>(op)) &&
        nodes.insert(op->getLoc()).second)
      found.push_back({use, oneByOne});
  }
  return found;
}

} // namespace zc
