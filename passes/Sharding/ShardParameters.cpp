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
#include "passes/Sharding/ParameterDivision.h"
#include "passes/Sharding/Passes.h"
#include "passes/Sharding/SharedHeads.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_SHARDPARAMETERSPASS
#include "passes/Sharding/Passes.h.inc"

namespace {

struct ShardParameters : public impl::ShardParametersPassBase<ShardParameters> {
  using ShardParametersPassBase::ShardParametersPassBase;

  void runOnOperation() override {
    division.mesh = dist::getMesh(getOperation());
    if (!division.mesh) {
      getOperation().emitError("has no dist.mesh; run --zc-annotate-mesh");
      return signalPassFailure();
    }
    division.program = getOperation().lookupSymbol<func::FuncOp>(kStepProgram);
    if (!division.program)
      division.program =
          getOperation().lookupSymbol<func::FuncOp>(kEvalProgram);
    if (!division.program)
      return;
    SmallVector<HandSharding> hands;
    if (failed(parseHandShardings(shard, false, "--shard", division.mesh,
                                  getOperation(), hands)) ||
        failed(parseHandShardings(patterns, true, "--tp-rules", division.mesh,
                                  getOperation(), hands)) ||
        failed(padByHand(division, hands)))
      return signalPassFailure();
    division.number = division.mesh.findAxis(axis);
    if (division.number >= 0 && division.mesh.getSizes()[division.number] > 1) {
      if (repeats)
        repeatSharedHeads();
      reorderBlockedDims();
    } else {
      automatic = false;
    }
    division.costs.emplace(division.program);
    division.classes = findDimClasses(division.program);
    LogicalResult decided = divideByHand(division, hands);
    if (succeeded(decided) && automatic)
      divideByCost(division);
    numClasses += division.numDivided;
    settleBlockedDims();
    settleSharedHeads();
    if (automatic)
      llvm::append_range(division.notes,
                         division.whole.write(
                             axis, division.mesh.getSizes()[division.number]));
    if (failed(decided))
      return signalPassFailure();
    write();
  }

private:
  //===--------------------------------------------------------------------===//
  // Blocks
  //===--------------------------------------------------------------------===//

  /// Reorders blocks as if all dims were divided, so classes pass splits.
  void reorderBlockedDims() {
    int64_t ranks = division.mesh.getSizes()[division.number];
    for (SmallVector<BlockedDim> &forms : findBlockedDims(division.program)) {
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
        auto found = division.layouts.find(findState(each.value));
        return found != division.layouts.end() &&
               found->second.dims[each.dim] == Axes{division.number};
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
      if (auto found =
              repeatHeads(each, division.mesh.getSizes()[division.number]);
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
        division.whole.repeatHeads(heads.heads, state.getSymName());
  }

  /// Whether a parameter of the class of a dim is divided.
  bool isDivided(ArrayRef<DimClass> all, const DimOf &dim) {
    const auto *dims = llvm::find_if(all, [&](const DimClass &each) {
      return llvm::is_contained(each.dims, dim);
    });
    return dims != all.end() &&
           llvm::any_of(dims->getArguments(), [&](const DimOf &each) {
             StateOp state = findState(each.value);
             auto found =
                 state ? division.layouts.find(state) : division.layouts.end();
             return found != division.layouts.end() &&
                    llvm::is_contained(found->second.dims[each.dim],
                                       division.number);
           });
  }

  //===--------------------------------------------------------------------===//
  // The result
  //===--------------------------------------------------------------------===//

  void write() {
    for (auto &[state, layout] : division.layouts)
      state->setAttr(dist::kShardingAttr, layout.toAttr(division.mesh));
    if (division.notes.empty())
      return;
    Builder builder(&getContext());
    SmallVector<StringRef> texts(division.notes.begin(), division.notes.end());
    getOperation()->setAttr(dist::kNotesAttr, builder.getStrArrayAttr(texts));
  }

  ParameterDivision division;
  SmallVector<SmallVector<BlockedDim>> blocked; // of each, by program
  SmallVector<std::pair<func::FuncOp, SmallVector<SharedHeads>>> shared;
  DenseSet<Operation *> separated; // states whose blocks are
};

} // namespace
} // namespace zc
