//===- ShardParameters.cpp - --zc-shard-parameters ------------------------===//
//
// Tensor parallelism is a choice of dims. The ops' sharding rules tie dims
// together in classes (DimClasses.h); dividing a class costs a sum where an op
// contracts over it, and in the backward one of the gradient of what is read
// whole. The features between two linear layers, with the columns of the first
// and the rows of the second, are such a class, and an attention's heads; so
// are the words of a vocabulary. Classes that would have to be gathered
// somewhere, as everything that a normalisation reads, are left whole.
//
//===----------------------------------------------------------------------===//
#include "passes/Autodiff/ProgramBuilder.h"
#include "passes/Sharding/DimClasses.h"
#include "passes/Sharding/Layout.h"
#include "passes/Sharding/Passes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_SHARDPARAMETERSPASS
#include "passes/Sharding/Passes.h.inc"

namespace {

/// Operations that a rank does while it sends a byte.
constexpr double kFlopsPerByte = 50;

double bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return double(type.getNumElements()) * type.getElementTypeBitWidth() / 8;
}

/// Values that a gradient reaches on its way to a parameter.
DenseSet<Value> findActive(func::FuncOp program, ModuleOp module) {
  DenseSet<Value> active;
  for (BlockArgument argument : program.getArguments())
    if (FlatSymbolRefAttr symbol = stateOf(argument))
      if (auto state = module.lookupSymbol<StateOp>(symbol);
          state && state.getKind() == kParameter)
        active.insert(argument);
  for (Operation &op : program.getBody().front())
    if (llvm::any_of(op.getOperands(),
                     [&](Value operand) { return active.contains(operand); }))
      for (Value result : op.getResults())
        if (isa<FloatType>(getElementTypeOrSelf(result)))
          active.insert(result);
  return active;
}

struct ShardParameters : public impl::ShardParametersPassBase<ShardParameters> {
  using ShardParametersPassBase::ShardParametersPassBase;

  void runOnOperation() override {
    mesh = dist::getMesh(getOperation());
    if (!mesh) {
      getOperation().emitError("has no dist.mesh; run --zc-annotate-mesh");
      return signalPassFailure();
    }
    program = getOperation().lookupSymbol<func::FuncOp>(kStepProgram);
    if (!program)
      program = getOperation().lookupSymbol<func::FuncOp>(kEvalProgram);
    number = mesh.findAxis(axis);
    if (!program || number < 0 || mesh.getSizes()[number] == 1)
      return;
    active = findActive(program, getOperation());
    classes = findDimClasses(program);
    divideByCost();
  }

private:
  StateOp stateOf(Value argument) {
    FlatSymbolRefAttr symbol = zc::stateOf(argument);
    return symbol ? getOperation().lookupSymbol<StateOp>(symbol) : StateOp();
  }

  /// A matrix of weights, or more.
  bool hasWeights(const DimClass &dims) {
    return llvm::any_of(dims.getArguments(), [&](const DimOf &each) {
      StateOp state = stateOf(each.value);
      return state && state.getTensorType().getRank() >= 2 &&
             isa<FloatType>(state.getTensorType().getElementType());
    });
  }

  bool isBatch(const DimClass &dims) {
    return llvm::any_of(dims.getArguments(), [&](const DimOf &each) {
      auto dim = program.getArgAttrOfType<IntegerAttr>(
          cast<BlockArgument>(each.value).getArgNumber(), kBatchDimAttr);
      return dim && dim.getInt() == each.dim;
    });
  }

  /// The size of a loop or dim that does not divide; 0: all do.
  int64_t findRemainder(const DimClass &dims) {
    int64_t ranks = mesh.getSizes()[number];
    for (const FactorUse &use : dims.factors) {
      int64_t size = cast<ShardableOpInterface>(use.op)
                         .getFinerRule()
                         .factors[use.factor]
                         .size;
      if (size % ranks != 0)
        return size;
    }
    return 0;
  }

  /// What dividing saves, less what is sent for it, in operations.
  double scoreOf(const DimClass &dims) {
    double flops = 0, sent = 0;
    DenseSet<Value> summed;
    for (const FactorUse &use : dims.factors) {
      if (auto cost = dyn_cast<CostOpInterface>(use.op))
        flops += cost.getFlops();
      ShardingRule rule = cast<ShardableOpInterface>(use.op).getFinerRule();
      if (rule.factors[use.factor].kind == FactorKind::Sum)
        for (Value result : use.op->getResults())
          sent += bytesOf(result);
      for (auto [operand, dims] :
           llvm::zip(use.op->getOperands(), rule.operandDims))
        if (active.contains(operand) && !llvm::is_contained(dims, use.factor) &&
            summed.insert(operand).second)
          sent += bytesOf(operand);
    }
    return flops - kFlopsPerByte * sent;
  }

  void divideByCost() {
    SmallVector<std::pair<double, DimClass *>> order;
    for (DimClass &each : classes) {
      if (!hasWeights(each) || isBatch(each) || !each.gathers.empty())
        continue;
      if (int64_t size = findRemainder(each)) {
        note(each, size);
        continue;
      }
      order.push_back({scoreOf(each), &each});
    }
    llvm::stable_sort(
        order, [](const auto &a, const auto &b) { return a.first > b.first; });
    for (auto &[score, each] : order)
      if (llvm::none_of(each->dims, [&](const DimOf &dim) {
            return divided.contains(dim.value);
          }))
        divide(*each);
  }

  SmallVector<std::string> namesOf(const DimClass &dims) {
    SmallVector<std::string> names;
    for (const DimOf &each : dims.getArguments())
      if (StateOp state = stateOf(each.value))
        names.push_back(state.getSymName().str());
    return names;
  }

  void note(const DimClass &dims, int64_t size) {
    (void)size;
    (void)dims;
  }

  void divide(const DimClass &dims) {
    for (const DimOf &each : dims.dims)
      divided.insert(each.value);
    ++numClasses;
    std::string why =
        "rule auto: divided with " + llvm::join(namesOf(dims), ", ");
    for (const DimOf &each : dims.getArguments()) {
      StateOp state = stateOf(each.value);
      if (!state)
        continue;
      Layout layout = Layout::replicated(state.getTensorType());
      layout.dims[each.dim].push_back(number);
      state->setAttr(dist::kShardingAttr, layout.toAttr(mesh));
      state->setAttr(dist::kWhyAttr, StringAttr::get(&getContext(), why));
    }
  }

  dist::MeshAttr mesh;
  func::FuncOp program;
  int number = -1; // of the axis
  DenseSet<Value> active, divided;
  SmallVector<DimClass> classes;
};

} // namespace
} // namespace zc
