//===- Replacements.h - what propagation puts in place of ops ---*- C++ -*-===//
//
// Propagation decides how ops are divided and what must change for that; here
// the program is changed as it has decided.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_SHARDING_REPLACEMENTS_H
#define ZC_PASSES_SHARDING_REPLACEMENTS_H

#include "dialects/Dist/DistDialect.h"
#include "passes/Sharding/Layout.h"

namespace zc {

/// An op in terms of finer ones, which may be divided along more dims.
struct FinerForm {
  /// In how many parts each factor of the op's finer rule is divided.
  llvm::SmallVector<int64_t> parts;
  /// Its sums run over samples of several ranks: they are statistics.
  bool isOfBatch = false;
};

/// Puts finer ops in the place of `op`; returns the first, or null where the op
/// is the finest form.
mlir::Operation *makeFiner(mlir::Operation *op, const FinerForm &form);

/// Operands that every rank has whole, and that are to be sums of terms.
struct WholeOperands {
  Axes axes; // of the ranks whose terms they become
  struct Operand {
    unsigned index;
    Layout layout;
  };
  llvm::SmallVector<Operand> operands;
};

/// Puts terms in front of `op`; returns the first new op. `whole` has an
/// operand.
mlir::Operation *makeTerms(mlir::Operation *op, const WholeOperands &whole,
                           dist::MeshAttr mesh);

/// Puts a reduction of `value` in front of all of its readers.
dist::ReshardOp reduceOnce(mlir::Value value, Traffic traffic);

} // namespace zc

#endif // ZC_PASSES_SHARDING_REPLACEMENTS_H
