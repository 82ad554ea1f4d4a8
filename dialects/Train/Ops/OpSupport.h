//===- OpSupport.h - what the ops' rooms share ------------------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_OPSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_OPSUPPORT_H

#include "dialects/Train/Ops/ShapeOf.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSwitch.h"

namespace zc::train {

// --- Building train ops (vjp rules, lowerings)
// ---------------------------------

/// `type` with another shape, or another element type.
mlir::RankedTensorType withShape(mlir::Type type,
                                 llvm::ArrayRef<int64_t> shape);
mlir::RankedTensorType withElementType(mlir::Type type, mlir::Type element);

/// Whether an element is a float of 16 bits.
bool isNarrow(mlir::Type element);

/// The type that kernels compute with: float32 for 16-bit floats, which are a
/// storage type only, else `element` itself.
mlir::Type getComputeType(mlir::Type element);

/// `type` with the elements that kernels compute with.
mlir::RankedTensorType withComputeType(mlir::Type type);

/// `value` with elements of another type; `value` itself if it has them.
mlir::Value convert(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value value, mlir::Type element);

/// `value` with the elements that kernels compute with; and back to those of
/// `type`, as a `rounds_result`: a rank rounds its term of a sum so, as it does
/// inside a matmul.
mlir::Value widen(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::Value value);
mlir::Value narrow(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value value, mlir::Type type);

/// `value` widened, as its tensor holds it. Kernels keep 16-bit values wide
/// that stay in registers; the factor of a product is rounded all the same, for
/// the backward reads the tensor, and so does a rank that was sent it.
mlir::Value widenStored(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value);

/// A constant of `type` (float or integer tensor), the same everywhere.
mlir::Value splat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type,
                  double value);

/// `input` in another shape; `input` itself if it has it.
mlir::Value reshape(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value input, llvm::ArrayRef<int64_t> shape);

/// Operand dim i becomes dim dims[i] of `shape`; `input` itself if nothing
/// changes.
mlir::Value broadcast(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value input, llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<int64_t> dims);

/// Result dim i is operand dim permutation[i]; `input` itself for the identity.
mlir::Value transpose(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value input, llvm::ArrayRef<int64_t> permutation);

/// Sum over `dims`, which disappear; `input` itself for no dims. Floats of 16
/// bits are summed in float32.
mlir::Value reduceSum(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value input, llvm::ArrayRef<int64_t> dims);

/// `sum` plus `term`: where the latter is a product that nothing else needs,
/// in float32 if its factors have 16 bits, the product of its factors added to
/// `sum`.
mlir::Value addInPlace(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value sum, mlir::Value term);

/// Compares two tensors of one type.
mlir::Value compare(mlir::OpBuilder &builder, mlir::Location loc,
                    Predicate predicate, mlir::Value lhs, mlir::Value rhs);

/// Whether a folded operand is a float or integer tensor of `number`
/// everywhere.
bool isSplatOf(mlir::Attribute operand, double number);

/// Whether a value is a constant of zeros: a sum of any number of such terms.
bool isZero(mlir::Value value);

/// All dims of a shape of `rank` dims but those in `dims`, ascending.
llvm::SmallVector<int64_t> otherDims(int64_t rank,
                                     llvm::ArrayRef<int64_t> dims);

// --- Scalars
// ---------------------------------------------------------------------

/// The flags every generated float operation carries: sums may be reordered and
/// multiply-adds fused, but NaN and infinity stay defined.
mlir::arith::FastMathFlags fastMath();

/// e^x = value scale. The scale is 1, or smaller where the power alone would be
/// less than the smallest normal number, and a product with it not.
struct FarPower {
  mlir::Value value, scale;
};

/// A type of arith's, which knows signless integers alone: of as many bits.
mlir::Type withoutSign(mlir::Type type);

/// A scalar of the same bits as an integer of another sign.
mlir::Value castSign(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value scalar, mlir::Type to);

/// The scalar that an element of a constant holds, unsigned ones too.
mlir::Value scalarConstant(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Attribute element);

/// Exponents below this are shifted, and their powers scaled.
inline constexpr double kFarExponent = -60, kFarShift = 44;
inline constexpr double kFarScale = 7.781132241133797e-20; // e^-44

/// Emits float scalars with those flags; all operands of one type. Formulas
/// that measure their own rounding take none: nothing then reorders them.
class ScalarBuilder {
public:
  ScalarBuilder(mlir::OpBuilder &builder, mlir::Location loc,
                mlir::arith::FastMathFlags flags = fastMath())
      : builder(builder), loc(loc), flags(flags) {}

  mlir::Value constant(mlir::Type type, double value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value neg(mlir::Value a);
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c); // a b + c
  mlir::Value exp(mlir::Value a);
  /// e^x, or e^(x + low) where `low` is the rounding error of x.
  FarPower farExp(mlir::Value x, mlir::Value low);
  mlir::Value log(mlir::Value a);
  mlir::Value tanh(mlir::Value a);
  mlir::Value erf(mlir::Value a);
  mlir::Value sqrt(mlir::Value a);
  mlir::Value rsqrt(mlir::Value a); // 1 / sqrt, exactly rounded parts
  mlir::Value max(mlir::Value a, mlir::Value b); // NaN if either is NaN
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a,
                      mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// An index or integer as a float of `type`.
  mlir::Value toFloat(mlir::Type type, mlir::Value integer);

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  mlir::arith::FastMathFlags flags;
};

// --- Linalg on buffers
// -------------------------------------------------------------

using ScalarBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// One linalg.generic over a nest of `numLoops` loops; maps[i] gives the
/// element of inputs[i], or then outputs[i], that an iteration touches. The
/// body gets the elements of inputs and outputs and returns the outputs' new
/// ones, floats of 16 bits as float32 both ways. Loops missing from some
/// output's map are reductions for it. Loop 0 is the outermost.
void buildGeneric(mlir::OpBuilder &builder, mlir::Location loc,
                  unsigned numLoops, llvm::ArrayRef<mlir::AffineMap> maps,
                  mlir::ValueRange inputs, mlir::ValueRange outputs,
                  ScalarBody body);

/// Fills a buffer with a constant.
void buildFill(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value output,
               double value);

/// Copies a buffer (any strides) to another of the same shape.
void buildCopy(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value input,
               mlir::Value output);

/// A small temporary of the kernel, on the stack, of a static shape.
mlir::Value buildTemporary(mlir::OpBuilder &builder, mlir::Location loc,
                           llvm::ArrayRef<int64_t> shape, mlir::Type element);

/// The identity over `rank` loops; with `drop`, without the results in it.
mlir::AffineMap identityMap(mlir::OpBuilder &builder, unsigned rank,
                            llvm::ArrayRef<int64_t> drop = {});

/// From the loops of `train.broadcast`'s result to its operand: dims of size 1
/// that are repeated are read at 0.
mlir::AffineMap broadcastMap(mlir::OpBuilder &builder, unsigned rank,
                             llvm::ArrayRef<int64_t> inputShape,
                             llvm::ArrayRef<int64_t> outputShape,
                             llvm::ArrayRef<int64_t> dims);

/// From the loops of `train.transpose`'s result to its operand.
mlir::AffineMap transposeMap(mlir::OpBuilder &builder,
                             llvm::ArrayRef<int64_t> permutation);

/// The elements at offsets[d] + i * strides[d], i < sizes[d], of a buffer.
mlir::Value buildWindow(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value buffer, llvm::ArrayRef<int64_t> offsets,
                        llvm::ArrayRef<int64_t> sizes,
                        llvm::ArrayRef<int64_t> strides);

/// buildLinalg of every ElementwiseOpInterface op.
void buildElementwiseLinalg(mlir::Operation *op, mlir::OpBuilder &builder,
                            mlir::Location loc, mlir::ValueRange inputs,
                            mlir::ValueRange outputs);

/// Calls buildLinalg of `op`; sums in results of 16 bits are added up in
/// float32.
void buildLinalgForm(mlir::Operation *op, mlir::OpBuilder &builder,
                     mlir::Location loc, mlir::ValueRange inputs,
                     mlir::ValueRange outputs);

/// A scalar as float32 if it is a float of 16 bits, and as an element of
/// `type`.
mlir::Value widenScalar(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value scalar);
mlir::Value narrowScalar(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value scalar, mlir::Type type);

/// The gradients of an op of two operands, of which one wins: where `wins` of
/// it and the other is true it takes the gradient, and equals take half each.
void giveToWinner(mlir::OpBuilder &builder, mlir::Operation *op, Predicate wins,
                  mlir::Value grad, llvm::ArrayRef<bool> wanted,
                  llvm::MutableArrayRef<mlir::Value> operandGrads);

/// The rule of an op of one operand that moves its elements along some dims:
/// dims of one size stay, the others are whole. It is linear.
ShardingRule keptDimsRule(mlir::Operation *op);

/// The type that a buffer is computed with.
mlir::Type elementOf(mlir::Value buffer);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_OPSUPPORT_H
