//===- TensorBuilder.h - train ops as arithmetic ----------------*- C++ -*-===//
#ifndef ZC_PASSES_IMPORT_LOWERING_TENSORBUILDER_H
#define ZC_PASSES_IMPORT_LOWERING_TENSORBUILDER_H

#include "dialects/Train/Ops/ShapeOf.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/Builders.h"

namespace zc {

using train::Predicate;
using train::ReduceKind;

/// The type of a tensor, which must have a rank.
inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
int64_t rankOf(mlir::Value value);
mlir::Type elementTypeOf(mlir::Value value);
bool isFloat(mlir::Value value);

/// The shape that numpy broadcasts both to; nullopt if there is none.
std::optional<llvm::SmallVector<int64_t>>
broadcastShapes(llvm::ArrayRef<int64_t> lhs, llvm::ArrayRef<int64_t> rhs);

/// Emits train ops at one location. Elementwise ones take operands of one type;
/// whatever folds to an operand or a constant is folded.
class TensorBuilder {
public:
  TensorBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  // Constants.
  mlir::Value splat(mlir::Type type, double value);
  mlir::Value splatLike(mlir::Value like, double value);
  /// 0, 1, 2, ... of `element` along dim `dim` of `shape`, the same along the
  /// others.
  mlir::Value iota(llvm::ArrayRef<int64_t> shape, int64_t dim,
                   mlir::Type element);
  mlir::Value integers(llvm::ArrayRef<int64_t> values);
  mlir::Value floats(mlir::RankedTensorType type,
                     llvm::ArrayRef<double> values);

  // Elementwise.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, double b) { return add(a, splatLike(a, b)); }
  mlir::Value mul(mlir::Value a, double b) { return mul(a, splatLike(a, b)); }
  mlir::Value div(mlir::Value a, double b) { return div(a, splatLike(a, b)); }
  mlir::Value compare(Predicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value compare(Predicate predicate, mlir::Value a, double b) {
    return compare(predicate, a, splatLike(a, b));
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value convert(mlir::Value value, mlir::Type element);
  /// -x and |x|, of integers too.
  mlir::Value neg(mlir::Value value);
  mlir::Value abs(mlir::Value value);
  /// slope x + offset, rounded once.
  mlir::Value line(mlir::Value value, double slope, double offset);
  /// x sigmoid(alpha x).
  mlir::Value swish(mlir::Value value, double alpha);
  /// An op of one operand, of its type.
  template <typename Op> mlir::Value unary(mlir::Value value) {
    return Op::create(builder, loc, value.getType(), value);
  }

  // Shapes.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  /// As numpy: dims are matched from the last one.
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// Operand dim i becomes dims[i].
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> dims);
  /// `size` elements from `offset` on, `stride` apart, along one dim.
  mlir::Value slice(mlir::Value value, int64_t dim, int64_t offset,
                    int64_t size, int64_t stride = 1);
  /// Zeros around each dim; a negative count takes elements away.
  mlir::Value pad(mlir::Value value, llvm::ArrayRef<int64_t> low,
                  llvm::ArrayRef<int64_t> high);
  mlir::Value concat(mlir::ValueRange values, int64_t dim);
  /// `sizes` elements each along one dim, all of them together.
  llvm::SmallVector<mlir::Value> split(mlir::Value value, int64_t dim,
                                       llvm::ArrayRef<int64_t> sizes);
  /// The first `batchDims` are of both, each with rows of its own.
  mlir::Value gather(mlir::Value table, mlir::Value indices, int64_t dim,
                     int64_t batchDims = 0);
  /// As gather; a slice where the indices count up evenly.
  mlir::Value take(mlir::Value table, llvm::ArrayRef<int64_t> indices,
                   int64_t dim);
  /// Reduced dims disappear, or stay with size 1.
  mlir::Value reduce(ReduceKind kind, mlir::Value value,
                     llvm::ArrayRef<int64_t> dims, bool keepDims = false);
  mlir::Value mean(mlir::Value value, llvm::ArrayRef<int64_t> dims,
                   bool keepDims = false);
  /// Says of each element of a row whether it is `best`, the row's extreme;
  /// where that is NaN, whether it is NaN.
  mlir::Value isExtreme(mlir::Value value, mlir::Value best);
  mlir::Value softmax(mlir::Value value, int64_t dim);
  mlir::Value logSoftmax(mlir::Value value, int64_t dim);
  mlir::Value matmul(mlir::Value lhs, mlir::Value rhs,
                     bool transposeLhs = false, bool transposeRhs = false);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace zc

#endif // ZC_PASSES_IMPORT_LOWERING_TENSORBUILDER_H
