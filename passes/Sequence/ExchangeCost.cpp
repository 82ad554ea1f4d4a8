//===- ExchangeCost.cpp - how long attention waits for tokens -------------===//
#include "passes/Sequence/ExchangeCost.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/Tokens.h"
#include "passes/Sequence/MaskNumbers.h"
#include "passes/Sequence/RepeatedOperand.h"
#include "passes/Sequence/TokenDims.h"
#include "passes/Target/Target.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

/// The sizes that both ways depend on, of one rank of tp.
class Attention {
public:
  Attention(Operation *op, const AttentionParts &parts, bool comesApart)
      : flopsPerSecond(getTarget(op).flopsOf(op)),
        memoryBytes(getTarget(op).rates().bytes),
        link(getTarget(op).linkOf({kTokenAxis})), ranks(double(parts.tokens)) {
    auto query = cast<RankedTensorType>(op->getOperand(0).getType());
    auto key = cast<RankedTensorType>(op->getOperand(1).getType());
    const double heads = double(parts.heads);
    elementBytes = query.getElementTypeBitWidth() / 8.0;
    queryElements = double(query.getNumElements()) / heads;
    keyElements = double(key.getNumElements()) / heads;
    // Two products, of two FLOPs an element: of scores, and of results.
    flops = 4 * queryElements * double(key.getDimSize(kTokens));
    handedOnBytes =
        double(numElements(
            RepeatedOperand(op->getOperand(1)).getSource().getType())) /
        heads * elementBytes;
    causal = comesApart || op->hasAttr("causal");
    if (isLevelledByBlock(op)) {
      auto mask = cast<RankedTensorType>(getMask(op).getType());
      levelledBytes = double(mask.getNumElements()) *
                      double(mask.getShape().back()) *
                      mask.getElementTypeBitWidth() / 8.0;
    }
    if (comesApart) {
      const double width = double(query.getDimSize(3));
      const double samples =
          queryElements / double(query.getDimSize(kTokens)) / width;
      const double values = double(
          cast<RankedTensorType>(op->getOperand(2).getType()).getDimSize(3));
      summedBytes = 4 * samples * (width + values + width * values);
    }
  }

  double secondsOfHeads() const {
    // Queries, keys, values and results, and the gradient of each.
    const double bytes = 4 * (queryElements + keyElements) * elementBytes;
    return 8 * link.seconds +
           bytes * (ranks - 1) / (ranks * ranks) / link.bytes;
  }

  double secondsOfRing() const {
    // With zigzag half of a block is seen, on every rank.
    const double block =
        flops / (ranks * ranks) / flopsPerSecond * (causal ? 0.5 : 1);
    const double turns = ranks - 1;
    // The backward multiplies five times where the forward does twice, and
    // hands the gradients on, too, each behind a block.
    const double forward = std::max(0.0, send(2) - block);
    const double backward = std::max(0.0, send(4) - 2.5 * block);
    // Smaller blocks and tokens in another order cost about as much as a turn
    // more: without it, two ranks of a CPU by a ring took longer than by heads
    // where this said less (tools/bench/README.md).
    return turns * (forward + backward + secondsOfSums()) + send(2) +
           secondsOfBlind() + secondsOfLevels();
  }

private:
  /// The seconds of a turn of so many values, each as large as a rank's keys.
  double send(int values) const {
    return values * (link.seconds + handedOnBytes / ranks / link.bytes);
  }

  /// A block's results are added to those before: two read, one written, in
  /// float32. So are the gradients of queries; those of keys twice as many.
  double secondsOfSums() const {
    const double elements = 2 * queryElements + 2 * keyElements;
    return 3 * 4 * elements / ranks / memoryBytes;
  }

  /// The means of all keys and of all values, and the sum of their products, go
  /// to all ranks, and so do the gradients of these.
  double secondsOfBlind() const {
    if (summedBytes == 0)
      return 0;
    return 2 * (3 * link.seconds +
                2 * summedBytes * (ranks - 1) / ranks / link.bytes);
  }

  /// A rank's own block has a mask of its queries and keys, which is written
  /// and read in both passes.
  double secondsOfLevels() const {
    return 4 * levelledBytes / (ranks * ranks) / memoryBytes;
  }

  const double flopsPerSecond, memoryBytes; // of memory, a second
  const LinkRates link;                     // between ranks of sp
  double summedBytes = 0;                   // for queries that see no key
  double levelledBytes = 0;                 // a mask of all queries and keys
  double ranks, elementBytes, queryElements, keyElements, flops, handedOnBytes;
  bool causal;
};

} // namespace

ExchangeSeconds estimateExchange(Operation *op, const AttentionParts &parts,
                                 bool comesApart) {
  Attention attention(op, parts, comesApart && hasMaskOfQueries(op));
  return {attention.secondsOfHeads(), attention.secondsOfRing()};
}

bool prefersHeads(Operation *op, const AttentionParts &parts, bool comesApart) {
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  if (type.getDimSize(kHeads) % (parts.tokens * parts.heads) != 0)
    return false;
  if (!(comesApart ? hasKeysOfQueries(op) : canGoRound(op)))
    return true;
  const ExchangeSeconds seconds = estimateExchange(op, parts, comesApart);
  return seconds.heads <= seconds.ring;
}

} // namespace zc
