//===- DivideByCost.cpp - parameters that are divided by rule -------------===//
#include "dialects/Train/StateLookup.h"
#include "passes/Sharding/ParameterDivision.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

class CostDivision {
public:
  explicit CostDivision(ParameterDivision &division) : division(division) {}

  void divide() {
    int64_t ranks = division.mesh.getSizes()[division.number];
    SmallVector<Scored> order;
    SmallVector<std::pair<int64_t, DimClass *>> left;
    for (DimClass &each : division.classes) {
      if (!hasWeights(each) || !each.gathers.empty() ||
          division.costs->isBatch(each) || meetsItself(each))
        continue;
      if (int64_t size = findRemainder(each, ranks))
        left.push_back({size, &each});
      else
        order.push_back({division.costs->gainOf(each).score(), &each});
    }
    llvm::stable_sort(
        order, [](const auto &a, const auto &b) { return a.first > b.first; });
    for (auto [i, each] : llvm::enumerate(llvm::make_second_range(order)))
      if (isFree(*each) &&
          !isWorthLess(order[i], ArrayRef(order).drop_front(i)))
        division.divideAll(*each, division.number, [&](StateOp state) {
          return explain(*each, state, ranks);
        });
    for (auto &[size, each] : left)
      division.whole.leave(size, namesOf(*each, /*whole=*/true));
  }

private:
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
    const ClassGain gain = division.costs->gainOf(dims);
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
      return division.isDivided(dim.value);
    });
  }

  /// The states; with `whole`, those that nothing divides.
  SmallVector<std::string> namesOf(const DimClass &dims, bool whole = false) {
    SmallVector<std::string> names;
    for (const DimOf &each : dims.getArguments())
      if (StateOp state = findState(each.value);
          state && !(whole && division.isDivided(each.value)))
        names.push_back(state.getSymName().str());
    return names;
  }

  ParameterDivision &division;
};

} // namespace

void divideByCost(ParameterDivision &division) {
  CostDivision(division).divide();
}

} // namespace zc
