//===- DivideByHand.cpp - parameters that a user divides ------------------===//
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Sharding/PadStates.h"
#include "passes/Sharding/ParameterDivision.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

/// An annotation leads to a set of dims that it divides.
struct Origin {
  DimClass *dims;
  Axes axes;
  std::string why;
  double score;
};

class HandDivision {
public:
  HandDivision(ParameterDivision &division, ArrayRef<HandSharding> hands)
      : division(division), hands(hands) {}

  /// Dims of states that are to be divided but not evenly get zeros behind.
  LogicalResult pad() {
    DenseSet<Value> seen;
    for (const HandSharding &hand : hands)
      for (BlockArgument argument : division.program.getArguments()) {
        StateOp state = division.stateOf(argument);
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

  LogicalResult divide() {
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
        division.divideAll(*origin.dims, axis,
                           [&](StateOp) { return origin.why; });
    return success();
  }

private:
  LogicalResult padDim(StateOp state, int64_t dim, const Axes &axes,
                       const HandSharding &hand) {
    int64_t size = state.getTensorType().getDimSize(dim);
    int64_t ranks = groupSize(axes, division.mesh);
    if (size % ranks == 0)
      return success();
    int64_t padded = llvm::alignTo(size, ranks);
    if (Operation *op = padState(state, dim, padded))
      return complainOfRemainder(hand, dim, state.getSymName(), size, axes)
             << ", and " << op->getName()
             << " would not read zeros behind them as nothing";
    division.notes.push_back(
        "dim " + std::to_string(dim) + " of " + state.getSymName().str() +
        " has " + std::to_string(size) + " elements and " +
        std::to_string(padded - size) + " zeros behind them, to divide among " +
        std::to_string(ranks) + " ranks");
    return success();
  }

  InFlightDiagnostic complainOfRemainder(const HandSharding &hand, int64_t dim,
                                         StringRef name, int64_t size,
                                         const Axes &axes) {
    return division.program.emitError()
           << hand.why << ": dim " << dim << " of '" << name << "' has " << size
           << " elements, which do not divide among "
           << groupSize(axes, division.mesh) << " ranks of "
           << llvm::join(
                  axisNames(axes, division.mesh).getAsValueRange<StringAttr>(),
                  "+");
  }

  LogicalResult annotate(const HandSharding &hand,
                         SmallVectorImpl<Origin> &origins) {
    bool found = false;
    for (BlockArgument argument : division.program.getArguments()) {
      StringRef name = nameOf(argument);
      if (name.empty() || (!hand.matches(name) && !isAlias(argument, hand)))
        continue;
      found = true;
      if (!division.byHand.contains(argument) &&
          failed(annotateArgument(argument, name, hand, origins)))
        return failure();
    }
    if (!found)
      return division.program.emitError()
             << hand.why << ": there is no parameter and no input "
             << (hand.pattern ? "like '" : "'") << hand.name << "'";
    return success();
  }

  bool isAlias(BlockArgument argument, const HandSharding &hand) {
    StateOp state = division.stateOf(argument);
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
      return division.program.emitError()
             << hand.why << ": '" << name << "' has " << type.getRank()
             << " dims, found " << hand.dims.size();
    }
    division.byHand.insert(argument);
    for (auto [dim, axes] : llvm::enumerate(hand.dims)) {
      DimOf each{argument, static_cast<int64_t>(dim)};
      // The mesh says how samples are divided.
      if (!axes.empty() && !division.costs->isBatch(each) &&
          failed(annotateDim(each, axes, name, hand, origins)))
        return failure();
    }
    return success();
  }

  LogicalResult annotateDim(const DimOf &dim, const Axes &axes, StringRef name,
                            const HandSharding &hand,
                            SmallVectorImpl<Origin> &origins) {
    auto type = cast<RankedTensorType>(dim.value.getType());
    int64_t ranks = groupSize(axes, division.mesh),
            size = type.getDimSize(dim.dim);
    if (size % ranks != 0) // of an input
      return complainOfRemainder(hand, dim.dim, name, size, axes);
    for (int axis : axes) {
      if (StateOp state = findState(dim.value))
        division.assign(state, dim.dim, axis, hand.why);
      division.divided.insert({dim.value, axis});
    }
    DimClass *dims = division.findClass(dim);
    if (dims && dims->gathers.empty() && findRemainder(*dims, ranks) == 0 &&
        !division.costs->isBatch(*dims))
      origins.push_back(
          {dims, axes,
           "propagated from '" + name.str() + "' (" + hand.why + ")",
           division.costs->gainOf(*dims).score()});
    return success();
  }

  ParameterDivision &division;
  ArrayRef<HandSharding> hands;
};

} // namespace

LogicalResult padByHand(ParameterDivision &division,
                        ArrayRef<HandSharding> hands) {
  return HandDivision(division, hands).pad();
}

LogicalResult divideByHand(ParameterDivision &division,
                           ArrayRef<HandSharding> hands) {
  return HandDivision(division, hands).divide();
}

} // namespace zc
