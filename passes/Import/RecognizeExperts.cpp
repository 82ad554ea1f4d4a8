//===- RecognizeExperts.cpp - matrices looked up by row -------------------===//
//
// Each row is multiplied by one of a few matrices, which an index chooses: a
// router's choice. A lookup before the matmul makes as many matrices as rows;
// one op for both reads each matrix where it lies, with all of its rows at
// once.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Import/ChosenRows.h"
#include "passes/Import/Lowering/TensorBuilder.h"
#include "passes/Import/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_RECOGNIZEEXPERTSPASS
#include "passes/Import/Passes.h.inc"

namespace {

/// A table [E, A, B] of matrices and the indices by which `value`, [indices...,
/// A, B] or with these swapped, was looked up.
struct LookedUp {
  Value table, indices;
  bool swapped;
};

std::optional<LookedUp> matchLookUp(Value value) {
  bool swapped = false;
  if (auto transpose = value.getDefiningOp<TransposeOp>()) {
    ArrayRef<int64_t> order = transpose.getPermutation();
    int64_t rank = order.size();
    auto expected = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    if (rank < 2)
      return std::nullopt;
    std::swap(expected[rank - 1], expected[rank - 2]);
    if (order != ArrayRef(expected))
      return std::nullopt;
    swapped = true;
    value = transpose.getInput();
  }
  auto gather = value.getDefiningOp<GatherOp>();
  if (!gather || gather.getDim() != 0 || gather.getBatchDims() != 0 ||
      gather.getPaddingIndex() || typeOf(gather.getTable()).getRank() != 3 ||
      typeOf(gather.getIndices()).getNumElements() == 0)
    return std::nullopt;
  return LookedUp{gather.getTable(), gather.getIndices(), swapped};
}

/// Whether negative indices were given their place from the beginning before.
bool countsFromBeginning(Value indices) {
  while (auto view = indices.getDefiningOp<ReshapeOp>())
    indices = view.getInput();
  auto select = indices.getDefiningOp<SelectOp>();
  auto compare =
      select ? select.getCondition().getDefiningOp<CompareOp>() : CompareOp();
  return compare && compare.getPredicate() == Predicate::Lt &&
         compare.getLhs() == select.getOnFalse();
}

/// One index for each of `columns` rows of the batch, in a row, none negative.
Value makeGroups(OpBuilder &builder, Location loc, const LookedUp &lookedUp,
                 int64_t columns) {
  RankedTensorType type = typeOf(lookedUp.indices);
  int64_t count = type.getNumElements();
  Value groups = reshape(builder, loc, lookedUp.indices, {count});
  if (!countsFromBeginning(lookedUp.indices)) {
    int64_t experts = typeOf(lookedUp.table).getDimSize(0);
    Value zero = splat(builder, loc, groups.getType(), 0);
    Value all = splat(builder, loc, groups.getType(), double(experts));
    Value fromEnd = AddOp::create(builder, loc, groups, all);
    groups = SelectOp::create(
        builder, loc, groups.getType(),
        compare(builder, loc, Predicate::Lt, groups, zero), fromEnd, groups);
  }
  if (columns == 1)
    return groups;
  Value each = broadcast(builder, loc, groups, {count, columns}, {0});
  return reshape(builder, loc, each, {count * columns});
}

/// With the last two dims swapped; a reshape where one of them is 1.
Value swapLast(OpBuilder &builder, Value value) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  int64_t rank = shape.size();
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(order[rank - 1], order[rank - 2]);
  std::swap(shape[rank - 1], shape[rank - 2]);
  if (shape[rank - 1] == 1 || shape[rank - 2] == 1)
    return reshape(builder, value.getLoc(), value, shape);
  return transpose(builder, value.getLoc(), value, order);
}

/// Gives all products of a layer one value for their groups, so that they are
/// seen as one layer.
class GroupTable {
public:
  struct Groups {
    Value groups, ids;
  };

  Groups get(OpBuilder &builder, Location loc, const LookedUp &lookedUp,
             int64_t columns) {
    int64_t experts = typeOf(lookedUp.table).getDimSize(0);
    Groups &found =
        made[{builder.getBlock(), lookedUp.indices, {columns, experts}}];
    if (found.groups)
      return found;
    found.groups = makeGroups(builder, loc, lookedUp, columns);
    found.ids = IotaOp::create(
        builder, loc, RankedTensorType::get({experts}, builder.getI64Type()),
        1);
    return found;
  }

private:
  using Key = std::tuple<Block *, Value, std::pair<int64_t, int64_t>>;
  DenseMap<Key, Groups> made;
};

/// [batch..., M, K] x looked up [batch..., K, N]; or, as its transpose, looked
/// up [batch..., M, K] x [batch..., K, N].
void replace(MatmulOp op, const LookedUp &lookedUp, bool isLeft,
             GroupTable &table) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value rows = isLeft ? op.getRhs() : op.getLhs();
  bool rowsSwapped = isLeft ? !op.getTransposeRhs() : op.getTransposeLhs();
  bool tableSwapped = (isLeft ? !op.getTransposeLhs() : op.getTransposeRhs()) !=
                      lookedUp.swapped;
  if (rowsSwapped)
    rows = swapLast(builder, rows);
  ArrayRef<int64_t> shape = typeOf(rows).getShape();
  int64_t inner = shape.back(), columns = shape[shape.size() - 2];
  int64_t count = typeOf(rows).getNumElements() / inner;
  RankedTensorType matrices = typeOf(lookedUp.table);
  int64_t experts = matrices.getDimSize(0);
  auto [groups, ids] = table.get(builder, loc, lookedUp, columns);
  int64_t width = matrices.getDimSize(tableSwapped ? 1 : 2);
  Value product = GroupedMatmulOp::create(
      builder, loc, withShape(op.getType(), {count, width}),
      reshape(builder, loc, rows, {count, inner}), lookedUp.table, groups, ids,
      ValueRange(), experts, APFloat(1.0), tableSwapped,
      /*room_groups=*/IntegerAttr(), /*room_capacity=*/IntegerAttr());
  SmallVector<int64_t> batch(shape.drop_back());
  batch.push_back(width);
  Value result = reshape(builder, loc, product, batch);
  op.replaceAllUsesWith(isLeft ? swapLast(builder, result) : result);
  op.erase();
}

struct RecognizeExperts
    : public impl::RecognizeExpertsPassBase<RecognizeExperts> {
  void runOnOperation() override {
    numRecognized += replaceMaskedExperts(getOperation());
    numRecognized += replaceStackedExperts(getOperation());
    numRecognized += replaceRoutedExperts(getOperation());
    GroupTable table;
    SmallVector<MatmulOp> products;
    getOperation().walk([&](MatmulOp op) { products.push_back(op); });
    for (MatmulOp op : products) {
      auto rhs = matchLookUp(op.getRhs()), lhs = matchLookUp(op.getLhs());
      if (!rhs == !lhs)
        continue; // none, or each row a product of its own
      ++numRecognized;
      Value gathered = rhs ? op.getRhs() : op.getLhs();
      replace(op, rhs ? *rhs : *lhs, /*isLeft=*/!rhs, table);
      eraseUnused(gathered);
    }
  }

  static void eraseUnused(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!op->use_empty() || !isa<TransposeOp, GatherOp>(op))
        return;
      value = op->getOperand(0);
      op->erase();
    }
  }
};

} // namespace
} // namespace zc
