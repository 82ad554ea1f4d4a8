//===- ApplyFloat8.cpp - --zc-apply-float8 --------------------------------===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Dist/Notes.h"
#include "dialects/Interfaces/NamePattern.h"
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Precision/Float8Passes.h"
#include "passes/Precision/States.h"

#include "llvm/Support/FormatVariadic.h"
#include <array>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_APPLYFLOAT8PASS
#include "passes/Precision/Float8Passes.h.inc"

namespace {

/// The products that the loss is made of without another product between: the
/// logits', whose rounding goes straight into the loss.
DenseSet<Operation *> findLast(func::FuncOp step) {
  DenseSet<Operation *> last, seen;
  std::optional<unsigned> loss = findMetric(step, kLoss);
  if (!loss) // another role of a pipeline has it
    return last;
  SmallVector<Value> left = {
      step.getBody().front().getTerminator()->getOperand(*loss)};
  while (!left.empty()) {
    Operation *op = left.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (isa<MatmulOp>(op))
      last.insert(op);
    else
      llvm::append_range(left, op->getOperands());
  }
  return last;
}

/// All of M, K and N are among these: rows of several dims are one dim.
std::array<int64_t, 4> sizesOf(MatmulOp op) {
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  auto rhs = cast<RankedTensorType>(op.getRhs().getType());
  int64_t columns = lhs.getShape().back();
  return {lhs.getNumElements() / columns, columns, rhs.getDimSize(0),
          rhs.getDimSize(1)};
}

struct ApplyFloat8 : public impl::ApplyFloat8PassBase<ApplyFloat8> {
  using ApplyFloat8PassBase::ApplyFloat8PassBase;

  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>(kStepProgram);
    if (!step) {
      getOperation().emitError("expected @step");
      return signalPassFailure();
    }
    auto excluded = NamePattern::parse(exclude);
    if (!excluded) {
      getOperation().emitError(llvm::toString(excluded.takeError()));
      return signalPassFailure();
    }
    chooseProducts(step, *excluded);
    if (failed(checkMatches()) || failed(checkMarked()))
      return signalPassFailure();
    addNote();
  }

private:
  /// Marks products, and lists the others.
  void chooseProducts(func::FuncOp step, const NamePattern &excluded) {
    DenseSet<Operation *> last = findLast(step);
    for (auto op : step.getOps<MatmulOp>()) {
      StateOp weight = findWeight(op);
      if (!weight)
        continue;
      StringRef name = nameOf(weight);
      const bool isExcluded = !exclude.empty() && excluded.isIn(name);
      isMatched |= isExcluded;
      candidates.push_back(name.str());
      std::string why = last.contains(op) ? " (in front of the loss)"
                        : isExcluded      ? " (excluded)"
                                          : whyNot(op, weight);
      if (why.empty())
        mark(op, name);
      else
        wide.push_back(name.str() + why);
    }
  }

  LogicalResult checkMatches() {
    if (isMatched || exclude.empty() || mayMiss)
      return success();
    return getOperation().emitError("'")
           << exclude << "' names no weight that values are multiplied by; "
           << "there are " << dist::listNames(candidates);
  }

  LogicalResult checkMarked() {
    if (marked > 0)
      return success();
    return getOperation().emitError(
               "no product would be of 8-bit floats: --precision fp8 is for "
               "products of values and weights whose rows, inputs and outputs "
               "are multiples of ")
           << divisor.getValue()
           << (wide.empty() ? std::string()
                            : "; as they are stay " + dist::listNames(wide));
  }

  /// Why a product's sizes are none for 8 bits; empty: they are.
  std::string whyNot(MatmulOp op, StateOp weight) const {
    auto sizes = sizesOf(op);
    const int64_t rows = rowDivisor > 0 ? rowDivisor : divisor;
    if (llvm::any_of(sizes, [&](int64_t size) { return size % divisor != 0; }))
      return llvm::formatv(" ({0} rows by {1} x {2}: not multiples of {3})",
                           sizes[0], sizes[2], sizes[3], divisor.getValue());
    if (sizes[0] % rows != 0)
      return llvm::formatv(" ({0} rows: not multiples of {1} on each rank)",
                           sizes[0], divisor.getValue());
    if (dividesParts && !hasWholeParts(weight))
      return llvm::formatv(" (its parts are not multiples of {0})",
                           divisor.getValue());
    return "";
  }

  bool hasWholeParts(StateOp weight) const {
    auto sharding =
        weight->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
    if (!sharding)
      return true;
    RankedTensorType part =
        dist::getPart(weight.getTensorType(), sharding, dist::getMesh(weight));
    return llvm::all_of(part.getShape(),
                        [&](int64_t size) { return size % divisor == 0; });
  }

  void mark(MatmulOp op, StringRef weight) {
    Builder builder(&getContext());
    Attribute type = TypeAttr::get(Float8E4M3FNType::get(&getContext()));
    op.setFloat8Attr(
        builder.getArrayAttr({type, type, builder.getStringAttr(weight)}));
    ++numMarked;
    ++marked;
  }

  /// The weight that a product of two matrices in bfloat16 has, or null. A
  /// product of two weights has none.
  static StateOp findWeight(MatmulOp op) {
    auto rhs = cast<RankedTensorType>(op.getRhs().getType());
    auto type = cast<RankedTensorType>(op.getType());
    if (!type.getElementType().isBF16() || !rhs.getElementType().isBF16() ||
        rhs.getRank() != 2)
      return nullptr;
    StateOp left = findReadWeight(op.getLhs()),
            right = findReadWeight(op.getRhs());
    return left && right ? StateOp() : left ? left : right;
  }

  /// The model's name of a weight, not its copy's.
  static StringRef nameOf(StateOp weight) {
    return weight.getKind() == kCopy ? *weight.getParameter()
                                     : weight.getSymName();
  }

  void addNote() {
    std::string text = llvm::formatv(
        "{0} product{1} of values and weights, and their gradients' products, "
        "are of 8-bit floats",
        marked, marked == 1 ? "" : "s");
    if (!wide.empty())
      text += "; of bfloat16 stay those of " + dist::listNames(wide);
    dist::addNote(getOperation(), text);
  }

  unsigned marked = 0;           // statistics may be off
  SmallVector<std::string> wide; // weights, and why
  SmallVector<std::string> candidates;
  bool isMatched = false; // whether `exclude` names a candidate
};

} // namespace
} // namespace zc
