//===- JoinRows.cpp - --zc-join-rows --------------------------------------===//
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Sequence/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_JOINROWSPASS
#include "passes/Sequence/Passes.h.inc"

namespace {

struct JoinRows : public impl::JoinRowsPassBase<JoinRows> {
  void runOnOperation() override {
    joinAll<MatmulOp>();
    joinAll<ScaledMatmulOp>();
  }

private:
  template <typename Op> void joinAll() {
    SmallVector<Op> ops;
    getOperation().walk([&](Op op) {
      if (rankOf(op.getLhs()) > 2 &&
          (rankOf(op.getRhs()) == 2 || rankOf(op.getResult()) == 2))
        ops.push_back(op);
    });
    for (Op op : ops)
      join(op);
  }

  static int64_t rankOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getRank();
  }

  /// [rows..., K] as [rows, K].
  static Value flatten(OpBuilder &builder, Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getRank() == 2)
      return value;
    int64_t columns = type.getShape().back();
    int64_t rows = 1;
    for (int64_t size : type.getShape().drop_back())
      rows *= size;
    return reshape(builder, value.getLoc(), value, {rows, columns});
  }

  /// Scales of blocks have their factors' rows.
  static void joinScales(OpBuilder &, MatmulOp) {}
  static void joinScales(OpBuilder &builder, ScaledMatmulOp op) {
    if (!op.hasBlocks())
      return;
    op.getLhsScaleMutable().assign(flatten(builder, op.getLhsScale()));
    op.getRhsScaleMutable().assign(flatten(builder, op.getRhsScale()));
  }

  template <typename Op> static void join(Op op) {
    OpBuilder builder(op);
    joinScales(builder, op);
    op.getLhsMutable().assign(flatten(builder, op.getLhs()));
    op.getRhsMutable().assign(flatten(builder, op.getRhs()));
    auto type = cast<RankedTensorType>(op.getType());
    if (type.getRank() == 2)
      return;
    int64_t columns = type.getShape().back();
    op.getResult().setType(RankedTensorType::get(
        {type.getNumElements() / columns, columns}, type.getElementType()));
    builder.setInsertionPointAfter(op);
    auto whole = ReshapeOp::create(builder, op.getLoc(), type, op.getResult());
    op.getResult().replaceAllUsesExcept(whole, whole);
  }
};

} // namespace
} // namespace zc
