//===- ShardingRule.h - dims of an op as an einsum --------------*- C++ -*-===//
#ifndef ZC_DIALECTS_INTERFACES_SHARDINGRULE_H
#define ZC_DIALECTS_INTERFACES_SHARDINGRULE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>

namespace zc {

/// How results depend on a factor that is split over a mesh axis.
enum class FactorKind {
  /// Every part computes its own part of the results.
  Parallel,
  /// Every part computes a term of the results: they are unreduced sums.
  Sum,
  /// Every part computes a term that another reduction (max, min) combines.
  OtherReduction
};

/// How an op depends on one operand, all else fixed.
enum class Linearity {
  /// Not linear: an unreduced operand must be reduced first.
  None,
  /// Linear in this operand alone: f(a + a', b) = f(a, b) + f(a', b). At most
  /// one
  /// operand of the op may be unreduced (multiplication, matmul).
  Separate,
  /// Linear in all operands marked so together: f(a + a', b + b') = f(a, b) +
  /// f(a', b'). All of them must be unreduced over the same axes, or none
  /// (addition: a replicated operand would be counted once per rank).
  Joint
};

/// A loop of the einsum.
struct Factor {
  int64_t size;
  FactorKind kind = FactorKind::Parallel;
};

/// The op as an einsum: which loop runs over which dim of which operand and
/// result. matmul [M,K] x [K,N] has the factors M, K (Sum), N; operandDims are
/// {{0, 1}, {1, 2}} and resultDims {{0, 2}}.
///
/// A dim may be larger than its factor, by a whole number of times: the factor
/// is then its slowest part. reshape [B,T,D] to [BT,D] has the factors B, which
/// is dim 0 of both, and D.
///
/// Where a Sum factor is divided, an operand that is Joint and does not run
/// over it counts once per part: it must itself be a sum of terms, one per
/// part.
struct ShardingRule {
  /// In operandDims and resultDims: this dim must be whole on every rank.
  static constexpr int kWhole = -1;

  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<llvm::SmallVector<int>> operandDims;
  llvm::SmallVector<llvm::SmallVector<int>> resultDims;
  llvm::SmallVector<Linearity> linearity; // one per operand

  /// Adds a factor and returns its index.
  int addFactor(int64_t size, FactorKind kind = FactorKind::Parallel);

  /// "(i,k),(k,j)->(i,j) {i=4, j=3, k=8 sum} linear=(separate,separate)"; `*`
  /// stands for kWhole.
  std::string toString() const;

  /// Checks sizes of lists, factor indices and dim sizes against the op's
  /// types. Returns an explanation, empty when all is well.
  std::string check(mlir::Operation *op) const;

  /// All operands and results have one shape and share its dims.
  static ShardingRule elementwise(mlir::Operation *op, Linearity linearity);

  /// Dims of all operands and results are whole.
  static ShardingRule whole(mlir::Operation *op);
};

/// Sum of the bytes of all operands and results that are ranked tensors.
double operandAndResultBytes(mlir::Operation *op);

/// Number of elements of a static tensor or memref type.
int64_t numElements(mlir::Type type);

} // namespace zc

#endif // ZC_DIALECTS_INTERFACES_SHARDINGRULE_H
