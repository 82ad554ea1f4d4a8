//===- DimClasses.h - dims of a program that are divided together *- C++
//-*-===//
#ifndef ZC_PASSES_SHARDING_DIMCLASSES_H
#define ZC_PASSES_SHARDING_DIMCLASSES_H

#include "dialects/Interfaces/OpInterfaces.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace zc {

/// Dim `dim` of `value`.
struct DimOf {
  mlir::Value value;
  int64_t dim;

  bool operator==(const DimOf &other) const {
    return value == other.value && dim == other.dim;
  }
  bool operator!=(const DimOf &other) const { return !(*this == other); }
};

/// Whether all elements along a dim are the same, by the op that makes it: a
/// constant's, or a dim that a broadcast adds.
bool isRepeatedAlong(DimOf dim);

/// One loop of an op that runs over dims of a class: a factor of its finer
/// rule.
struct FactorUse {
  mlir::Operation *op;
  int factor;
};

/// Dims that the ops' sharding rules tie together: where one is divided, all
/// are, without a value being moved; the features between two linear layers, or
/// an attention's heads.
struct DimClass {
  llvm::SmallVector<DimOf> dims;
  llvm::SmallVector<FactorUse> factors;
  /// Operands that an op wants whole: dividing the class would gather them.
  llvm::SmallVector<mlir::OpOperand *> gathers;

  bool contains(mlir::Value value) const;
  /// The block arguments among the dims.
  llvm::SmallVector<DimOf> getArguments() const;
};

/// Factors of ops that somebody wants whole though their rules divide them.
using WholeFactors =
    llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int, 1>>;

/// Dims of the factor are to be whole.
void makeWhole(ShardingRule &rule, int factor);

/// All classes of a program, in the order in which it first names them; dims of
/// `whole` factors are gathered. Ops whose results nobody reads tie nothing.
///
/// A dim that a value has for free (a constant's, or one that a broadcast adds)
/// belongs to whoever reads it and ties nobody together.
llvm::SmallVector<DimClass>
findDimClasses(mlir::func::FuncOp program,
               const WholeFactors &whole = WholeFactors());

} // namespace zc

namespace llvm {
template <> struct DenseMapInfo<zc::DimOf> {
  using Pair = DenseMapInfo<std::pair<mlir::Value, int64_t>>;
  static zc::DimOf make(std::pair<mlir::Value, int64_t> pair) {
    return {pair.first, pair.second};
  }
  static zc::DimOf getEmptyKey() { return make(Pair::getEmptyKey()); }
  static zc::DimOf getTombstoneKey() { return make(Pair::getTombstoneKey()); }
  static unsigned getHashValue(const zc::DimOf &dim) {
    return Pair::getHashValue({dim.value, dim.dim});
  }
  static bool isEqual(const zc::DimOf &a, const zc::DimOf &b) { return a == b; }
};
} // namespace llvm

#endif // ZC_PASSES_SHARDING_DIMCLASSES_H
