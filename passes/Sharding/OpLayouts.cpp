//===- OpLayouts.cpp - how one op works with divided operands -------------===//
#include "passes/Sharding/OpLayouts.h"

#include "dialects/Train/ProgramBuilder.h"
#include "passes/Sharding/DimClasses.h"
#include "passes/Sharding/ExchangedDims.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace zc {

OpPlanner::OpPlanner(Operation *op, ArrayRef<Layout> operands,
                     ArrayRef<Layout> hints,
                     llvm::function_ref<bool(unsigned)> isFree,
                     dist::MeshAttr mesh, bool countsElements)
    : op(op), rule(cast<ShardableOpInterface>(op).getShardingRule()),
      actual(operands), hints(hints), isFree(isFree), mesh(mesh),
      countsElements(countsElements), factorAxes(rule.factors.size()),
      open(operands.size()) {
  if (auto gathered = op->getAttrOfType<DenseI64ArrayAttr>(kGatheredAttr))
    for (int64_t factor : gathered.asArrayRef())
      makeWhole(rule, int(factor));
}

OpLayouts OpPlanner::plan() {
  divideFactors();
  checkTerms();
  for (int axis = 0; axis < static_cast<int>(mesh.getNumAxes()); ++axis)
    keepUnreduced(axis);
  OpLayouts layouts;
  for (auto [index, dims] : llvm::enumerate(rule.operandDims)) {
    layouts.operands.push_back(layoutOf(dims));
    layouts.operands.back().unreduced = open[index];
  }
  for (auto [index, dims] : llvm::enumerate(rule.resultDims)) {
    layouts.results.push_back(layoutOf(dims));
    layouts.results.back().unreduced = resultOpen;
  }
  return layouts;
}

bool OpPlanner::needsFinerOps() const {
  for (auto [layout, dims] : llvm::zip(actual, rule.operandDims))
    for (auto [axes, factor] : llvm::zip(layout.dims, dims))
      if (!axes.empty() && factor == ShardingRule::kWhole)
        return true;
  return false;
}

double OpPlanner::bytesOf(Value value) const {
  auto type = cast<ShapedType>(value.getType());
  return static_cast<double>(type.getNumElements()) *
         type.getElementTypeBitWidth();
}

/// The cost of sending a value: its elements or its bytes.
double OpPlanner::sizeOf(Value value) const {
  return countsElements
             ? double(cast<ShapedType>(value.getType()).getNumElements())
             : bytesOf(value);
}

Layout OpPlanner::layoutOf(ArrayRef<int> dims) const {
  Layout layout;
  for (int factor : dims)
    layout.dims.push_back(factor == ShardingRule::kWhole ? Axes()
                                                         : factorAxes[factor]);
  return layout;
}

//===----------------------------------------------------------------------===//
// Divided dims
//===----------------------------------------------------------------------===//

/// The longest prefix of `axes` that is free and divides the factor evenly.
void OpPlanner::tryDivide(int factor, const Axes &axes) {
  if (rule.factors[factor].kind == FactorKind::OtherReduction)
    return;
  Axes &mine = factorAxes[factor];
  for (auto [index, axis] : llvm::enumerate(axes)) {
    if (index < mine.size()) {
      if (mine[index] != axis)
        return;
      continue;
    }
    bool taken = llvm::any_of(factorAxes, [axis = axis](const Axes &other) {
      return llvm::is_contained(other, axis);
    });
    int64_t ranks = groupSize(mine, mesh) * mesh.getSizes()[axis];
    if (taken || rule.factors[factor].size % ranks != 0)
      return;
    mine.push_back(axis);
  }
}

void OpPlanner::divideFactors() {
  struct Proposal {
    double weight;
    int factor;
    const Axes *axes;
  };
  SmallVector<Proposal> proposals;
  auto propose = [&](double weight, const Layout &layout, ArrayRef<int> dims) {
    for (auto [axes, factor] : llvm::zip(layout.dims, dims))
      if (!axes.empty() && factor != ShardingRule::kWhole)
        proposals.push_back({weight, factor, &axes});
  };
  for (auto [index, layout] : llvm::enumerate(actual))
    propose(bytesOf(op->getOperand(index)), layout, rule.operandDims[index]);
  for (auto [index, layout] : llvm::enumerate(hints))
    propose(0, layout, rule.resultDims[index]);
  llvm::stable_sort(proposals, [](const Proposal &a, const Proposal &b) {
    return a.weight > b.weight;
  });
  for (const Proposal &proposal : proposals)
    tryDivide(proposal.factor, *proposal.axes);
  exchangeAxes();
}

/// An axis on a dim that the op wants whole moves to one that it may divide.
void OpPlanner::exchangeAxes() {
  auto dims = op->getAttrOfType<DenseI64ArrayAttr>(kExchangeAttr);
  if (!dims)
    return;
  int factor = rule.resultDims[0][dims[1]];
  Axes &mine = factorAxes[factor];
  for (auto [layout, whole] : llvm::zip(actual, rule.operandDims))
    for (auto [axes, wanted] : llvm::zip(layout.dims, whole))
      for (int axis : axes) {
        bool taken = llvm::any_of(factorAxes, [&](const Axes &other) {
          return llvm::is_contained(other, axis);
        });
        int64_t ranks = groupSize(mine, mesh) * mesh.getSizes()[axis];
        if (wanted == ShardingRule::kWhole && !taken &&
            rule.factors[factor].size % ranks == 0)
          mine.push_back(axis);
      }
}

//===----------------------------------------------------------------------===//
// Unreduced values
//===----------------------------------------------------------------------===//

/// Whether a sum along `axis` counts the operand once per part.
bool OpPlanner::isCountedPerPart(unsigned operand, int axis) const {
  if (rule.linearity[operand] != Linearity::Joint)
    return false;
  for (auto [factor, axes] : llvm::enumerate(factorAxes))
    if (rule.factors[factor].kind == FactorKind::Sum &&
        llvm::is_contained(axes, axis))
      return !llvm::is_contained(rule.operandDims[operand],
                                 static_cast<int>(factor));
  return false;
}

/// Takes back divisions of sums that would count an operand several times.
void OpPlanner::checkTerms() {
  for (auto [factor, axes] : llvm::enumerate(factorAxes)) {
    if (rule.factors[factor].kind != FactorKind::Sum)
      continue;
    for (size_t i = 0; i < axes.size(); ++i)
      for (unsigned operand = 0; operand < actual.size(); ++operand)
        if (i < axes.size() && isCountedPerPart(operand, axes[i]) &&
            !actual[operand].isUnreduced(axes[i]) && !isFree(operand))
          axes.resize(i);
  }
}

/// Whether a term that becomes larger stays one.
static bool staysTerm(Operation *op) {
  if (auto wide = dyn_cast<train::ConvertOp>(op))
    return wide.getStaysTerm();
  auto repeated = dyn_cast<train::BroadcastOp>(op);
  return repeated && repeated.getStaysTerm();
}

void OpPlanner::keepUnreduced(int axis) {
  bool used = false, summed = false;
  for (auto [factor, axes] : llvm::enumerate(factorAxes))
    if (llvm::is_contained(axes, axis)) {
      used = true;
      summed |= rule.factors[factor].kind == FactorKind::Sum;
    }
  if (summed)
    resultOpen.push_back(axis);
  SmallVector<unsigned> joint, separate;
  bool anyOpen = false, allOpen = true;
  double size = 0, resultSize = 0;
  for (unsigned operand = 0; operand < actual.size(); ++operand) {
    bool isOpen = actual[operand].isUnreduced(axis);
    if (used) {
      if (isCountedPerPart(operand, axis))
        open[operand].push_back(axis);
      continue;
    }
    if (rule.linearity[operand] == Linearity::Joint) {
      joint.push_back(operand);
      anyOpen |= isOpen;
      allOpen &= isOpen || isFree(operand);
    } else if (rule.linearity[operand] == Linearity::Separate && isOpen) {
      separate.push_back(operand);
    }
    if (isOpen || isFree(operand))
      size += sizeOf(op->getOperand(operand));
  }
  for (Value result : op->getResults())
    resultSize = std::max(resultSize, sizeOf(result));
  if (used || (resultSize > size && !staysTerm(op)))
    return;
  if (anyOpen && allOpen) {
    for (unsigned operand : joint)
      open[operand].push_back(axis);
  } else if (separate.size() == 1) {
    open[separate.front()].push_back(axis);
  } else {
    return;
  }
  resultOpen.push_back(axis);
}

} // namespace zc
