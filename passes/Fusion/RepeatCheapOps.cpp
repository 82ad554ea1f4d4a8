//===- RepeatCheapOps.cpp - --zc-repeat-cheap-ops -------------------------===//
//
// A GPU executes hundreds of operations in the time it takes to read a number.
// So cheap values that the backward reads from the forward, or one kernel from
// another, are recomputed from a single tensor that is in memory anyway.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/OpMarks.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/LoopNests.h"
#include "passes/Analysis/Tensors.h"
#include "passes/Fusion/Passes.h"
#include "passes/Fusion/RegionGrouping.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_REPEATCHEAPOPSPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

/// Elements: smaller tensors stay in a cache between their kernels.
constexpr int64_t kLarge = 1 << 20;
/// Ops from the tensor in memory to a value.
constexpr unsigned kMostOps = 8;
/// Ops from such a tensor to a sum of its rows: a conversion, a difference from
/// the mean, a square.
constexpr unsigned kMostOpsToSum = 3;

bool isNarrowFloat(Value value) {
  return isNarrow(getElementTypeOrSelf(value.getType()));
}

bool isElementwise(Operation *op) {
  return isa_and_nonnull<ElementwiseOpInterface>(op);
}

/// The narrower form crosses a reshape or a transpose, so that loops on its
/// other side convert.
class Conversions {
public:
  void run(func::FuncOp program) {
    SmallVector<ConvertOp> converts;
    program.walk([&](ConvertOp op) { converts.push_back(op); });
    for (ConvertOp op : converts)
      if (isNarrowFloat(op.getInput()))
        sink(op);
      else if (isNarrowFloat(op.getResult()))
        hoist(op);
  }

private:
  static bool isMove(Operation *op) {
    return isa_and_nonnull<ReshapeOp, TransposeOp>(op);
  }
  static bool isMoveOrCopies(Operation *op) {
    return isMove(op) || isa_and_nonnull<BroadcastOp>(op);
  }

  /// The same move of another value.
  static Value moveAgain(OpBuilder &builder, Operation *move, Value value) {
    Operation *again = builder.clone(*move);
    again->setOperand(0, value);
    again->getResult(0).setType(
        withElementType(cast<RankedTensorType>(move->getResult(0).getType()),
                        getElementTypeOrSelf(value.getType())));
    return again->getResult(0);
  }

  /// move(convert(x)) of a wider type as convert(move(x)).
  static void sink(ConvertOp op) {
    for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
      if (!isMove(user) || hasOpMarks(op) || hasOpMarks(user) ||
          !llvm::all_of(user->getUsers(), isElementwise))
        continue;
      OpBuilder builder(user);
      Value moved = moveAgain(builder, user, op.getInput());
      Operation *again = builder.clone(*op);
      again->setOperand(0, moved);
      again->getResult(0).setType(user->getResult(0).getType());
      user->replaceAllUsesWith(again);
      user->erase();
    }
  }

  /// convert(move(x)) to a narrower type as move(convert(x)), through as many
  /// moves as lead to loops.
  static void hoist(ConvertOp op) {
    Operation *move = op.getInput().getDefiningOp();
    if (!isMoveOrCopies(move) || !move->hasOneUse() || hasOpMarks(op) ||
        hasOpMarks(move))
      return;
    Operation *origin = move;
    while (isMoveOrCopies(origin) && origin->hasOneUse())
      origin = origin->getOperand(0).getDefiningOp();
    if (!isElementwise(origin))
      return;
    OpBuilder builder(op);
    Operation *again = builder.clone(*op);
    again->setOperand(0, move->getOperand(0));
    again->getResult(0).setType(
        withElementType(cast<RankedTensorType>(move->getOperand(0).getType()),
                        getElementTypeOrSelf(op.getType())));
    op.replaceAllUsesWith(moveAgain(builder, move, again->getResult(0)));
    op.erase();
    move->erase();
    hoist(cast<ConvertOp>(again));
  }
};

/// Halves of rows that change places, as in a rotary embedding, are read where
/// they are by the loops that read the concat.
class Halves {
public:
  void run(func::FuncOp program) {
    program.walk([](ConcatOp op) {
      SliceOp first = sliceBehind(op.getInputs().front());
      SliceOp last = sliceBehind(op.getInputs().back());
      if (!isOfHalves(op) || !first || !last ||
          !llvm::all_of(op->getUsers(), isElementwise))
        return;
      op.setInLoops(true);
      first.setInLoops(true);
      last.setInLoops(true);
    });
  }

private:
  static bool isOfHalves(ConcatOp op) {
    auto rank = cast<ShapedType>(op.getType()).getRank();
    return op.getInputs().size() == 2 &&
           static_cast<int64_t>(op.getDim()) == rank - 1 &&
           op.getInputs()[0].getType() == op.getInputs()[1].getType();
  }

  /// The slice of rows that a half is made of, and of nothing else.
  static SliceOp sliceBehind(Value half) {
    while (Operation *op = half.getDefiningOp()) {
      if (!half.hasOneUse())
        return {};
      if (auto slice = dyn_cast<SliceOp>(op))
        return isOfRows(slice) ? slice : SliceOp();
      bool isMoved = isa<TransposeOp>(op) ||
                     (isElementwise(op) && op->getNumOperands() == 1);
      if (!isMoved || !keepsRows(op))
        return {};
      half = op->getOperand(0);
    }
    return {};
  }

  /// Whether rows are cut alone, without gaps.
  static bool isOfRows(SliceOp op) {
    return llvm::all_of(op.getStrides(),
                        [](int64_t step) { return step == 1; }) &&
           llvm::equal(shapeOf(op.getInput()).drop_back(),
                       shapeOf(op.getResult()).drop_back());
  }
};

/// Chooses what is computed again.
class Chooser {
public:
  unsigned run(Block &block) {
    unsigned count = 0;
    for (Operation &op : block.without_terminator())
      if (isWorthIt(&op)) {
        op.setAttr(kRepeatedAttr, UnitAttr::get(op.getContext()));
        ++count;
      }
    return count;
  }

private:
  bool isWorthIt(Operation *op) {
    if (!isElementwise(op) || op->hasOneUse() || op->use_empty() ||
        hasOpMarks(op) || bytesOf(op->getResult(0)) < kLarge ||
        !llvm::all_of(op->getUsers(), isElementwise))
      return false;
    Value source;
    unsigned ops = 0;
    return findSource(op, source, ops) && source &&
           bytesOf(source) <= bytesOf(op->getResult(0)) && isInMemory(source);
  }

  /// Whether `op` is computed of one large tensor, `source`.
  static bool findSource(Operation *op, Value &source, unsigned &ops) {
    if (++ops > kMostOps)
      return false;
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (isSplatConstant(producer) || isSpread(producer))
        continue;
      bool goesOn =
          isElementwise(producer) && (producer->hasAttr(kRepeatedAttr) ||
                                      (isa<ConvertOp>(producer) &&
                                       isNarrowFloat(producer->getOperand(0))));
      if (goesOn) {
        if (!findSource(producer, source, ops))
          return false;
      } else if (source && source != operand) {
        return false;
      } else {
        source = operand;
      }
    }
    return true;
  }

  /// Copies of something small.
  static bool isSpread(Operation *op) {
    return isa_and_nonnull<BroadcastOp>(op) &&
           bytesOf(op->getOperand(0)) * 16 <= bytesOf(op->getResult(0));
  }

  /// Whether the value is in memory in any case: no kernel, or product with an
  /// epilogue, may compute it without storing it.
  static bool isInMemory(Value value) {
    Value origin = value;
    while (auto reshape = origin.getDefiningOp<ReshapeOp>()) {
      if (!origin.hasOneUse())
        break;
      origin = reshape.getInput();
    }
    if (origin.hasOneUse() && origin.getDefiningOp() &&
        !isReadWidened(*origin.user_begin()))
      return false;
    Operation *producer = value.getDefiningOp();
    if (!isElementwise(producer))
      return !isMovedRead(producer);
    return llvm::any_of(producer->getUsers(), [](Operation *user) {
      return !isElementwise(user) || leadsToSum(user, kMostOpsToSum);
    });
  }

  /// Readers convert to 32 bits each for themselves.
  static bool isReadWidened(Operation *user) {
    return isa<ConvertOp>(user) && isNarrowFloat(user->getOperand(0)) &&
           !user->hasOneUse();
  }

  /// Whether rows of the value are added up, as a norm does before it reads the
  /// value again.
  static bool leadsToSum(Operation *op, unsigned ops) {
    return ops > 0 && isElementwise(op) &&
           llvm::any_of(op->getUsers(), [&](Operation *user) {
             return isPlainReduction(user) || leadsToSum(user, ops - 1);
           });
  }
};

struct RepeatCheapOps : public impl::RepeatCheapOpsPassBase<RepeatCheapOps> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      if (program.isDeclaration())
        continue;
      Conversions().run(program);
      Halves().run(program);
      numRepeated += Chooser().run(program.getBody().front());
    }
  }
};

} // namespace
} // namespace zc
