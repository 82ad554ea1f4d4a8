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
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Sharding/BlockedDims.h"
#include "passes/Sharding/ClassCosts.h"
#include "passes/Sharding/DimClasses.h"
#include "passes/Sharding/HandShardings.h"
#include "passes/Sharding/Layout.h"
#include "passes/Sharding/PadStates.h"
#include "passes/Sharding/Passes.h"
#include "passes/Sharding/SharedHeads.h"
#include "passes/Sharding/WholeNotes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_SHARDPARAMETERSPASS
#include "passes/Sharding/Passes.h.inc"

namespace {

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
    if (failed(parseHandShardings(shard, false, "--shard", mesh, getOperation(),
                                  hands)) ||
        failed(parseHandShardings(patterns, true, "--tp-rules", mesh,
                                  getOperation(), hands)) ||
        failed(padByHand()))
      return signalPassFailure();
    number = mesh.findAxis(axis);
    if (number >= 0 && mesh.getSizes()[number] > 1) {
      if (repeats)
        repeatSharedHeads();
      reorderBlockedDims();
    } else {
      automatic = false;
    }
    costs.emplace(program);
    classes = findDimClasses(program);
    LogicalResult decided = divideByHand();
    if (succeeded(decided) && automatic)
      divideByCost();
    settleBlockedDims();
    settleSharedHeads();
    if (automatic)
      llvm::append_range(notes, whole.write(axis, mesh.getSizes()[number]));
    if (failed(decided))
      return signalPassFailure();
    write();
  }

private:
  DimClass *findClass(const DimOf &dim) {
    for (DimClass &each : classes)
      if (llvm::is_contained(each.dims, dim))
        return &each;
    return nullptr;
  }

  //===--------------------------------------------------------------------===//
  // Blocks
  //===--------------------------------------------------------------------===//

  /// Reorders blocks as if all dims were divided, so classes pass splits.
  void reorderBlockedDims() {
    int64_t ranks = mesh.getSizes()[number];
    for (SmallVector<BlockedDim> &forms : findBlockedDims(program)) {
      if (hasSeparateBlocks(forms.front()) ||
          llvm::any_of(forms.front().sizes,
                       [&](int64_t size) { return size % ranks != 0; }))
        continue;
      for (BlockedDim &form : forms)
        reorderBlocks(form, ranks);
      blocked.push_back(std::move(forms));
    }
  }

  /// Whether its blocks are computed by themselves, for heads' sake.
  bool hasSeparateBlocks(const BlockedDim &dim) {
    return llvm::any_of(dim.states, [&](const DimOf &each) {
      return separated.contains(findState(each.value));
    });
  }

  /// Keeps the order of what is divided indeed.
  void settleBlockedDims() {
    for (SmallVector<BlockedDim> &forms : blocked) {
      bool divided = llvm::all_of(forms.front().states, [&](const DimOf &each) {
        auto found = layouts.find(findState(each.value));
        return found != layouts.end() &&
               found->second.dims[each.dim] == Axes{number};
      });
      if (divided)
        setBlocks(forms.front());
      for (BlockedDim &form : forms)
        divided ? keepBlocks(form) : restoreBlocks(form);
    }
  }

  void setBlocks(const BlockedDim &form) {
    Builder builder(&getContext());
    for (const DimOf &each : form.states) {
      StateOp state = findState(each.value);
      SmallVector<Attribute> dims(state.getTensorType().getRank(),
                                  builder.getDenseI64ArrayAttr({}));
      if (ArrayAttr before = state.getBlocksAttr())
        dims.assign(before.begin(), before.end());
      dims[each.dim] = builder.getDenseI64ArrayAttr(form.sizes);
      state.setBlocksAttr(builder.getArrayAttr(dims));
      std::string why;
      llvm::raw_string_ostream os(why);
      os << state.getWhy().value_or("") << "; of dim " << each.dim
         << " each of the blocks of ";
      llvm::interleaveComma(form.sizes, os);
      os << " by itself";
      state.setWhy(why);
    }
  }

  //===--------------------------------------------------------------------===//
  // Shared heads
  //===--------------------------------------------------------------------===//

  /// Repeats heads as if all were divided, in all programs.
  void repeatSharedHeads() {
    for (auto each : getOperation().getOps<func::FuncOp>())
      if (auto found = repeatHeads(each, mesh.getSizes()[number]);
          !found.empty())
        shared.push_back({each, std::move(found)});
    for (auto &[each, heads] : shared)
      for (const SharedHeads &one : heads)
        for (Value source : one.sources)
          if (!one.blocks.empty())
            separated.insert(findSourceState(source));
  }

  /// Keeps what is repeated where heads are divided indeed.
  void settleSharedHeads() {
    for (auto &[each, heads] : shared) {
      SmallVector<DimClass> found = findDimClasses(each);
      for (const SharedHeads &one : heads)
        if (isDivided(found, {one.repeated->getResult(0), one.dim}))
          noteRepeated(one);
        else
          restoreHeads(one);
      eraseDeadOps(each);
    }
  }

  void noteRepeated(const SharedHeads &heads) {
    for (Value source : heads.sources)
      if (StateOp state = findSourceState(source))
        whole.repeatHeads(heads.heads, state.getSymName());
  }

  /// Whether a parameter of the class of a dim is divided.
  bool isDivided(ArrayRef<DimClass> all, const DimOf &dim) {
    const auto *dims = llvm::find_if(all, [&](const DimClass &each) {
      return llvm::is_contained(each.dims, dim);
    });
    return dims != all.end() &&
           llvm::any_of(dims->getArguments(), [&](const DimOf &each) {
             StateOp state = findState(each.value);
             auto found = state ? layouts.find(state) : layouts.end();
             return found != layouts.end() &&
                    llvm::is_contained(found->second.dims[each.dim], number);
           });
  }

  //===--------------------------------------------------------------------===//
  // By hand
  //===--------------------------------------------------------------------===//

  /// Dims of states that are to be divided but not evenly get zeros behind.
  LogicalResult padByHand() {
    DenseSet<Value> seen;
    for (const HandSharding &hand : hands)
      for (BlockArgument argument : program.getArguments()) {
        StateOp state = stateOf(argument);
        size_t rank = cast<ShapedType>(argument.getType()).getRank();
        if (!state || rank != hand.dims.size() ||
            !(hand.matches(state.getSymName()) || isAlias(argument, hand)) ||
            !seen.insert(argument).second)
          continue;
        for (auto [dim, axes] : llvm::enumerate(hand.dims))
          if (failed(padDim(state, dim, axes, hand)))
            return failure();
      }
    return success();
  }

  LogicalResult padDim(StateOp state, int64_t dim, const Axes &axes,
                       const HandSharding &hand) {
    int64_t size = state.getTensorType().getDimSize(dim);
    int64_t ranks = groupSize(axes, mesh);
    if (size % ranks == 0)
      return success();
    int64_t padded = llvm::alignTo(size, ranks);
    if (Operation *op = padState(state, dim, padded))
      return complainOfRemainder(hand, dim, state.getSymName(), size, axes)
             << ", and " << op->getName()
             << " would not read zeros behind them as nothing";
    notes.push_back("dim " + std::to_string(dim) + " of " +
                    state.getSymName().str() + " has " + std::to_string(size) +
                    " elements and " + std::to_string(padded - size) +
                    " zeros behind them, to divide among " +
                    std::to_string(ranks) + " ranks");
    return success();
  }

  InFlightDiagnostic complainOfRemainder(const HandSharding &hand, int64_t dim,
                                         StringRef name, int64_t size,
                                         const Axes &axes) {
    return program.emitError()
           << hand.why << ": dim " << dim << " of '" << name << "' has " << size
           << " elements, which do not divide among " << groupSize(axes, mesh)
           << " ranks of "
           << llvm::join(axisNames(axes, mesh).getAsValueRange<StringAttr>(),
                         "+");
  }

  LogicalResult divideByHand() {
    SmallVector<Origin> origins;
    for (const HandSharding &each : hands)
      if (failed(annotate(each, origins)))
        return failure();
    // Where two lead to one tensor, the one that saves more.
    llvm::stable_sort(origins, [](const Origin &a, const Origin &b) {
      return a.score > b.score;
    });
    for (const Origin &origin : origins)
      for (int axis : origin.axes)
        divideAll(*origin.dims, axis, [&](StateOp) { return origin.why; });
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
    if (!found)
      return program.emitError()
             << hand.why << ": there is no parameter and no input "
             << (hand.pattern ? "like '" : "'") << hand.name << "'";
    return success();
  }

  /// One lookup for each argument: every rule asks for all of them.
  StateOp stateOf(BlockArgument argument) {
    auto [entry, isNew] = states.try_emplace(argument);
    if (isNew)
      entry->second = findState(argument);
    return entry->second;
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
      if (hand.pattern)
        return success(); // a bias beside its weight
      return program.emitError()
             << hand.why << ": '" << name << "' has " << type.getRank()
             << " dims, found " << hand.dims.size();
    }
    byHand.insert(argument);
    for (auto [dim, axes] : llvm::enumerate(hand.dims)) {
      DimOf each{argument, static_cast<int64_t>(dim)};
      // The mesh says how samples are divided.
      if (!axes.empty() && !costs->isBatch(each) &&
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
    if (size % ranks != 0) // of an input
      return complainOfRemainder(hand, dim.dim, name, size, axes);
    for (int axis : axes) {
      if (StateOp state = findState(dim.value))
        assign(state, dim.dim, axis, hand.why);
      divided.insert({dim.value, axis});
    }
    DimClass *dims = findClass(dim);
    if (dims && dims->gathers.empty() && findRemainder(*dims, ranks) == 0 &&
        !costs->isBatch(*dims))
      origins.push_back(
          {dims, axes,
           "propagated from '" + name.str() + "' (" + hand.why + ")",
           costs->gainOf(*dims).score()});
    return success();
  }

  //===--------------------------------------------------------------------===//
  // By rule
  //===--------------------------------------------------------------------===//

  void divideByCost() {
    int64_t ranks = mesh.getSizes()[number];
    SmallVector<Scored> order;
    SmallVector<std::pair<int64_t, DimClass *>> left;
    for (DimClass &each : classes) {
      if (!hasWeights(each) || !each.gathers.empty() || costs->isBatch(each) ||
          meetsItself(each))
        continue;
      if (int64_t size = findRemainder(each, ranks))
        left.push_back({size, &each});
      else
        order.push_back({costs->gainOf(each).score(), &each});
    }
    llvm::stable_sort(
        order, [](const auto &a, const auto &b) { return a.first > b.first; });
    for (auto [i, each] : llvm::enumerate(llvm::make_second_range(order)))
      if (isFree(*each) &&
          !isWorthLess(order[i], ArrayRef(order).drop_front(i)))
        divideAll(*each, number,
                  [&](StateOp state) { return explain(*each, state, ranks); });
    for (auto &[size, each] : left)
      whole.leave(size, namesOf(*each, /*whole=*/true));
  }

  using Scored = std::pair<double, DimClass *>;

  /// Whether sets of `lower` scores that could not be divided beside this one
  /// gain more together: the features that pass through all layers are one set,
  /// the dims inside of each layer a smaller one of its own.
  bool isWorthLess(const Scored &scored, ArrayRef<Scored> lower) {
    const auto &[score, dims] = scored;
    DenseSet<Value> own, taken;
    for (const DimOf &each : dims->dims)
      own.insert(each.value);
    double together = 0;
    for (auto [otherScore, other] : lower) {
      auto isIn = [&](const DenseSet<Value> &values) {
        return llvm::any_of(other->dims, [&](const DimOf &each) {
          return values.contains(each.value);
        });
      };
      if (other == dims || otherScore <= 0 || !isFree(*other) || !isIn(own) ||
          isIn(taken))
        continue;
      together += otherScore;
      for (const DimOf &each : other->dims)
        taken.insert(each.value);
    }
    return together > std::max(score, 0.0);
  }

  /// Why a state is divided with the others of a set.
  std::string explain(const DimClass &dims, StateOp state, int64_t ranks) {
    SmallVector<std::string> others = namesOf(dims);
    llvm::erase(others, state.getSymName());
    const ClassGain gain = costs->gainOf(dims);
    std::string why;
    llvm::raw_string_ostream os(why);
    os << "rule auto: "
       << (others.empty() ? "alone" : "with " + llvm::join(others, ", "))
       << llvm::format("; leaves a rank %.4g of %.4g MFLOP of the forward",
                       gain.flops / ranks / 1e6, gain.flops / 1e6)
       << llvm::format(", for sums of %.4g MB", gain.sent / 1e6);
    return why;
  }

  /// Whether no tensor of the set is divided otherwise already.
  bool isFree(const DimClass &dims) {
    return llvm::none_of(dims.dims, [&](const DimOf &dim) {
      return divided.contains({dim.value, number}) ||
             byHand.contains(dim.value);
    });
  }

  /// The states; with `whole`, those that nothing divides.
  SmallVector<std::string> namesOf(const DimClass &dims, bool whole = false) {
    SmallVector<std::string> names;
    for (const DimOf &each : dims.getArguments())
      if (StateOp state = findState(each.value);
          state && !(whole && (divided.contains({each.value, number}) ||
                               byHand.contains(each.value))))
        names.push_back(state.getSymName().str());
    return names;
  }

  //===--------------------------------------------------------------------===//
  // The result
  //===--------------------------------------------------------------------===//

  void divideAll(const DimClass &dims, int axis,
                 llvm::function_ref<std::string(StateOp)> why) {
    ++numClasses;
    for (const DimOf &each : dims.dims)
      if (divided.insert({each.value, axis}).second &&
          !byHand.contains(each.value))
        if (StateOp state = findState(each.value))
          assign(state, each.dim, axis, why(state));
  }

  void assign(StateOp state, int64_t dim, int axis, const std::string &why) {
    auto before = state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
    auto [found, isNew] = layouts.insert(
        {state, before ? Layout::from(before, mesh)
                       : Layout::replicated(state.getTensorType())});
    if (found->second.divides(axis))
      return;
    found->second.dims[dim].push_back(axis);
    state.setWhy(why);
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
  std::optional<ClassCosts> costs;
  DenseSet<Value> byHand;
  DenseSet<std::pair<Value, int>> divided; // and over which axis
  SmallVector<HandSharding> hands;
  DenseMap<Value, StateOp> states; // of arguments, once asked for
  SmallVector<DimClass> classes;
  SmallVector<SmallVector<BlockedDim>> blocked; // of each, by program
  SmallVector<std::pair<func::FuncOp, SmallVector<SharedHeads>>> shared;
  DenseSet<Operation *> separated; // states whose blocks are
  WholeNotes whole;
  llvm::MapVector<Operation *, Layout> layouts; // of states
  SmallVector<std::string> notes;
};

} // namespace
} // namespace zc
