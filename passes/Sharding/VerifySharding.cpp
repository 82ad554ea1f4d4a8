//===- VerifySharding.cpp - --zc-verify-sharding --------------------------===//
//
// Written against the rules' meaning alone: it shares no decision with the
// propagation that it checks.
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/OpInterfaces.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Sharding/Layout.h"
#include "passes/Sharding/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_VERIFYSHARDINGPASS
#include "passes/Sharding/Passes.h.inc"

namespace {

/// One op against its rule.
class OpCheck {
public:
  OpCheck(Operation *op, dist::MeshAttr mesh)
      : op(op), mesh(mesh),
        rule(cast<ShardableOpInterface>(op).getShardingRule()),
        operands(layoutsOf(op, dist::kOperandsAttr, mesh)),
        results(layoutsOf(op, dist::kResultsAttr, mesh)),
        factorAxes(rule.factors.size()) {}

  LogicalResult run() {
    if (operands.size() != op->getNumOperands() ||
        results.size() != op->getNumResults())
      return op->emitError("has not one sharding per operand and result");
    if (failed(checkDims()))
      return failure();
    for (int axis = 0; axis < static_cast<int>(mesh.getNumAxes()); ++axis)
      if (failed(checkTerms(axis)))
        return failure();
    return success();
  }

private:
  InFlightDiagnostic complain(int axis) {
    return op->emitError("over '") << mesh.getNames()[axis].getValue() << "': ";
  }

  LogicalResult checkDims() {
    llvm::SmallVector<bool> seen(rule.factors.size(), false);
    auto visit = [&](const Twine &what, const Layout &layout,
                     ArrayRef<int> dims) -> LogicalResult {
      if (layout.dims.size() != dims.size())
        return op->emitError() << what << " has " << dims.size()
                               << " dims, its sharding " << layout.dims.size();
      for (auto [dim, factor] : llvm::enumerate(dims)) {
        const Axes &axes = layout.dims[dim];
        if (factor == ShardingRule::kWhole) {
          if (!axes.empty())
            return op->emitError()
                   << what << " dim " << dim << " must be whole but is divided";
          continue;
        }
        if (seen[factor] && factorAxes[factor] != axes)
          return op->emitError() << what << " dim " << dim
                                 << " is divided unlike another dim of its "
                                    "factor";
        seen[factor] = true;
        factorAxes[factor] = axes;
      }
      return success();
    };
    for (auto [index, layout] : llvm::enumerate(operands))
      if (failed(visit("operand " + Twine(index), layout,
                       rule.operandDims[index])))
        return failure();
    for (auto [index, layout] : llvm::enumerate(results))
      if (failed(
              visit("result " + Twine(index), layout, rule.resultDims[index])))
        return failure();
    return checkFactors();
  }

  LogicalResult checkFactors() {
    llvm::SmallDenseSet<int> taken;
    for (auto [factor, axes] : llvm::enumerate(factorAxes)) {
      if (axes.empty())
        continue;
      if (rule.factors[factor].kind == FactorKind::OtherReduction)
        return op->emitError("divides a reduction that is no sum");
      if (rule.factors[factor].size % groupSize(axes, mesh) != 0)
        return op->emitError("divides ")
               << rule.factors[factor].size << " elements among "
               << groupSize(axes, mesh) << " ranks";
      for (int axis : axes)
        if (!taken.insert(axis).second)
          return complain(axis) << "divides two dims";
    }
    return success();
  }

  /// Whether the ranks along `axis` compute terms of the results must follow
  /// from what their operands are.
  LogicalResult checkTerms(int axis) {
    int summed = -1;
    bool divided = false;
    for (auto [factor, axes] : llvm::enumerate(factorAxes))
      if (llvm::is_contained(axes, axis)) {
        divided = true;
        if (rule.factors[factor].kind == FactorKind::Sum)
          summed = static_cast<int>(factor);
      }
    unsigned separate = 0, jointOpen = 0, jointWhole = 0;
    for (auto [index, layout] : llvm::enumerate(operands)) {
      bool open = layout.isUnreduced(axis);
      Linearity linearity = rule.linearity[index];
      if (open && linearity == Linearity::None)
        return complain(axis) << "operand " << index
                              << " is unreduced, but the op is not linear in "
                                 "it";
      separate += open && linearity == Linearity::Separate;
      bool runs =
          summed >= 0 && llvm::is_contained(rule.operandDims[index], summed);
      if (linearity == Linearity::Joint && !runs)
        (open ? jointOpen : jointWhole) += 1;
      if (open && divided &&
          !(summed >= 0 && linearity == Linearity::Joint && !runs))
        return complain(axis) << "operand " << index
                              << " is unreduced where the op is divided";
    }
    bool isTerm = summed >= 0 || separate > 0 || jointOpen > 0;
    if (separate > 1 || (separate > 0 && jointOpen > 0))
      return complain(axis) << "multiplies two unreduced operands";
    if ((jointOpen > 0 || summed >= 0) && jointWhole > 0)
      return complain(axis) << "adds an operand that is whole to terms";
    for (auto [index, layout] : llvm::enumerate(results))
      if (layout.isUnreduced(axis) != isTerm &&
          !(layout.isUnreduced(axis) && isZero(op->getResult(index))))
        return complain(axis)
               << "result " << index
               << (isTerm ? " is a term, but is taken for whole"
                          : " is whole, but is taken for a term");
    return success();
  }

  Operation *op;
  dist::MeshAttr mesh;
  ShardingRule rule;
  SmallVector<Layout> operands, results;
  SmallVector<Axes> factorAxes;
};

struct VerifySharding : public impl::VerifyShardingPassBase<VerifySharding> {
  void runOnOperation() override {
    mesh = dist::getMesh(getOperation());
    if (!mesh)
      return;
    for (auto program : getOperation().getOps<func::FuncOp>())
      for (Operation &op : program.getBody().front())
        if (failed(check(&op, program)))
          return signalPassFailure();
  }

private:
  LogicalResult check(Operation *op, func::FuncOp program) {
    if (op->hasTrait<OpTrait::IsTerminator>())
      return checkReturn(op, program);
    if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op))
      return checkCollective(collective);
    if (isa<dist::ReshardOp>(op))
      return op->emitError("is still to become collectives");
    auto wanted = layoutsOf(op, dist::kOperandsAttr, mesh);
    for (auto [index, layout] : llvm::enumerate(wanted))
      if (failed(compare(op, index, layout)))
        return failure();
    return OpCheck(op, mesh).run();
  }

  LogicalResult compare(Operation *op, unsigned index, const Layout &wanted) {
    Layout actual = layoutOf(op->getOperand(index), mesh);
    if (actual == wanted)
      return success();
    return op->emitError("operand ")
           << index << " is " << actual.toAttr(mesh) << ", but expected as "
           << wanted.toAttr(mesh);
  }

  LogicalResult checkReturn(Operation *op, func::FuncOp program) {
    for (unsigned index = 0; index < op->getNumOperands(); ++index) {
      auto sharding = program.getResultAttrOfType<dist::ShardingAttr>(
          index, dist::kShardingAttr);
      Layout wanted = sharding
                          ? Layout::from(sharding, mesh)
                          : Layout::replicated(op->getOperand(index).getType());
      if (failed(compare(op, index, wanted)))
        return failure();
    }
    return success();
  }

  LogicalResult checkCollective(dist::CollectiveOpInterface op) {
    Layout before = layoutOf(op->getOperand(0), mesh);
    std::string error;
    dist::ShardingAttr after = op.applyTo(before.toAttr(mesh), error);
    if (!after)
      return op->emitError(error);
    if (Layout::from(after, mesh) != layoutOf(op->getResult(0), mesh))
      return op->emitError("makes ")
             << after << ", but is taken to make "
             << layoutOf(op->getResult(0), mesh).toAttr(mesh);
    return success();
  }

  dist::MeshAttr mesh;
};

} // namespace
} // namespace zc
