//===- DimClasses.cpp - dims of a program that are divided together -------===//
#include "passes/Sharding/DimClasses.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Analysis/ValueFactors.h"

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

/// Ties the dims of a program, and lists each factor's in the program's order.
class ClassFinder {
public:
  ClassFinder(func::FuncOp program, const WholeFactors &whole)
      : block(program.getBody().front()), whole(whole) {}

  SmallVector<DimClass> run() {
    for (BlockArgument argument : block.getArguments())
      factors.name(argument);
    const DenseSet<Operation *> dead = findDead();
    for (Operation &op : block.without_terminator())
      if (isa<ShardableOpInterface>(op) && !dead.contains(&op))
        add(&op);
    collectDims();
    collectLoops();
    collectGathers();
    return llvm::map_to_vector(
        classes, [](auto &entry) { return std::move(entry.second); });
  }

private:
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

  /// Whether each reader may have its own part of the dim.
  static bool isFree(Value value, int64_t dim) {
    auto cost = value.getDefiningOp<CostOpInterface>();
    return cost && cost.getFlops() == 0 && isRepeatedAlong({value, dim});
  }

  ShardingRule getRule(Operation *op) const {
    ShardingRule rule = cast<ShardableOpInterface>(op).getFinerRule();
    if (auto found = whole.find(op); found != whole.end())
      for (int factor : found->second)
        makeWhole(rule, factor);
    return rule;
  }

  void add(Operation *op) {
    const ShardingRule rule = getRule(op);
    factors.add(op, rule, isFree);
    ops.push_back({op, static_cast<int>(rule.factors.size())});
  }

  void collectDims() {
    for (const auto &[value, dims] : factors.getValues())
      for (int64_t dim = 0, rank = dims.size(); dim < rank; ++dim)
        classes[factors.factorOf(value, dim)].dims.push_back({value, dim});
  }

  void collectLoops() {
    const FactorProjection &projection = factors.getProjection();
    for (auto [number, added] : llvm::enumerate(ops))
      for (int loop = 0; loop < added.loops; ++loop)
        classes[projection.factorOfLoop(number, loop)].factors.push_back(
            {added.op, loop});
  }

  void collectGathers() {
    const FactorProjection &projection = factors.getProjection();
    for (const FactorProjection::WholeDim &each : projection.getWholeDims())
      if (!each.place.isResult)
        classes[projection.factorOfDim(each.dim)].gathers.push_back(
            &ops[each.op].op->getOpOperand(each.place.tensor));
  }

  struct AddedOp {
    Operation *op;
    int loops;
  };

  Block &block;
  const WholeFactors &whole;
  ValueFactors factors;
  SmallVector<AddedOp> ops; // as the projection numbers them
  llvm::MapVector<int, DimClass> classes;
};

} // namespace

SmallVector<DimClass> findDimClasses(func::FuncOp program,
                                     const WholeFactors &whole) {
  return ClassFinder(program, whole).run();
}

} // namespace zc
