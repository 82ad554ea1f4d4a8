#include "passes/Import/ChosenRows.h"

#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/IR/Matchers.h"
#include "passes/Import/Lowering/TensorBuilder.h"

using namespace mlir;
using namespace zc;
using namespace zc::train;

ChosenRows::ChosenRows(OpBuilder &builder, Location loc, const Choices &choices,
                       int64_t experts)
    : builder(builder), loc(loc), experts(experts),
      chosen(typeOf(choices.weights).getShape().back()),
      tokens(typeOf(choices.weights).getNumElements() / chosen) {
  auto number = [&](double value) {
    return splat(builder, loc, choices.chosen.getType(), value);
  };
  Value outside = OrOp::create(
      builder, loc,
      compare(builder, loc, Predicate::Lt, choices.chosen, number(0)),
      compare(builder, loc, Predicate::Ge, choices.chosen,
              number(double(experts))));
  Value inside = SelectOp::create(
      builder, loc, outside, number(choices.mayBeNone ? double(experts) : 0),
      choices.chosen);
  groups = reshape(builder, loc, inside, {tokens * chosen});
  Value none = splat(builder, loc, choices.weights.getType(), 0);
  weights = SelectOp::create(builder, loc, outside, none, choices.weights);
  ids = IotaOp::create(
      builder, loc,
      RankedTensorType::get({experts}, typeOf(choices.chosen).getElementType()),
      1);
}

RankedTensorType ChosenRows::typeLike(Value like, int64_t width) const {
  return withShape(like.getType(), {tokens * chosen, width});
}

Value ChosenRows::repeat(Value value) {
  int64_t width = typeOf(value).getShape().back();
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)) && constant.isSplat())
    return ConstantOp::create(builder, loc,
                              constant.resizeSplat(typeLike(value, width)));
  Value flat = reshape(builder, loc, value, {tokens, width});
  Value each = broadcast(builder, loc, flat, {tokens, chosen, width}, {0, 2});
  return reshape(builder, loc, each, {tokens * chosen, width});
}

Value ChosenRows::multiply(Value rows, Value matrices, bool transposed) {
  int64_t width = typeOf(matrices).getDimSize(transposed ? 1 : 2);
  auto product = GroupedMatmulOp::create(
      builder, loc, typeLike(rows, width), rows, matrices, groups, ids,
      ValueRange(), experts, APFloat(1.0), transposed,
      /*room_groups=*/IntegerAttr(), /*room_capacity=*/IntegerAttr());
  if (limits) {
    product.setRoomGroups(limits->first);
    product.setRoomCapacity(limits->second);
  }
  return product;
}

Value ChosenRows::lookUp(Value table) {
  return GatherOp::create(builder, loc,
                          typeLike(table, typeOf(table).getDimSize(1)), table,
                          groups, 0);
}

Value ChosenRows::sum(Value rows, Value like) {
  int64_t width = typeOf(rows).getShape().back();
  Value flat = reshape(builder, loc, weights, {tokens * chosen});
  Value spread = broadcast(builder, loc, flat, {tokens * chosen, width}, {0});
  Value product = MulOp::create(builder, loc, rows, spread);
  Value split = reshape(builder, loc, product, {tokens, chosen, width});
  return reshape(builder, loc, reduceSum(builder, loc, split, {1}),
                 typeOf(like).getShape());
}
