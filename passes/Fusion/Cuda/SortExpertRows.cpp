//===- SortExpertRows.cpp - --zc-sort-expert-rows -------------------------===//
//
// A GPU's kernels are launched alike however many rows chose an expert: their
// teams look up in memory which rows are theirs.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Fusion/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_SORTEXPERTROWSPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The order of one list of groups, in integers of 32 bits.
class RowSorter {
public:
  RowSorter(OpBuilder &builder, Location loc, Value groups, Value ids)
      : builder(builder), loc(loc), groups(groups), ids(ids),
        experts(typeOf(ids).getDimSize(0)) {}

  /// The order, and the ends.
  SmallVector<Value> run() {
    Value ends = addUp(countRows());
    Value order = ExpertOrderOp::create(
        builder, loc, numbers({typeOf(groups).getNumElements()}), groups, ids,
        ends);
    return {order, ends};
  }

private:
  RankedTensorType numbers(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getI32Type());
  }
  Value narrow(Value value) {
    return convert(builder, loc, value, builder.getI32Type());
  }

  /// [experts]: the rows of each.
  Value countRows() {
    int64_t rows = typeOf(groups).getShape().back();
    bool sorted = typeOf(groups).getRank() == 2;
    SmallVector<int64_t> shape{experts, rows};
    Value each = sorted ? narrow(groups)
                        : broadcast(builder, loc, narrow(groups), shape, {1});
    Value isOf = compare(builder, loc, Predicate::Eq, each,
                         broadcast(builder, loc, narrow(ids), shape, {0}));
    return reduceSum(builder, loc, narrow(isOf), {1});
  }

  /// [experts]: the sum over the experts before each, and its own.
  Value addUp(Value counts) {
    SmallVector<int64_t> shape{experts, experts};
    Value number = IotaOp::create(
        builder, loc, RankedTensorType::get({experts}, builder.getI64Type()),
        1);
    number = narrow(number);
    Value isAfter = compare(builder, loc, Predicate::Le,
                            broadcast(builder, loc, number, shape, {1}),
                            broadcast(builder, loc, number, shape, {0}));
    Value each = SelectOp::create(builder, loc, numbers(shape), isAfter,
                                  broadcast(builder, loc, counts, shape, {1}),
                                  splat(builder, loc, numbers(shape), 0));
    return reduceSum(builder, loc, each, {1});
  }

  OpBuilder &builder;
  Location loc;
  Value groups, ids;
  int64_t experts;
};

struct SortExpertRows : public impl::SortExpertRowsPassBase<SortExpertRows> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<func::FuncOp>())
      sort(program);
  }

private:
  void sort(func::FuncOp program) {
    llvm::MapVector<std::pair<Value, Value>, SmallVector<Operation *>> products;
    program.walk([&](Operation *op) {
      if (!isa<GroupedMatmulOp, GroupedMatmulGradOp>(op))
        return;
      Value groups = op->getOperand(2), ids = op->getOperand(3);
      products[{groups, ids}].push_back(op);
    });
    for (auto &[of, ops] : products) {
      OpBuilder builder(ops.front());
      SmallVector<Value> order =
          RowSorter(builder, ops.front()->getLoc(), of.first, of.second).run();
      for (Operation *op : ops)
        op->insertOperands(op->getNumOperands(), order);
      ++numSorted;
    }
  }
};

} // namespace
} // namespace zc
