//===- RepeatCheapOps.cpp - --zc-repeat-cheap-ops -------------------------===//
//
// A GPU executes hundreds of operations in the time it takes to read a number.
// So cheap values that the backward reads from the forward, or one kernel from
// another, are recomputed from a single tensor that is in memory anyway.
//
//===----------------------------------------------------------------------===//
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

bool isNarrowFloat(Value value) {
  return isNarrow(getElementTypeOrSelf(value.getType()));
}

bool isElementwise(Operation *op) {
  return isa_and_nonnull<ElementwiseOpInterface>(op);
}

/// The narrower form crosses a reshape, so that loops on its other side
/// convert.
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
  /// reshape(convert(x)) of a wider type as convert(reshape(x)).
  static void sink(ConvertOp op) {
    for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
      auto reshape = dyn_cast<ReshapeOp>(user);
      if (!reshape || !llvm::all_of(reshape->getUsers(), isElementwise))
        continue;
      OpBuilder builder(reshape);
      auto wide = cast<RankedTensorType>(reshape.getResult().getType());
      auto narrowed =
          withElementType(wide, getElementTypeOrSelf(op.getInput().getType()));
      Value moved =
          ReshapeOp::create(builder, reshape.getLoc(), narrowed, op.getInput());
      Operation *again = builder.clone(*op);
      again->setOperand(0, moved);
      again->getResult(0).setType(wide);
      reshape.replaceAllUsesWith(again->getResult(0));
      reshape.erase();
    }
  }

  /// convert(reshape(x)) to a narrower type as reshape(convert(x)).
  static void hoist(ConvertOp op) {
    auto reshape = op.getInput().getDefiningOp<ReshapeOp>();
    if (!reshape || !reshape->hasOneUse() ||
        !isElementwise(reshape.getInput().getDefiningOp()))
      return;
    OpBuilder builder(op);
    auto narrowed = cast<RankedTensorType>(op.getResult().getType());
    Operation *again = builder.clone(*op);
    again->setOperand(0, reshape.getInput());
    again->getResult(0).setType(withElementType(reshape.getInput().getType(),
                                                narrowed.getElementType()));
    Value moved = ReshapeOp::create(builder, reshape.getLoc(), narrowed,
                                    again->getResult(0));
    op.replaceAllUsesWith(moved);
    op.erase();
    reshape.erase();
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
        isMarked(op) || bytesOf(op->getResult(0)) < kLarge ||
        !llvm::all_of(op->getUsers(), isElementwise))
      return false;
    Value source;
    unsigned ops = 0;
    return findSource(op, source, ops) && source &&
           bytesOf(source) <= bytesOf(op->getResult(0)) && isInMemory(source);
  }

  /// The buffers of these have a class of their own.
  static bool isMarked(Operation *op) {
    return llvm::any_of(ArrayRef<StringRef>{kGradientsAttr, kKeptGradientsAttr,
                                            kStagingAttr, kLateAttr,
                                            kOfOtherRanksAttr},
                        [&](StringRef name) { return op->hasAttr(name); });
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
    if (origin.hasOneUse() && origin.getDefiningOp())
      return false;
    Operation *producer = value.getDefiningOp();
    if (!isElementwise(producer))
      return !isMovedRead(producer);
    return llvm::any_of(producer->getUsers(), [](Operation *user) {
      bool isSummed = isElementwise(user) &&
                      llvm::all_of(user->getUsers(), isPlainReduction);
      return !isElementwise(user) || isSummed;
    });
  }
};

struct RepeatCheapOps : public impl::RepeatCheapOpsPassBase<RepeatCheapOps> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      if (program.isDeclaration())
        continue;
      Conversions().run(program);
      numRepeated += Chooser().run(program.getBody().front());
    }
  }
};

} // namespace
} // namespace zc
