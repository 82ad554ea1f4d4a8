//===- DimClasses.cpp - dims of a program that are divided together -------===//
#include "passes/Sharding/DimClasses.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace zc {

bool DimClass::contains(Value value) const {
  return llvm::any_of(dims,
                      [&](const DimOf &each) { return each.value == value; });
}

SmallVector<DimOf> DimClass::getArguments() const {
  SmallVector<DimOf> arguments;
  for (const DimOf &each : dims)
    if (isa<BlockArgument>(each.value))
      arguments.push_back(each);
  return arguments;
}

bool isRepeatedAlong(DimOf dim) {
  auto op = dim.value.getDefiningOp<ShardableOpInterface>();
  if (!op)
    return false;
  ShardingRule rule = op.getShardingRule();
  int factor =
      rule.resultDims[cast<OpResult>(dim.value).getResultNumber()][dim.dim];
  return factor != ShardingRule::kWhole &&
         llvm::none_of(rule.operandDims, [&](const auto &dims) {
           return llvm::is_contained(dims, factor);
         });
}

void makeWhole(ShardingRule &rule, int factor) {
  for (auto *lists : {&rule.operandDims, &rule.resultDims})
    for (auto &dims : *lists)
      llvm::replace(dims, factor, ShardingRule::kWhole);
}

namespace {

/// Numbers for dims and factors, and which of them belong together.
class ClassFinder {
public:
  ClassFinder(func::FuncOp program, const WholeFactors &whole)
      : block(program.getBody().front()), whole(whole) {}

  SmallVector<DimClass> run() {
    for (BlockArgument argument : block.getArguments())
      for (int64_t dim = 0; dim < rankOf(argument); ++dim)
        numberOf({argument, dim});
    const DenseSet<Operation *> dead = findDead();
    for (Operation &op : block.without_terminator())
      if (isa<ShardableOpInterface>(op) && !dead.contains(&op))
        visit(&op);
    return collect();
  }

private:
  static int64_t rankOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getRank();
  }

  /// Ops that nobody reads, or such ops alone.
  DenseSet<Operation *> findDead() {
    DenseSet<Operation *> dead;
    for (Operation &op : llvm::reverse(block.without_terminator()))
      if (wouldOpBeTriviallyDead(&op) &&
          llvm::all_of(op.getUsers(),
                       [&](Operation *user) { return dead.contains(user); }))
        dead.insert(&op);
    return dead;
  }

  int makeNumber() {
    parents.push_back(static_cast<int>(parents.size()));
    return parents.back();
  }

  int numberOf(DimOf dim) {
    auto [found, isNew] = numbers.try_emplace(dim, 0);
    if (isNew)
      found->second = makeNumber();
    return found->second;
  }

  int findRoot(int number) {
    while (parents[number] != number)
      number = parents[number] = parents[parents[number]];
    return number;
  }

  // The smaller number leads, so that classes keep the program's order.
  void join(int a, int b) {
    a = findRoot(a);
    b = findRoot(b);
    parents[std::max(a, b)] = std::min(a, b);
  }

  /// Whether each reader may have its own part of the dim.
  bool isFree(DimOf dim) {
    auto cost = dim.value.getDefiningOp<CostOpInterface>();
    return cost && cost.getFlops() == 0 && isRepeatedAlong(dim);
  }

  ShardingRule getRule(Operation *op) const {
    ShardingRule rule = cast<ShardableOpInterface>(op).getFinerRule();
    if (auto found = whole.find(op); found != whole.end())
      for (int factor : found->second)
        makeWhole(rule, factor);
    return rule;
  }

  void visit(Operation *op) {
    ShardingRule rule = getRule(op);
    SmallVector<int> nodes;
    for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
      nodes.push_back(makeNumber());
      factors.push_back({nodes.back(), {op, static_cast<int>(factor)}});
    }
    for (auto [operand, dims] :
         llvm::zip(op->getOpOperands(), rule.operandDims))
      for (auto [dim, factor] : llvm::enumerate(dims)) {
        DimOf each{operand.get(), static_cast<int64_t>(dim)};
        if (isFree(each))
          continue;
        int number = numberOf(each);
        if (factor == ShardingRule::kWhole)
          gathers.push_back({number, &operand});
        else
          join(number, nodes[factor]);
      }
    for (auto [result, dims] : llvm::zip(op->getResults(), rule.resultDims))
      for (auto [dim, factor] : llvm::enumerate(dims)) {
        int number = numberOf({result, static_cast<int64_t>(dim)});
        if (factor != ShardingRule::kWhole)
          join(number, nodes[factor]);
      }
  }

  SmallVector<DimClass> collect() {
    llvm::MapVector<int, DimClass> classes;
    for (auto &[dim, number] : numbers)
      classes[findRoot(number)].dims.push_back(dim);
    for (auto &[number, use] : factors)
      classes[findRoot(number)].factors.push_back(use);
    for (auto &[number, operand] : gathers)
      classes[findRoot(number)].gathers.push_back(operand);
    return llvm::map_to_vector(
        classes, [](auto &entry) { return std::move(entry.second); });
  }

  Block &block;
  const WholeFactors &whole;
  SmallVector<int> parents;
  llvm::MapVector<DimOf, int> numbers;
  SmallVector<std::pair<int, FactorUse>> factors;
  SmallVector<std::pair<int, OpOperand *>> gathers;
};

} // namespace

SmallVector<DimClass> findDimClasses(func::FuncOp program,
                                     const WholeFactors &whole) {
  return ClassFinder(program, whole).run();
}

} // namespace zc
