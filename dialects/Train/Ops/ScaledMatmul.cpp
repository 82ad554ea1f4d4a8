//===- ScaledMatmul.cpp - train.scaled_matmul -----------------------------===//
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/Ops/MatmulSupport.h"

#include <numeric>

using namespace mlir;

namespace zc::train {

static MatmulShape shapeOfProduct(ScaledMatmulOp op) {
  return {op.getLhs(), op.getRhs(), op.getTransposeLhs(), op.getTransposeRhs()};
}

static ArrayRef<int64_t> shapeOfFactor(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

bool ScaledMatmulOp::hasBlocks() {
  return !shapeOfFactor(getLhsScale()).empty();
}

/// The elements of a factor that have one scale, by dim; empty where they do
/// not divide the factor.
static SmallVector<int64_t> scaleBlocksOf(ArrayRef<int64_t> factor,
                                          ArrayRef<int64_t> scale) {
  SmallVector<int64_t> blocks;
  for (auto [whole, parts] : llvm::zip(factor, scale)) {
    if (parts == 0 || whole % parts != 0)
      return {};
    blocks.push_back(whole / parts);
  }
  return blocks;
}

/// The scales of packed blocks, as libraries read them.
static bool isPackedScale(ArrayRef<int64_t> factor, ArrayRef<int64_t> scale) {
  if (factor.size() != 2 || scale.size() != 2 || factor[1] % kFloat8Block != 0)
    return false;
  const int64_t sums = factor[1] / kFloat8Block;
  return scale == ArrayRef<int64_t>({sums, factor[0]}) ||
         scale == ArrayRef<int64_t>({factor[0] / kFloat8Block,
                                     int64_t(llvm::alignTo(sums, 4))});
}

LogicalResult ScaledMatmulOp::verify() {
  for (auto [factor, scale] : {std::pair(getLhs(), getLhsScale()),
                               std::pair(getRhs(), getRhsScale())}) {
    auto type = cast<RankedTensorType>(scale.getType());
    if (!type.getElementType().isF32() || (type.getRank() != 0) != hasBlocks())
      return emitOpError("expected scales of type tensor<f32>, or both of "
                         "blocks, found ")
             << type;
    if (!hasBlocks())
      continue;
    ArrayRef<int64_t> whole = shapeOfFactor(factor);
    const bool isSound =
        getPackedScales() ? isPackedScale(whole, type.getShape())
                          : type.getRank() == int64_t(whole.size()) &&
                                !scaleBlocksOf(whole, type.getShape()).empty();
    if (!isSound)
      return emitOpError("scales of ")
             << type << " do not divide a factor of " << factor.getType();
  }
  if (getPackedScales() &&
      (!hasBlocks() || getTransposeLhs() || !getTransposeRhs()))
    return emitOpError("packed scales are of blocks of [M, K] and [N, K]");
  return verifyMatmul(*this, shapeOfProduct(*this),
                      cast<RankedTensorType>(getType()));
}

/// A rank has whole blocks, and their scales.
static void divideBlocks(ScaledMatmulOp op, ShardingRule &rule) {
  for (unsigned index : {0, 1}) {
    ArrayRef<int64_t> scale = shapeOfFactor(op->getOperand(index + 2));
    for (auto [dim, factor] : llvm::enumerate(rule.operandDims[index])) {
      if (factor == ShardingRule::kWhole)
        continue;
      int64_t &size = rule.factors[factor].size;
      size = std::gcd(size, scale[dim]);
      rule.operandDims[index + 2][dim] = factor;
    }
  }
}

ShardingRule ScaledMatmulOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  if (getPackedScales()) // made for the parts of a rank
    return rule;
  addMatmulFactors(rule, shapeOfProduct(*this), /*lhsIndex=*/0,
                   /*splitSum=*/true);
  if (hasBlocks())
    divideBlocks(*this, rule);
  return rule;
}

double ScaledMatmulOp::getFlops() {
  MatmulShape shape = shapeOfProduct(*this);
  auto lhs = cast<RankedTensorType>(getLhs().getType());
  double sum = double(shape.extents()[1]);
  if (shape.isOfRows())
    sum = double(lhs.getShape().back());
  else if (shape.sumsRows(cast<RankedTensorType>(getType()).getRank()))
    sum = double(lhs.getNumElements()) / double(lhs.getShape().back());
  return 2.0 * numElements(getType()) * sum;
}

namespace {
/// The loops of a product whose factors have blocks: one over blocks of a dim
/// is two, which block and where in it.
class BlockLoops {
public:
  BlockLoops(OpBuilder &builder, Location loc, const MatmulMaps &maps)
      : builder(builder), loc(loc), blocks(maps.loops, 1) {}

  /// Lets the loops that `factor` runs over have `sizes` elements a block.
  void split(AffineMap factor, ArrayRef<int64_t> sizes) {
    for (auto [dim, size] : llvm::zip(factor.getResults(), sizes)) {
      int64_t &block = blocks[cast<AffineDimExpr>(dim).getPosition()];
      block = std::max(block, size);
    }
  }

  /// Adds a buffer whose element d along a dim of `map` is of as many elements
  /// of the loop as `sizes` says: 1, or a whole block.
  void add(Value buffer, AffineMap map, ArrayRef<int64_t> sizes) {
    SmallVector<int64_t> shape, strides;
    SmallVector<AffineExpr> places;
    for (auto [dim, size, extent] :
         llvm::zip(map.getResults(), sizes, shapeOf(buffer))) {
      unsigned loop = cast<AffineDimExpr>(dim).getPosition();
      const int64_t inner = size == 1 ? blocks[loop] : 1;
      shape.append({extent / inner, inner});
      places.append({builder.getAffineDimExpr(2 * loop),
                     inner == blocks[loop]
                         ? builder.getAffineDimExpr(2 * loop + 1)
                         : builder.getAffineConstantExpr(0)});
    }
    strides.assign(shape.size(), 1);
    for (size_t dim = shape.size() - 1; dim > 0; --dim)
      strides[dim - 1] = strides[dim] * shape[dim];
    auto type = MemRefType::get(
        shape, cast<MemRefType>(buffer.getType()).getElementType());
    views.push_back(memref::ReinterpretCastOp::create(
        builder, loc, type, buffer, /*offset=*/0, shape, strides));
    maps.push_back(
        AffineMap::get(2 * blocks.size(), 0, places, builder.getContext()));
  }

  SmallVector<Value> views;
  SmallVector<AffineMap> maps;

private:
  OpBuilder &builder;
  Location loc;
  SmallVector<int64_t> blocks;
};
} // namespace

static void buildScaledBlocks(ScaledMatmulOp op, OpBuilder &builder,
                              Location loc, ValueRange inputs,
                              ValueRange outputs) {
  MatmulMaps maps = getMatmulMaps(builder, inputs, outputs[0],
                                  op.getTransposeLhs(), op.getTransposeRhs());
  const AffineMap factors[] = {maps.lhs, maps.rhs};
  BlockLoops loops(builder, loc, maps);
  SmallVector<SmallVector<int64_t>> sizes;
  for (auto [index, map] : llvm::enumerate(factors)) {
    sizes.push_back(
        scaleBlocksOf(shapeOf(inputs[index]), shapeOf(inputs[index + 2])));
    loops.split(map, sizes.back());
  }
  const SmallVector<int64_t> ones(maps.loops, 1);
  for (auto [index, map] : llvm::enumerate(factors))
    loops.add(inputs[index], map, ones);
  for (auto [index, map] : llvm::enumerate(factors))
    loops.add(inputs[index + 2], map, sizes[index]);
  loops.add(outputs[0], maps.result, ones);
  buildGeneric(builder, loc, 2 * maps.loops, loops.maps,
               ValueRange(loops.views).drop_back(), loops.views.back(),
               [](OpBuilder &nested, Location at, ValueRange e) {
                 ScalarBuilder s(nested, at);
                 Value product = s.mul(s.mul(e[0], e[1]), s.mul(e[2], e[3]));
                 return SmallVector<Value>{s.add(e[4], product)};
               });
}

void ScaledMatmulOp::buildLinalg(OpBuilder &builder, Location loc,
                                 ValueRange inputs, ValueRange outputs) {
  buildFill(builder, loc, outputs[0], 0);
  if (hasBlocks())
    return buildScaledBlocks(*this, builder, loc, inputs, outputs);
  buildMatmulProduct(builder, loc, inputs.take_front(2), outputs[0],
                     getTransposeLhs(), getTransposeRhs());
  unsigned rank = shapeOf(outputs[0]).size();
  AffineMap scalar = AffineMap::get(rank, 0, builder.getContext());
  buildGeneric(builder, loc, rank, {scalar, scalar, identityMap(builder, rank)},
               inputs.drop_front(2), outputs,
               [](OpBuilder &nested, Location at, ValueRange e) {
                 ScalarBuilder s(nested, at);
                 return SmallVector<Value>{s.mul(e[2], s.mul(e[0], e[1]))};
               });
}

bool ScaledMatmulOp::accumulates(unsigned) { return true; }

} // namespace zc::train
