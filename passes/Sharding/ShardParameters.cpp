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
#include "passes/Sharding/HandShardings.h"
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

/// Where an annotation leads: a set of dims that it divides.
struct Origin {
  DimClass *dims;
  Axes axes;
  std::string why;
  double score;
};

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
    if (!program)
      return;
    active = findActive(program, getOperation());
    classes = findDimClasses(program);
    if (failed(divideByHand()))
      return signalPassFailure();
    number = mesh.findAxis(axis);
    if (automatic && number >= 0 && mesh.getSizes()[number] > 1)
      divideByCost();
    write();
  }

private:
  //===--------------------------------------------------------------------===//
  // Sets of dims
  //===--------------------------------------------------------------------===//

  StateOp stateOf(Value argument) {
    FlatSymbolRefAttr symbol =
        isa<BlockArgument>(argument) ? zc::stateOf(argument) : nullptr;
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

  bool isBatch(const DimOf &dim) {
    auto argument = dyn_cast<BlockArgument>(dim.value);
    auto batch = argument ? program.getArgAttrOfType<IntegerAttr>(
                                argument.getArgNumber(), kBatchDimAttr)
                          : IntegerAttr();
    return batch && batch.getInt() == dim.dim;
  }

  bool isBatch(const DimClass &dims) {
    return llvm::any_of(dims.dims,
                        [&](const DimOf &dim) { return isBatch(dim); });
  }

  /// The size of a loop that does not divide; 0: all do.
  static int64_t findRemainder(const DimClass &dims, int64_t ranks) {
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

  DimClass *findClass(const DimOf &dim) {
    for (DimClass &each : classes)
      if (llvm::is_contained(each.dims, dim))
        return &each;
    return nullptr;
  }

  //===--------------------------------------------------------------------===//
  // By hand
  //===--------------------------------------------------------------------===//

  LogicalResult divideByHand() {
    SmallVector<HandSharding> all;
    if (failed(parseHandShardings(shard, false, "--shard", mesh, getOperation(),
                                  all)) ||
        failed(parseHandShardings(patterns, true, "--tp-rules", mesh,
                                  getOperation(), all)))
      return failure();
    SmallVector<Origin> origins;
    for (const HandSharding &each : all)
      if (failed(annotate(each, origins)))
        return failure();
    // Where two lead to one tensor, the one that saves more.
    llvm::stable_sort(origins, [](const Origin &a, const Origin &b) {
      return a.score > b.score;
    });
    for (const Origin &origin : origins)
      for (int axis : origin.axes)
        divideAll(*origin.dims, axis, origin.why);
    return success();
  }

  LogicalResult annotate(const HandSharding &hand,
                         SmallVectorImpl<Origin> &origins) {
    bool found = false;
    for (BlockArgument argument : program.getArguments()) {
      StringRef name = nameOf(argument);
      if (name.empty() || (!hand.matches(name) && !isAlias(argument, hand)))
        continue;
      found = true;
      if (!byHand.contains(argument) &&
          failed(annotateArgument(argument, name, hand, origins)))
        return failure();
    }
    if (!found && !hand.isPattern)
      return program.emitError()
             << hand.why << ": there is no parameter and no input '"
             << hand.name << "'";
    return success();
  }

  bool isAlias(BlockArgument argument, const HandSharding &hand) {
    StateOp state = stateOf(argument);
    return state && state.getAliases() &&
           llvm::any_of(state.getAliases()->getAsRange<StringAttr>(),
                        [&](StringAttr name) { return hand.matches(name); });
  }

  LogicalResult annotateArgument(BlockArgument argument, StringRef name,
                                 const HandSharding &hand,
                                 SmallVectorImpl<Origin> &origins) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (type.getRank() != static_cast<int64_t>(hand.dims.size())) {
      if (hand.isPattern)
        return success(); // a bias beside its weight
      return program.emitError()
             << hand.why << ": '" << name << "' has " << type.getRank()
             << " dims, found " << hand.dims.size();
    }
    byHand.insert(argument);
    for (auto [dim, axes] : llvm::enumerate(hand.dims)) {
      DimOf each{argument, static_cast<int64_t>(dim)};
      // The mesh says how samples are divided.
      if (!axes.empty() && !isBatch(each) &&
          failed(annotateDim(each, axes, name, hand, origins)))
        return failure();
    }
    return success();
  }

  LogicalResult annotateDim(const DimOf &dim, const Axes &axes, StringRef name,
                            const HandSharding &hand,
                            SmallVectorImpl<Origin> &origins) {
    auto type = cast<RankedTensorType>(dim.value.getType());
    int64_t ranks = groupSize(axes, mesh), size = type.getDimSize(dim.dim);
    if (size % ranks != 0)
      return program.emitError()
             << hand.why << ": dim " << dim.dim << " of '" << name << "' has "
             << size << " elements, which do not divide among " << ranks
             << " ranks of "
             << llvm::join(axisNames(axes, mesh).getAsValueRange<StringAttr>(),
                           "+");
    for (int axis : axes) {
      if (StateOp state = stateOf(dim.value))
        assign(state, dim.dim, axis, hand.why);
      divided.insert({dim.value, axis});
    }
    DimClass *dims = findClass(dim);
    if (dims && dims->gathers.empty() && findRemainder(*dims, ranks) == 0 &&
        !isBatch(*dims))
      origins.push_back(
          {dims, axes,
           "propagated from '" + name.str() + "' (" + hand.why + ")",
           scoreOf(*dims)});
    return success();
  }

  //===--------------------------------------------------------------------===//
  // By rule
  //===--------------------------------------------------------------------===//

  void divideByCost() {
    int64_t ranks = mesh.getSizes()[number];
    SmallVector<std::pair<double, DimClass *>> order;
    SmallVector<std::pair<int64_t, DimClass *>> left;
    for (DimClass &each : classes) {
      if (!hasWeights(each) || !each.gathers.empty() || isBatch(each))
        continue;
      if (int64_t size = findRemainder(each, ranks))
        left.push_back({size, &each});
      else
        order.push_back({scoreOf(each), &each});
    }
    llvm::stable_sort(
        order, [](const auto &a, const auto &b) { return a.first > b.first; });
    for (auto &[score, each] : order)
      if (isFree(*each))
        divideAll(*each, number,
                  "rule auto: divided with " +
                      llvm::join(namesOf(*each), ", "));
    for (auto &[size, each] : left)
      if (isFree(*each))
        notes.push_back(axis + " leaves " + llvm::join(namesOf(*each), ", ") +
                        " whole: " + std::to_string(size) +
                        " does not divide among " + std::to_string(ranks) +
                        " ranks");
  }

  /// Whether no tensor of the set is divided otherwise already.
  bool isFree(const DimClass &dims) {
    return llvm::none_of(dims.dims, [&](const DimOf &dim) {
      return divided.contains({dim.value, number}) ||
             byHand.contains(dim.value);
    });
  }

  SmallVector<std::string> namesOf(const DimClass &dims) {
    SmallVector<std::string> names;
    for (const DimOf &each : dims.getArguments())
      if (StateOp state = stateOf(each.value))
        names.push_back(state.getSymName().str());
    return names;
  }

  //===--------------------------------------------------------------------===//
  // What was decided
  //===--------------------------------------------------------------------===//

  void divideAll(const DimClass &dims, int axis, const std::string &why) {
    ++numClasses;
    for (const DimOf &each : dims.dims)
      if (divided.insert({each.value, axis}).second &&
          !byHand.contains(each.value))
        if (StateOp state = stateOf(each.value))
          assign(state, each.dim, axis, why);
  }

  void assign(StateOp state, int64_t dim, int axis, const std::string &why) {
    auto [found, isNew] =
        layouts.insert({state, Layout::replicated(state.getTensorType())});
    if (found->second.divides(axis))
      return;
    found->second.dims[dim].push_back(axis);
    state->setAttr(dist::kWhyAttr, StringAttr::get(&getContext(), why));
  }

  void write() {
    for (auto &[state, layout] : layouts)
      state->setAttr(dist::kShardingAttr, layout.toAttr(mesh));
    if (notes.empty())
      return;
    Builder builder(&getContext());
    SmallVector<StringRef> texts(notes.begin(), notes.end());
    getOperation()->setAttr(dist::kNotesAttr, builder.getStrArrayAttr(texts));
  }

  dist::MeshAttr mesh;
  func::FuncOp program;
  int number = -1; // of the axis
  DenseSet<Value> active, byHand;
  DenseSet<std::pair<Value, int>> divided; // and over which axis
  SmallVector<DimClass> classes;
  llvm::MapVector<Operation *, Layout> layouts; // of states
  SmallVector<std::string> notes;
};

} // namespace
} // namespace zc
