//===- FactorProjection.h - the factors of a whole program ------*- C++ -*-===//
//
// An op's sharding rule is an einsum: each of its loops runs over dims of
// operands and results. The rules of all ops tie dims of the whole program: if
// one is divided over ranks, threads or time, all are, without a value being
// moved. Dims and loops that are tied are one factor of the program.
//
// It works on numbers alone: a client numbers the dims of its tensors.
// ValueFactors.h does so for the values of a block.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_DIALECTS_INTERFACES_FACTORPROJECTION_H
#define ZC_DIALECTS_INTERFACES_FACTORPROJECTION_H

#include "dialects/Interfaces/ShardingRule.h"

#include "llvm/ADT/IntEqClasses.h"

namespace zc {

/// A dim of an op's operand or result.
struct RuleDim {
  bool isResult;
  unsigned tensor; // which operand or result
  unsigned dim;
  /// The factor of the op's rule that runs over it, or ShardingRule::kWhole.
  int loop;

  bool isWhole() const { return loop == ShardingRule::kWhole; }
};

/// The dims of all operands, then those of all results.
llvm::SmallVector<RuleDim> listDims(const ShardingRule &rule);

/// A factor of a program: all that the program's ops do with it.
struct ProgramFactor {
  /// The elements that its loops run over; the fewest if they differ.
  int64_t size = 0;
  /// An op wants a dim whole.
  bool isWhole = false;
  /// A dim has more elements than a loop over it, which is its slowest part.
  bool isSlowestPart = false;
  /// An op sums over it, or reduces it in another way.
  bool isReduced = false;

  /// Whether a part of the factor gives the same part of every value, and
  /// nothing else.
  bool isParallel() const { return !isWhole && !isSlowestPart && !isReduced; }
};

class FactorProjection {
public:
  /// For addOp: a dim of an operand that its reader may have for itself. It
  /// ties nothing.
  static constexpr int kFree = -1;

  /// An op that wants a dim whole: to divide the dim is to gather it there.
  struct WholeDim {
    int dim; // by its number
    int op;  // by its number
    RuleDim place;
  };

  /// Numbers of the dims of one operand or result.
  using Dims = llvm::SmallVector<int, 4>;

  /// A new dim; returns its number.
  int addDim(int64_t size);

  /// An op on numbered dims; returns its number.
  int addOp(const ShardingRule &rule, llvm::ArrayRef<Dims> operands,
            llvm::ArrayRef<Dims> results);

  /// The program's factor that a dim belongs to; a number that is the same for
  /// all that are tied, until another op is added.
  int factorOfDim(int dim) const;
  int factorOfLoop(int op, int loop) const;

  /// `factor`: a number of the above.
  const ProgramFactor &getFactor(int factor) const { return factors[factor]; }

  /// In the order in which ops were added.
  llvm::ArrayRef<WholeDim> getWholeDims() const { return wholeDims; }

private:
  int addNode(const ProgramFactor &alone);
  void tie(int a, int b);

  /// Dims and loops are nodes; those of one factor are one class, which its
  /// first node leads.
  llvm::IntEqClasses classes;
  llvm::SmallVector<ProgramFactor, 0> factors; // by node; leaders' count
  struct Dim {
    int node;
    int64_t size;
  };
  llvm::SmallVector<Dim, 0> dims;
  llvm::SmallVector<llvm::SmallVector<int, 4>, 0> loopNodes; // by op
  llvm::SmallVector<WholeDim, 0> wholeDims;
};

} // namespace zc

#endif // ZC_DIALECTS_INTERFACES_FACTORPROJECTION_H
