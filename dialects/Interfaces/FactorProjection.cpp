//===- FactorProjection.cpp - the factors of a whole program --------------===//
#include "dialects/Interfaces/FactorProjection.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace zc {

llvm::SmallVector<RuleDim> listDims(const ShardingRule &rule) {
  llvm::SmallVector<RuleDim> all;
  for (bool isResult : {false, true})
    for (auto [tensor, loops] :
         llvm::enumerate(isResult ? rule.resultDims : rule.operandDims))
      for (auto [dim, loop] : llvm::enumerate(loops))
        all.push_back({isResult, static_cast<unsigned>(tensor),
                       static_cast<unsigned>(dim), loop});
  return all;
}

int FactorProjection::addNode(const ProgramFactor &alone) {
  const int node = static_cast<int>(factors.size());
  factors.push_back(alone);
  classes.grow(factors.size());
  return node;
}

void FactorProjection::tie(int a, int b) {
  const unsigned leaderA = classes.findLeader(a);
  const unsigned leaderB = classes.findLeader(b);
  if (leaderA == leaderB)
    return;
  const ProgramFactor one = factors[leaderA], other = factors[leaderB];
  // Given the nodes, and not their leaders, join() shortens their paths.
  factors[classes.join(a, b)] = {std::min(one.size, other.size),
                                 one.isWhole || other.isWhole,
                                 one.isSlowestPart || other.isSlowestPart,
                                 one.isReduced || other.isReduced};
}

int FactorProjection::addDim(int64_t size) {
  ProgramFactor alone;
  alone.size = size;
  dims.push_back({addNode(alone), size});
  return static_cast<int>(dims.size()) - 1;
}

int FactorProjection::addOp(const ShardingRule &rule,
                            llvm::ArrayRef<Dims> operands,
                            llvm::ArrayRef<Dims> results) {
  const int op = static_cast<int>(loopNodes.size());
  loopNodes.emplace_back();
  for (const Factor &loop : rule.factors) {
    ProgramFactor alone;
    alone.size = loop.size;
    alone.isReduced = loop.kind != FactorKind::Parallel;
    loopNodes.back().push_back(addNode(alone));
  }
  for (const RuleDim &each : listDims(rule)) {
    const int dim = (each.isResult ? results : operands)[each.tensor][each.dim];
    if (dim == kFree)
      continue;
    ProgramFactor &mine = factors[factorOfDim(dim)];
    if (each.isWhole()) {
      mine.isWhole = true;
      wholeDims.push_back({dim, op, each});
      continue;
    }
    mine.isSlowestPart |= dims[dim].size != rule.factors[each.loop].size;
    tie(dims[dim].node, loopNodes.back()[each.loop]);
  }
  return op;
}

int FactorProjection::factorOfDim(int dim) const {
  return static_cast<int>(classes.findLeader(dims[dim].node));
}

int FactorProjection::factorOfLoop(int op, int loop) const {
  return static_cast<int>(classes.findLeader(loopNodes[op][loop]));
}

} // namespace zc
