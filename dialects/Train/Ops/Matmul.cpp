//===- Matmul.cpp - train.matmul ----------------------------------------===//
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/OpMarks.h"
#include "dialects/Train/Ops/MatmulSupport.h"

using namespace mlir;

namespace zc::train {

static MatmulShape shapeOfMatmul(MatmulOp op) {
  return {op.getLhs(), op.getRhs(), op.getTransposeLhs(), op.getTransposeRhs()};
}

/// Two types of 8-bit floats, and a weight's name where scales are delayed.
static LogicalResult verifyFloat8(MatmulOp op) {
  ArrayAttr said = op.getFloat8Attr();
  auto isType = [&](unsigned index) {
    auto type = dyn_cast<TypeAttr>(said[index]);
    return type && isFloat8(type.getValue());
  };
  if (!said || ((said.size() == 2 || said.size() == 3) && isType(0) &&
                isType(1) && (said.size() == 2 || isa<StringAttr>(said[2]))))
    return success();
  return op.emitOpError("expected two types of 8-bit floats, and a weight's "
                        "name, in float8, found ")
         << said;
}

LogicalResult MatmulOp::verify() {
  if (failed(verifyFloat8(*this)))
    return failure();
  return verifyMatmul(*this, shapeOfMatmul(*this),
                      cast<RankedTensorType>(getType()));
}

ShardingRule MatmulOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  addMatmulFactors(rule, shapeOfMatmul(*this), /*lhsIndex=*/0,
                   /*splitSum=*/true);
  rule.linearity.assign(2, Linearity::Separate);
  return rule;
}

double MatmulOp::getFlops() {
  MatmulShape shape = shapeOfMatmul(*this);
  auto lhs = cast<RankedTensorType>(getLhs().getType());
  double sum = shape.extents()[1];
  if (shape.isOfRows())
    sum = double(lhs.getShape().back());
  else if (shape.sumsRows(cast<RankedTensorType>(getType()).getRank()))
    sum = double(lhs.getNumElements()) / double(lhs.getShape().back());
  return 2.0 * numElements(getType()) * sum;
}

void MatmulOp::buildLinalg(OpBuilder &builder, Location loc, ValueRange inputs,
                           ValueRange outputs) {
  buildFill(builder, loc, outputs[0], 0);
  buildMatmulProduct(builder, loc, inputs, outputs[0], getTransposeLhs(),
                     getTransposeRhs());
}

namespace {
/// A factor of a gradient, and the 8-bit type that it is rounded to, or none.
struct Factor {
  Value value;
  Type rounded;
};

/// Builds products that are rounded to 8 bits where `op` is.
class GradientBuilder {
public:
  GradientBuilder(OpBuilder &builder, MatmulOp op, Value grad)
      : lhs{op.getLhs(), {}}, rhs{op.getRhs(), {}}, grad{grad, {}},
        builder(builder), loc(op.getLoc()) {
    ArrayAttr types = op.getFloat8Attr();
    if (!types)
      return;
    rest.append(types.begin() + 2, types.end());
    lhs.rounded = cast<TypeAttr>(types[0]).getValue();
    rhs.rounded = cast<TypeAttr>(types[1]).getValue();
    // Gradients spread over more magnitudes than values.
    this->grad.rounded = Float8E5M2Type::get(builder.getContext());
  }

  Value multiply(Type type, Factor a, bool transposeA, Factor b,
                 bool transposeB) {
    auto product = MatmulOp::create(builder, loc, type, a.value, b.value,
                                    transposeA, transposeB);
    if (a.rounded)
      product.setFloat8Attr(describe(a, b));
    return product;
  }

  Factor lhs, rhs, grad;

private:
  ArrayAttr describe(const Factor &a, const Factor &b) {
    SmallVector<Attribute> entries = {TypeAttr::get(a.rounded),
                                      TypeAttr::get(b.rounded)};
    llvm::append_range(entries, rest);
    return builder.getArrayAttr(entries);
  }

  OpBuilder &builder;
  Location loc;
  SmallVector<Attribute> rest; // what else the op says of its rounding
};
} // namespace

LogicalResult MatmulOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                            ArrayRef<bool> wanted,
                            MutableArrayRef<Value> operandGrads) {
  // C = A B: dA = dC B^T and dB = A^T dC, each stored as its operand is.
  if (cast<RankedTensorType>(getType()).getRank() <
      cast<RankedTensorType>(getLhs().getType()).getRank())
    return emitOpError("that sums over rows of several dims is a gradient "
                       "itself, and has none");
  GradientBuilder g(builder, *this, resultGrads[0]);
  bool ta = getTransposeLhs(), tb = getTransposeRhs();
  if (wanted[0])
    operandGrads[0] =
        ta ? g.multiply(getLhs().getType(), g.rhs, tb, g.grad, true)
           : g.multiply(getLhs().getType(), g.grad, false, g.rhs, !tb);
  if (wanted[1])
    operandGrads[1] =
        tb ? g.multiply(getRhs().getType(), g.grad, true, g.lhs, ta)
           : g.multiply(getRhs().getType(), g.lhs, !ta, g.grad, false);
  return success();
}

// A transpose of the last two dims is a flag of the matmul that reads it.
static Value untranspose(Value operand) {
  auto transpose = operand.getDefiningOp<TransposeOp>();
  if (!transpose)
    return nullptr;
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  int64_t rank = permutation.size();
  for (int64_t dim = 0; dim < rank - 2; ++dim)
    if (permutation[dim] != dim)
      return nullptr;
  return permutation[rank - 1] == rank - 2 ? transpose.getInput() : nullptr;
}

static LogicalResult foldTransposes(MatmulOp op, PatternRewriter &rewriter) {
  int64_t rank = cast<RankedTensorType>(op.getType()).getRank();
  for (Value operand : op->getOperands())
    if (cast<RankedTensorType>(operand.getType()).getRank() != rank)
      return failure(); // of rows of several dims, which have one form each
  Value lhs = untranspose(op.getLhs()), rhs = untranspose(op.getRhs());
  if (!lhs && !rhs)
    return failure();
  auto folded = MatmulOp::create(
      rewriter, op.getLoc(), op.getType(), lhs ? lhs : op.getLhs(),
      rhs ? rhs : op.getRhs(), op.getTransposeLhs() != static_cast<bool>(lhs),
      op.getTransposeRhs() != static_cast<bool>(rhs));
  folded.setFloat8Attr(op.getFloat8Attr());
  replaceMarked(rewriter, op, folded);
  return success();
}

void MatmulOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add(foldTransposes);
}

Precision MatmulOp::getPrecision() { return Precision::Narrow; }

bool MatmulOp::accumulates(unsigned) { return true; }

} // namespace zc::train
