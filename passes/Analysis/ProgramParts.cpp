//===- ProgramParts.cpp - which program of a role an op ends up in --------===//
#include "passes/Analysis/ProgramParts.h"

#include "dialects/Train/StateLookup.h"
#include "passes/Analysis/ForwardOps.h"
#include "passes/Analysis/Messages.h"

#include <algorithm>

using namespace mlir;
using namespace zc::train;

namespace zc {

int64_t countChunks(Operation *role) {
  auto chunks = role->getAttrOfType<IntegerAttr>(kChunksAttr);
  return chunks ? chunks.getInt() : 1;
}

uint32_t getReshardEvery(Operation *role) {
  auto every = role->getAttrOfType<IntegerAttr>(kReshardEveryAttr);
  return every ? uint32_t(every.getInt()) : 0;
}

ProgramParts::ProgramParts(func::FuncOp program, bool hasBackward)
    : program(program), hasBackward(hasBackward),
      chunks(countChunks(program->getParentOp())),
      splitsWeights(hasBackward &&
                    program->getParentOp()->hasAttr(kSplitsWeightsAttr)) {
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    parts.push_back({PartKind::Forward, chunk});
  for (int64_t chunk = chunks; hasBackward && chunk-- > 0;) {
    parts.push_back({PartKind::Backward, chunk});
    if (splitsWeights)
      parts.push_back({PartKind::Weights, chunk});
  }
  Block &block = program.getBody().front();
  for (Operation &op : block) {
    unsigned first = 0;
    for (Value operand : op.getOperands())
      first = std::max(first, firstPartOf(operand));
    earliest[&op] = first;
  }
  for (unsigned result = 0; result < program.getNumResults(); ++result)
    if (isOfLoss(result))
      ofLoss = std::max(ofLoss,
                        firstPartOf(block.getTerminator()->getOperand(result)));
  const unsigned last = parts.size() - 1;
  for (Operation &op : block.without_terminator())
    ofOps[&op] = last;
  for (unsigned result = 0; result < program.getNumResults(); ++result) {
    ofResults.push_back(place(result));
    Operation *op = block.getTerminator()->getOperand(result).getDefiningOp();
    if (op && ofResults.back() < earliest[op])
      tooEarly = result;
    if (op)
      ofOps[op] = std::min(ofOps[op], ofResults.back());
  }
  for (Operation &op : llvm::reverse(block.without_terminator()))
    for (Value operand : op.getOperands())
      if (Operation *source = operand.getDefiningOp())
        ofOps[source] = std::min(ofOps[source], ofOps[&op]);
}

unsigned ProgramParts::find(PartKind kind, int64_t chunk) const {
  auto found = llvm::find_if(parts, [&](const ProgramPart &part) {
    return part.kind == kind && part.chunk == chunk;
  });
  return found - parts.begin();
}

/// In which a value can be there.
unsigned ProgramParts::firstPartOf(Value value) {
  if (Operation *op = value.getDefiningOp())
    return earliest.lookup(op);
  auto end = getReceived(program, cast<BlockArgument>(value).getArgNumber());
  if (!end)
    return 0;
  return find(end->isGradient ? PartKind::Backward : PartKind::Forward,
              std::min(end->chunk, chunks - 1));
}

/// Metrics and outputs come together: where labels alone are counted, too.
bool ProgramParts::isOfLoss(unsigned result) {
  if (getSent(program, result))
    return false;
  for (StringRef name : {kMetricAttr, kOutputAttr})
    if (program.getResultAttr(result, name))
      return true;
  StateOp state = findState(program, program.getResultAttr(result, kStateAttr));
  return state && state.getKind() == kAccumulator &&
         !isGradientSum(program, result);
}

unsigned ProgramParts::place(unsigned result) {
  if (auto end = getSent(program, result))
    return find(end->isGradient ? PartKind::Backward : PartKind::Forward,
                std::min(end->chunk, chunks - 1));
  Value value = program.getBody().front().getTerminator()->getOperand(result);
  unsigned first = firstPartOf(value);
  if (isOfLoss(result))
    return ofLoss;
  if (!hasBackward || !isGradientSum(program, result))
    return first;
  // The last stage's backward begins with what its forward has computed.
  first = std::max(first, unsigned(chunks));
  return splitsWeights ? find(PartKind::Weights, parts[first].chunk) : first;
}

} // namespace zc
