//===- OpLayouts.h - how one op works with divided operands -----*- C++ -*-===//
#ifndef ZC_PASSES_SHARDING_OPLAYOUTS_H
#define ZC_PASSES_SHARDING_OPLAYOUTS_H

#include "dialects/Interfaces/OpInterfaces.h"
#include "passes/Sharding/Layout.h"

namespace zc {

/// The layouts that an op needs of its operands and gives its results.
struct OpLayouts {
  llvm::SmallVector<Layout> operands, results;
};

/// Chooses them for a ShardableOpInterface op from how its operands are divided
/// now, by its sharding rule alone.
///
/// An axis that divides a dim of an operand divides every dim of that factor;
/// of two operands that disagree the larger wins. `hints`, one per result, are
/// divisions that would be welcome where the operands do not say otherwise
/// (empty: none). An operand may stay unreduced where the op is linear in it
/// and the result is not larger, in bytes or, where `countsElements`, in
/// elements. `isFree(i)`: operand i is zero, a sum of any terms.
class OpPlanner {
public:
  OpPlanner(mlir::Operation *op, llvm::ArrayRef<Layout> operands,
            llvm::ArrayRef<Layout> hints,
            llvm::function_ref<bool(unsigned)> isFree, dist::MeshAttr mesh,
            bool countsElements = false);

  OpLayouts plan();

  /// Whether an operand is divided along a dim that the rule wants whole.
  bool needsFinerOps() const;

private:
  void divideFactors();
  void exchangeAxes();
  void tryDivide(int factor, const Axes &axes);
  void checkTerms();
  void keepUnreduced(int axis);
  bool isCountedPerPart(unsigned operand, int axis) const;
  double bytesOf(mlir::Value value) const;
  double sizeOf(mlir::Value value) const;
  Layout layoutOf(llvm::ArrayRef<int> dims) const;

  mlir::Operation *op;
  ShardingRule rule;
  llvm::ArrayRef<Layout> actual, hints;
  llvm::function_ref<bool(unsigned)> isFree;
  dist::MeshAttr mesh;
  bool countsElements;
  llvm::SmallVector<Axes> factorAxes;
  llvm::SmallVector<Axes> open; // per operand: axes it stays unreduced over
  Axes resultOpen;
};

} // namespace zc

#endif // ZC_PASSES_SHARDING_OPLAYOUTS_H
