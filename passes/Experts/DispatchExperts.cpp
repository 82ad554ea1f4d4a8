//===- DispatchExperts.cpp - --zc-dispatch-experts ------------------------===//
//
// Rows of experts go to rooms where the first product of a layer reads them,
// and come back behind its last one: what is computed between, row by row, is
// computed in rooms.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/ExpertChoices.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/StateLookup.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Experts/ExpertRooms.h"
#include "passes/Experts/Passes.h"
#include "passes/Experts/StackedParameters.h"

#include <cmath>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_DISPATCHEXPERTSPASS
#include "passes/Experts/Passes.h.inc"

namespace {

RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// One layer: the products by the same groups, in order.
class ExpertLayer {
public:
  ExpertLayer(ArrayRef<GroupedMatmulOp> products, ExpertRooms rooms,
              bool skipsEmpty)
      : products(products),
        groups(GroupedMatmulOp(products.front()).getGroups()),
        rooms(std::move(rooms)), skipsEmpty(skipsEmpty),
        numRows(tensorOf(groups).getDimSize(0)) {}

  void run() {
    findDerived();
    for (GroupedMatmulOp product : products) {
      OpBuilder builder(product);
      Value in = toRooms(builder, product.getRows());
      inRooms[product] = rooms.multiply(builder, in, product, skipsEmpty);
    }
    for (GroupedMatmulOp product : products)
      leaveBehind(product);
    for (Operation *op : llvm::reverse(derivedOps))
      if (isOpTriviallyDead(op))
        op->erase();
  }

private:
  bool hasRows(Value value) const {
    auto type = tensorOf(value);
    return type.getRank() > 0 && type.getDimSize(0) == numRows;
  }

  /// Collects the ops that depend on the products' results, in order.
  void findDerived() {
    for (GroupedMatmulOp product : products)
      derived.insert(product);
    Block &block = *products.front()->getBlock();
    for (Operation &op : block)
      if (llvm::is_contained(products, &op) ||
          llvm::any_of(op.getOperands(),
                       [&](Value each) { return derived.contains(each); })) {
        derivedOps.push_back(&op);
        derived.insert(op.result_begin(), op.result_end());
      }
  }

  Value toRooms(OpBuilder &builder, Value rows) {
    if (auto found = inRooms.find(rows); found != inRooms.end())
      return found->second;
    Value made = derived.contains(rows) ? computeInRooms(builder, rows)
                                        : spreadInRooms(builder, rows);
    if (!made)
      made = rooms.enter(builder, rows, /*marksEmpty=*/skipsEmpty);
    return inRooms[rows] = made;
  }

  /// Builds `rows` in rooms if they depend only on each row's expert; else
  /// null.
  Value spreadInRooms(OpBuilder &builder, Value rows) {
    Location loc = rows.getLoc();
    RankedTensorType type = rooms.typeOf(rows.getType());
    DenseElementsAttr constant;
    if (matchPattern(rows, m_Constant(&constant)) && constant.isSplat())
      return ConstantOp::create(builder, loc, constant.resizeSplat(type));
    if (auto spread = rows.getDefiningOp<BroadcastOp>();
        spread && !llvm::is_contained(spread.getDims(), 0)) {
      auto dims = llvm::map_to_vector(spread.getDims(),
                                      [](int64_t dim) { return dim + 1; });
      return broadcast(builder, loc, spread.getInput(), type.getShape(), dims);
    }
    auto gather = rows.getDefiningOp<GatherOp>();
    bool isOfExpert =
        gather && gather.getIndices() == groups && gather.getDim() == 0 &&
        gather.getBatchDims() == 0 &&
        tensorOf(gather.getTable()).getDimSize(0) == rooms.shape().experts;
    if (!isOfExpert)
      return {};
    SmallVector<int64_t> dims{0};
    for (int64_t dim = 2; dim < type.getRank(); ++dim)
      dims.push_back(dim);
    return broadcast(builder, loc, gather.getTable(), type.getShape(), dims);
  }

  /// Clones an op that works row by row to compute on rooms; null for another
  /// op.
  Value computeInRooms(OpBuilder &builder, Value rows) {
    Operation *op = rows.getDefiningOp();
    if (!worksByRow(op))
      return {};
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, rooms.clear(toRooms(builder, operand)));
    Operation *copy = builder.clone(*op, mapping);
    for (Value result : copy->getResults())
      result.setType(rooms.typeOf(result.getType()));
    shiftDims(copy);
    for (auto [old, made] : llvm::zip(op->getResults(), copy->getResults()))
      inRooms[old] = made;
    return inRooms[rows];
  }

  bool worksByRow(Operation *op) const {
    if (!llvm::all_of(op->getOperands(),
                      [&](Value each) { return hasRows(each); }) ||
        !llvm::all_of(op->getResults(),
                      [&](Value each) { return hasRows(each); }))
      return false;
    if (isa<ElementwiseOpInterface, ReshapeOp>(op))
      return true;
    if (auto slice = dyn_cast<SliceOp>(op))
      return slice.getOffsets().front() == 0 && slice.getStrides().front() == 1;
    if (auto spread = dyn_cast<BroadcastOp>(op))
      return !spread.getDims().empty() && spread.getDims().front() == 0;
    if (auto split = dyn_cast<SplitOp>(op))
      return split.getDim() != 0;
    auto concat = dyn_cast<ConcatOp>(op);
    return concat && concat.getDim() != 0;
  }

  /// One dim more stands at the front.
  static void shiftDims(Operation *op) {
    if (auto slice = dyn_cast<SliceOp>(op)) {
      SmallVector<int64_t> offsets(slice.getOffsets()),
          strides(slice.getStrides());
      offsets.insert(offsets.begin(), 0);
      strides.insert(strides.begin(), 1);
      slice.setOffsets(offsets);
      slice.setStrides(strides);
    } else if (auto spread = dyn_cast<BroadcastOp>(op)) {
      SmallVector<int64_t> dims{0};
      for (int64_t dim : spread.getDims())
        dims.push_back(dim + 1);
      spread.setDims(dims);
    } else if (auto split = dyn_cast<SplitOp>(op)) {
      split.setDim(split.getDim() + 1);
    } else if (auto concat = dyn_cast<ConcatOp>(op)) {
      concat.setDim(concat.getDim() + 1);
    }
  }

  /// Whether a value that is no row of the layer costs no exchange in rooms.
  bool isSpread(Value value) const {
    auto gather = value.getDefiningOp<GatherOp>();
    auto spread = value.getDefiningOp<BroadcastOp>();
    DenseElementsAttr constant;
    return (gather && gather.getIndices() == groups) ||
           (spread && !llvm::is_contained(spread.getDims(), 0)) ||
           (matchPattern(value, m_Constant(&constant)) && constant.isSplat());
  }

  /// Behind a product, and what only adds the experts' own to it, such as a
  /// bias, rooms become rows for those who still want rows.
  void leaveBehind(GroupedMatmulOp product) {
    Value rows = product;
    while (rows.hasOneUse()) {
      Operation *user = *rows.user_begin();
      bool goesOn = isa<ElementwiseOpInterface>(user) && worksByRow(user) &&
                    llvm::all_of(user->getOperands(), [&](Value operand) {
                      return operand == rows || isSpread(operand);
                    });
      if (!goesOn)
        break;
      OpBuilder builder(user);
      Value next = user->getResult(0);
      toRooms(builder, next);
      rows = next;
    }
    bool isWanted = llvm::any_of(rows.getUsers(), [&](Operation *user) {
      return !llvm::all_of(user->getResults(), [&](Value result) {
        return inRooms.contains(result);
      }) || user->getNumResults() == 0;
    });
    if (!isWanted)
      return;
    OpBuilder builder(rows.getContext());
    builder.setInsertionPointAfterValue(rows);
    Value left = rooms.leave(builder, inRooms.at(rows));
    rows.replaceUsesWithIf(left, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      return user->getNumResults() == 0 ||
             !llvm::all_of(user->getResults(), [&](Value result) {
               return inRooms.contains(result);
             });
    });
  }

  SmallVector<GroupedMatmulOp> products;
  Value groups;
  ExpertRooms rooms;
  bool skipsEmpty;
  int64_t numRows;
  DenseSet<Value> derived;
  SmallVector<Operation *> derivedOps;
  DenseMap<Value, Value> inRooms;
};

struct DispatchExperts : public impl::DispatchExpertsPassBase<DispatchExperts> {
  using DispatchExpertsPassBase::DispatchExpertsPassBase;

  void runOnOperation() override {
    bool any = false;
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      llvm::MapVector<Value, SmallVector<GroupedMatmulOp>> layers;
      program.walk([&](GroupedMatmulOp op) {
        if (tensorOf(op.getRows()).getRank() == 2)
          layers[op.getGroups()].push_back(op);
      });
      for (auto &[groups, products] : layers) {
        any = true;
        if (ownRooms && !products.front().getRoomCapacity())
          continue;
        if (failed(dispatch(program, groups, products)))
          return signalPassFailure();
        ++numLayers;
      }
    }
    bool isAskedFor = capacity > 0 || !axis.empty();
    if (!any && isAskedFor) {
      getOperation().emitError()
          << (axis.empty() ? "a capacity of experts"
                           : "axis '" + axis.getValue() + "'")
          << " is given, but the model has no experts that zc knows: products "
             "with weights looked up by the choices of a TopK, as transformers "
             "exports them with experts_implementation=\"batched_mm\", or "
             "com.microsoft.MoE";
      signalPassFailure();
    }
  }

private:
  LogicalResult dispatch(func::FuncOp program, Value groups,
                         ArrayRef<GroupedMatmulOp> products) {
    GroupedMatmulOp first = products.front();
    int64_t rows = tensorOf(groups).getDimSize(0);
    RoomShape shape;
    shape.divided = !axis.empty();
    shape.choices = countChoices(first);
    shape.experts = first.getExperts();
    FailureOr<int64_t> count = countGroups(program, first, rows, shape.choices);
    if (failed(count))
      return failure();
    shape.groups = *count;
    shape.rows = rows / shape.groups;
    int64_t tokens = shape.rows / shape.choices;
    const auto own = int64_t(first.getRoomCapacity().value_or(0));
    bool isLimited = capacity > 0 || own > 0;
    shape.capacity = tokens;
    if (capacity > 0)
      shape.capacity = std::clamp<int64_t>(
          std::ceil(double(shape.rows) / double(shape.experts) * capacity), 1,
          tokens);
    else if (own > 0)
      shape.capacity = own;
    if (shape.experts % ranks != 0)
      return first.emitError("its ")
             << shape.experts << " experts do not divide among the "
             << ranks.getValue() << " ranks of " << axis.getValue();
    if (shape.divided && own > 0 && capacity <= 0 && shape.groups % ranks != 0)
      return first.emitError(
                 "the model's file has tokens share room in groups, "
                 "here ")
             << shape.groups << " of " << tokens
             << " tokens, which do not divide among the " << ranks.getValue()
             << " ranks of " << axis.getValue()
             << "; --moe-capacity gives room to each sample instead";
    if (shape.divided && failed(divideWeights(products)))
      return failure();
    OpBuilder builder(first);
    ExpertRooms rooms(builder, first.getLoc(), groups, shape);
    ExpertLayer(products, std::move(rooms), /*skipsEmpty=*/!isLimited).run();
    return success();
  }

  /// Counts the groups of the file's own rooms; else the samples, or one group
  /// of all tokens where there are none.
  FailureOr<int64_t> countGroups(func::FuncOp program, GroupedMatmulOp op,
                                 int64_t rows, int64_t choices) {
    int64_t tokens = rows / choices;
    int64_t own = capacity > 0 ? 0 : int64_t(op.getRoomGroups().value_or(0));
    if (own > 0)
      return own;
    if (groupTokens > 0) {
      if (tokens % groupTokens != 0)
        return op.emitError("groups of ")
               << groupTokens.getValue() << " tokens do not divide its "
               << tokens;
      return tokens / groupTokens;
    }
    for (BlockArgument argument : program.getArguments())
      if (auto dim = program.getArgAttrOfType<IntegerAttr>(
              argument.getArgNumber(), kBatchDimAttr)) {
        int64_t samples = tensorOf(argument).getDimSize(dim.getInt());
        if (tokens % samples == 0)
          return samples;
      }
    return int64_t(1);
  }

  /// Weights and biases of experts are where these are.
  LogicalResult divideWeights(ArrayRef<GroupedMatmulOp> products) {
    for (GroupedMatmulOp product : products)
      if (!divideStacked(product.getWeights()))
        return product.emitError()
               << "its experts' weights are computed"
               << (!product.getWeights().getDefiningOp<ConcatOp>() ? ""
                   : packParameters
                       ? ", stacked of what are no parameters of one expert "
                         "each, alike and used here alone"
                       : ", stacked of parameters of one expert each, whose "
                         "rows and columns the optimizer looks at one by one")
               << "; expected a parameter, whose dim 0 counts experts, to "
                  "divide over "
               << axis.getValue()
               << ": stack them in the model, as torch.stack does once and "
                  "tools/export/zc_moe.py's MoE has them, or divide the batch "
                  "by dp and weights by --zero 3 instead";
    SmallVector<GatherOp> tables;
    for (Operation *user :
         GroupedMatmulOp(products.front()).getGroups().getUsers())
      if (auto gather = dyn_cast<GatherOp>(user);
          gather && gather.getDim() == 0)
        tables.push_back(gather);
    for (GatherOp gather : tables)
      divideStacked(gather.getTable());
    return success();
  }

  bool divideStacked(Value stacked) {
    StateOp state = findStacked(stacked);
    if (!state && packParameters)
      state = packStacked(stacked);
    if (state)
      divide(state);
    return bool(state);
  }

  void divide(StateOp state) {
    Builder builder(&getContext());
    SmallVector<ArrayAttr> dims(state.getTensorType().getRank(),
                                builder.getArrayAttr({}));
    dims.front() = builder.getArrayAttr({builder.getStringAttr(axis)});
    state->setAttr(dist::kShardingAttr,
                   dist::ShardingAttr::get(&getContext(), dims, {}));
    state.setWhy("dim 0 counts experts");
  }
};

} // namespace
} // namespace zc
