//===- ClassCosts.h - what dividing a class of dims gains -------*- C++ -*-===//
#ifndef ZC_PASSES_SHARDING_CLASSCOSTS_H
#define ZC_PASSES_SHARDING_CLASSCOSTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Sharding/DimClasses.h"
#include "llvm/ADT/DenseSet.h"

namespace zc {

/// Work that is divided, and bytes sent for it, in a forward.
struct ClassGain {
  double flops, sent;

  /// In operations.
  double score() const;
};

/// Answers about classes of dims of one program, which it keeps by reference.
class ClassCosts {
public:
  explicit ClassCosts(mlir::func::FuncOp program);

  /// Whether a dim of an input, or one of a class, counts samples.
  bool isBatch(const DimOf &dim) const;
  bool isBatch(const DimClass &dims) const;

  /// The class is divided by itself: the ops' work, and the sums that it takes,
  /// of results in the forward and of gradients in the backward.
  ClassGain gainOf(const DimClass &dims) const;

private:
  mlir::func::FuncOp program;
  llvm::DenseSet<mlir::Value> active; // on a gradient's way to a parameter
};

/// Whether a matrix of weights, or more, has a dim of the class.
bool hasWeights(const DimClass &dims);

/// The size of a loop that does not divide; 0: all do.
int64_t findRemainder(const DimClass &dims, int64_t ranks);

/// Whether two dims of one value would have to be divided at once.
bool meetsItself(const DimClass &dims);

} // namespace zc

#endif // ZC_PASSES_SHARDING_CLASSCOSTS_H
