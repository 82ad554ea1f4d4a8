//===- RoundFloat8.cpp - --zc-round-float8 --------------------------------===//
//
// Scales are of whole tensors, or of their blocks, before these are divided: a
// rank's part has the scale that one rank alone would find.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/OpMarks.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Precision/AmaxHistory.h"
#include "passes/Precision/Float8Passes.h"
#include "passes/Precision/Float8Rounding.h"
#include "passes/Precision/States.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_ROUNDFLOAT8PASS
#include "passes/Precision/Float8Passes.h.inc"

namespace {

/// On ops that round a weight for the backward: no pass may take the forward's
/// in their place, which would be kept.
constexpr llvm::StringLiteral kAgainAttr = "train.float8_again";

/// Marks the ops that are made in front of an insertion point while it lives.
class Marking {
public:
  explicit Marking(OpBuilder &builder) : builder(builder), before(last()) {}
  ~Marking() {
    Operation *op =
        before ? before->getNextNode() : &builder.getBlock()->front();
    for (Operation *end = &*builder.getInsertionPoint(); op != end;
         op = op->getNextNode())
      op->setAttr(kAgainAttr, builder.getUnitAttr());
  }

private:
  Operation *last() const {
    Block::iterator point = builder.getInsertionPoint();
    return point == builder.getBlock()->begin() ? nullptr : &*std::prev(point);
  }

  OpBuilder &builder;
  Operation *before;
};

/// A factor of a product, and how it is rounded.
struct Factor {
  Value value;
  FloatType type;
  bool sumsRows = false; // over its rows, or over its last dim
  bool isAgain = false;  // a weight's, for the backward
  StringRef kind;        // input, weight, gradient
};

/// The largest magnitude of a factor, which is to count in its history.
struct Measured {
  AmaxHistory history;
  Value size;
};

/// All that one program measures.
struct Measurements {
  SmallVector<Measured> ofForward, ofBackward;
};

/// [rows..., columns] as [rows, columns].
Value asMatrix(OpBuilder &builder, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  const int64_t columns = type.getShape().back();
  return reshape(builder, value.getLoc(), value,
                 {type.getNumElements() / columns, columns});
}

struct RoundFloat8 : public impl::RoundFloat8PassBase<RoundFloat8> {
  using RoundFloat8PassBase::RoundFloat8PassBase;

  void runOnOperation() override {
    if (!llvm::is_contained({"current", "delayed", "block"}, scaling) ||
        history < 1) {
      getOperation().emitError("scaling: expected current, delayed or block, "
                               "and a history of at least 1 step, found '")
          << scaling << "' and " << history.getValue();
      return signalPassFailure();
    }
    SmallVector<MatmulOp> products;
    getOperation().walk([&](MatmulOp op) {
      if (op.getFloat8())
        products.push_back(op);
    });
    for (MatmulOp op : products)
      if (failed(replace(op)))
        return signalPassFailure();
    for (auto &[block, found] : measured)
      recordMeasured(*block, found);
  }

private:
  LogicalResult replace(MatmulOp op) {
    OpBuilder builder(op);
    FailureOr<Rounded> lhs = round(op, factorOf(op, 0)),
                       rhs = round(op, factorOf(op, 1));
    if (failed(lhs) || failed(rhs))
      return failure();
    const bool isMatrix = scaling == "block"; // rows are one dim
    auto type = cast<RankedTensorType>(op.getType());
    auto made = ScaledMatmulOp::create(
        builder, op.getLoc(),
        isMatrix
            ? withShape(type, {type.getNumElements() / type.getShape().back(),
                               type.getShape().back()})
            : type,
        lhs->value, rhs->value, lhs->inverse, rhs->inverse,
        op.getTransposeLhs(), op.getTransposeRhs());
    copyMarks(op, made);
    op.getResult().replaceAllUsesWith(
        reshape(builder, op.getLoc(), made.getResult(), type.getShape()));
    op.erase();
    return success();
  }

  Factor factorOf(MatmulOp op, unsigned index) const {
    ArrayAttr types = op.getFloat8Attr();
    auto typeOf = [&](unsigned each) {
      return cast<FloatType>(cast<TypeAttr>(types[each]).getValue());
    };
    Factor factor;
    factor.value = op->getOperand(index);
    factor.type = typeOf(index);
    const bool isBackward =
        isa<Float8E5M2Type>(typeOf(0)) || isa<Float8E5M2Type>(typeOf(1));
    const bool isWeight = bool(findReadWeight(factor.value));
    factor.isAgain = isBackward && isWeight;
    factor.kind = isa<Float8E5M2Type>(factor.type) ? "gradient"
                  : isWeight                       ? "weight"
                                                   : "input";
    // A matrix that is stored as [K, rows] is summed over its rows.
    const bool isFirst = index == 0;
    factor.sumsRows = isFirst ? op.getTransposeLhs() : !op.getTransposeRhs();
    return factor;
  }

  /// Where a factor is rounded: values where they are made, weights where they
  /// are read.
  static OpBuilder builderFor(MatmulOp op, Value value) {
    OpBuilder builder(op);
    if (!findReadWeight(value))
      builder.setInsertionPointAfterValue(value);
    return builder;
  }

  FailureOr<Rounded> round(MatmulOp op, const Factor &factor) {
    Rounded &known = rounded[factor.isAgain][{factor.value, keyOf(factor)}];
    if (known.value)
      return known;
    OpBuilder builder = builderFor(op, factor.value);
    std::optional<Marking> marking;
    if (factor.isAgain)
      marking.emplace(builder);
    ++numRounded;
    if (scaling == "block")
      return known = roundBlocks(builder, factor);
    Float8Rounder rounder(builder, factor.value, factor.type);
    FailureOr<Value> scale = scaling == "delayed"
                                 ? findDelayed(builder, op, factor, rounder)
                                 : rounder.scaleOf(rounder.measure());
    if (failed(scale))
      return failure();
    Value inverse = rounder.invert(*scale);
    return known = {rounder.round(*scale), inverse};
  }

  /// A tensor has two forms of blocks, along its rows and across them; a
  /// weight's, of squares, is one.
  Attribute keyOf(const Factor &factor) const {
    Builder builder(factor.value.getContext());
    const bool across =
        scaling == "block" && factor.sumsRows && factor.kind != "weight";
    return builder.getArrayAttr(
        {TypeAttr::get(factor.type), builder.getBoolAttr(across)});
  }

  /// All of E4M3: blocks have few magnitudes (DeepSeek-V3).
  Rounded roundBlocks(OpBuilder &builder, const Factor &factor) {
    Value matrix = asMatrix(builder, factor.value);
    Float8Rounder rounder(builder, matrix,
                          Float8E4M3FNType::get(&getContext()));
    if (factor.kind == "weight")
      return rounder.roundBlocks({kFloat8Block, kFloat8Block});
    return factor.sumsRows ? rounder.roundBlocks({kFloat8Block, 1})
                           : rounder.roundBlocks({1, kFloat8Block});
  }

  /// Roles that hold a weight together would each keep histories of their own
  /// micro-batches, or uses, under one name.
  static LogicalResult checkHolders(MatmulOp op, StringRef weight) {
    auto module = op->getParentOfType<ModuleOp>();
    auto state = module.lookupSymbol<StateOp>(weight);
    if (!state || !state.getHolders())
      return success();
    return state.emitError("'")
           << weight << "' is a weight of several stages, or of replicas of "
           << "one, which would each keep largest magnitudes of their own; "
           << "give its nodes one stage with --stages, and no replicas, or use "
           << "--fp8-scaling current or block";
  }

  /// The scale of the steps before; the first reader of a tensor records what
  /// it is now.
  FailureOr<Value> findDelayed(OpBuilder &builder, MatmulOp op,
                               const Factor &factor, Float8Rounder &rounder) {
    if (factor.isAgain)
      if (Value scale = scaleOfWeight.lookup(factor.value))
        return scale;
    auto step = op->getParentOfType<func::FuncOp>();
    ArrayAttr mark = op.getFloat8Attr();
    auto weight = dyn_cast<StringAttr>(mark[mark.size() - 1]);
    if (!weight)
      return op.emitError("expected the weight's name in ") << mark;
    if (failed(checkHolders(op, weight)))
      return failure();
    FailureOr<AmaxHistory> past = AmaxHistory::add(
        step, weight, factor.kind, history, factor.value.getLoc());
    if (failed(past))
      return failure();
    // As Transformer Engine does before it has seen a tensor: a scale of 1.
    const double largest =
        APFloat::getLargest(factor.type.getFloatSemantics()).convertToDouble();
    Value scale = rounder.scaleOf(past->largest(builder, largest));
    if (factor.kind == "weight")
      scaleOfWeight[factor.value] = scale;
    Measurements &all = measured[&step.front()];
    (factor.kind == "gradient" ? all.ofBackward : all.ofForward)
        .push_back({*past, rounder.measure()});
    return scale;
  }

  /// Nobody waits for what is measured until the step ends: all of the forward
  /// counts in one place, all of the backward in another, so that ranks send
  /// each other what they found in one message for each set of axes
  /// (--zc-join-reductions).
  static void recordMeasured(Block &block, Measurements &found) {
    Operation *end = block.getTerminator(), *middle = end;
    for (Measured &each : found.ofBackward)
      if (each.size.getDefiningOp()->isBeforeInBlock(middle))
        middle = each.size.getDefiningOp();
    for (Measured &each : found.ofForward)
      if (!each.size.getDefiningOp()->isBeforeInBlock(middle))
        middle = each.size.getDefiningOp()->getNextNode();
    recordAt(middle, found.ofForward);
    recordAt(end, found.ofBackward);
  }

  static void recordAt(Operation *place, MutableArrayRef<Measured> measured) {
    OpBuilder builder(place);
    for (Measured &each : measured)
      each.history.record(builder, each.size);
  }

  llvm::MapVector<Block *, Measurements> measured; // by the program
  /// By the form, and whether for the backward again.
  DenseMap<std::pair<Value, Attribute>, Rounded> rounded[2];
  DenseMap<Value, Value> scaleOfWeight;
};

} // namespace
} // namespace zc
