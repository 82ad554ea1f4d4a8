//===- ApplyFloat8.cpp - --zc-apply-float8 --------------------------------===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Interfaces/NamePattern.h"
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Precision/Float8Passes.h"
#include "passes/Precision/Float8Step.h"
#include "passes/Precision/States.h"

#include "llvm/Support/FormatVariadic.h"

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

bool areMultiples(MatmulOp op) {
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  auto rhs = cast<RankedTensorType>(op.getRhs().getType());
  // All of M, K and N are among these: rows of several dims are one dim.
  int64_t columns = lhs.getShape().back();
  int64_t rows = lhs.getNumElements() / columns;
  return rows % kFloat8Step == 0 && columns % kFloat8Step == 0 &&
         rhs.getDimSize(0) % kFloat8Step == 0 &&
         rhs.getDimSize(1) % kFloat8Step == 0;
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
    DenseSet<Operation *> last = findLast(step);
    for (auto op : step.getOps<MatmulOp>()) {
      StateOp weight = findWeight(op);
      if (!weight)
        continue;
      StringRef name = nameOf(weight);
      if (last.contains(op))
        wide.push_back((name + " (in front of the loss)").str());
      else if (!exclude.empty() && excluded->isIn(name))
        wide.push_back((name + " (excluded)").str());
      else if (!areMultiples(op))
        wide.push_back((name + " (not multiples of 16)").str());
      else
        mark(op);
    }
    if (marked == 0) {
      getOperation().emitError(
          "no product would be of 8-bit floats: --precision fp8 is for "
          "products of values and weights whose rows, inputs and outputs are "
          "multiples of 16")
          << (wide.empty() ? std::string()
                           : "; as they are stay " + llvm::join(wide, ", "));
      return signalPassFailure();
    }
    addNote();
  }

private:
  void mark(MatmulOp op) {
    Builder builder(&getContext());
    Type type = Float8E4M3FNType::get(&getContext());
    op->setAttr(kFloat8Attr, builder.getTypeArrayAttr({type, type}));
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
    constexpr size_t kMostNames = 6;
    std::string text = llvm::formatv(
        "{0} product{1} of values and weights, and their gradients' products, "
        "are of 8-bit floats",
        marked, marked == 1 ? "" : "s");
    if (!wide.empty()) {
      size_t more = wide.size() > kMostNames ? wide.size() - kMostNames : 0;
      wide.resize(wide.size() - more);
      text += "; of bfloat16 stay those of " + llvm::join(wide, ", ");
      if (more)
        text += llvm::formatv(" and {0} more", more).str();
    }
    SmallVector<Attribute> notes;
    if (auto old = getOperation()->getAttrOfType<ArrayAttr>(dist::kNotesAttr))
      notes.append(old.begin(), old.end());
    notes.push_back(StringAttr::get(&getContext(), text));
    getOperation()->setAttr(dist::kNotesAttr,
                            ArrayAttr::get(&getContext(), notes));
  }

  unsigned marked = 0;           // statistics may be off
  SmallVector<std::string> wide; // weights, and why
};

} // namespace
} // namespace zc
