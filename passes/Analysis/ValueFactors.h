//===- ValueFactors.h - the factors of a block's values ---------*- C++ -*-===//
#ifndef ZC_PASSES_ANALYSIS_VALUEFACTORS_H
#define ZC_PASSES_ANALYSIS_VALUEFACTORS_H

#include "dialects/Interfaces/FactorProjection.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace zc {

/// FactorProjection for tensors and ops: a client adds those that are to tie
/// dims, by the rules that they follow for it.
class ValueFactors {
public:
  using Dims = FactorProjection::Dims;

  /// Numbers the dims of a value, in the order in which values are first named.
  void name(mlir::Value value);

  /// Ties the dims of an op's operands and results; returns the op's number.
  /// `isFree`: a reader of the operand may have its own part of this dim.
  int add(
      mlir::Operation *op, const ShardingRule &rule,
      llvm::function_ref<bool(mlir::Value, int64_t)> isFree =
          [](mlir::Value, int64_t) { return false; });

  /// The program's factor that a dim of a named value belongs to.
  int factorOf(mlir::Value value, int64_t dim) const;

  const FactorProjection &getProjection() const { return projection; }

  /// The named values with the numbers of their dims.
  const llvm::MapVector<mlir::Value, Dims> &getValues() const { return values; }

private:
  FactorProjection projection;
  llvm::MapVector<mlir::Value, Dims> values;
};

} // namespace zc

#endif // ZC_PASSES_ANALYSIS_VALUEFACTORS_H
