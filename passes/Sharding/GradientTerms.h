//===- GradientTerms.h - the terms that gradients are sums of ---*- C++ -*-===//
#ifndef ZC_PASSES_SHARDING_GRADIENTTERMS_H
#define ZC_PASSES_SHARDING_GRADIENTTERMS_H

#include "passes/Sharding/Layout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace zc {

/// The values of `program` that are only added, moved or converted on their way
/// to where gradients are reduced: dist.reshard of such traffic, a unit's
/// vector, or an accumulator of more than one element. Reduced at their end,
/// they are sent as what they are, in the type that gradients are reduced in.
/// With them those that are gradients but for their shape and that others read
/// too, as the norm does.
llvm::DenseSet<mlir::Value> findGradientTerms(mlir::func::FuncOp program);

/// Brings `terms`, the above, up to date where the ops from `first` to before
/// `end` took the place of one that read `operands`, and whose results are no
/// longer among them.
void updateGradientTerms(mlir::func::FuncOp program,
                         llvm::DenseSet<mlir::Value> &terms,
                         mlir::Operation *first, mlir::Operation *end,
                         llvm::ArrayRef<mlir::Value> operands);

/// Whether `terms` say of `value` what they would if they were found anew.
bool isUpToDate(mlir::func::FuncOp program, mlir::Value value,
                const llvm::DenseSet<mlir::Value> &terms);

/// Whether all who read `value` pass it on to gradients; `terms`:
/// findGradientTerms.
bool isOnlyGradient(mlir::func::FuncOp program, mlir::Value value,
                    const llvm::DenseSet<mlir::Value> &terms);

/// The values of which somebody wants every rank's term for itself, so that
/// they are not to be added up before.
llvm::DenseSet<mlir::Value> findWantedTerms(mlir::Block &block);

/// `whole`, which every rank has, as a sum of terms over `axes`: the first
/// rank's is the value and all others' are 0. Exact; the zeros' sign is lost.
/// `layout`: how `whole` is divided, not over `axes`. New ops stand where
/// `builder` says; they take over what marks say of `like`'s way to other
/// ranks.
mlir::Value makeTerm(mlir::OpBuilder &builder, mlir::Value whole,
                     const Layout &layout, const Axes &axes,
                     dist::MeshAttr mesh, mlir::Operation *like);

/// Whether a value, and all that is made of it alone, ends in reshards or is
/// concatenated for one.
bool isOnlyReduced(mlir::Value value);

} // namespace zc

#endif // ZC_PASSES_SHARDING_GRADIENTTERMS_H
