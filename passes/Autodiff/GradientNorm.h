//===- GradientNorm.h - the norm of all gradients, and clipping -*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_GRADIENTNORM_H
#define ZC_PASSES_AUTODIFF_GRADIENTNORM_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVector.h"

namespace zc {

/// How a gradient will be divided among ranks.
struct GradientDivision {
  llvm::SmallVector<int64_t> parts; // of each dim; 1: it is whole
  mlir::ArrayAttr axes;             // all axes that divide it
};

/// The square root of the sum of the squares of all elements, a float32 tensor
/// of no dims. Gradients that the same axes divide are added up first: their
/// sum is reduced once. With roles, those of all roles of a pipeline count.
mlir::Value buildGlobalNorm(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::ValueRange gradients,
                            llvm::ArrayRef<GradientDivision> divisions,
                            bool hasRoles = false);

/// Counts the elements of all gradients whose magnitude is below each of these
/// powers of two, whose exponents `edges` are, below infinity and, last, of
/// those that are infinite or no number: a float32 tensor of one dim. `padding`
/// of the zeros are no gradients. Divisions and roles are as above.
mlir::Value buildGradientCounts(mlir::OpBuilder &builder, mlir::Location loc,
                                mlir::ValueRange gradients,
                                llvm::ArrayRef<GradientDivision> divisions,
                                llvm::ArrayRef<int64_t> edges, int64_t padding,
                                bool hasRoles);

/// The factor that scales gradients to a norm of at most `limit`, as in
/// torch.nn.utils.clip_grad_norm_: min(1, limit / (norm + 1e-6)). Both are
/// float32 tensors of no dims.
mlir::Value buildClipFactor(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value norm, mlir::Value limit);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_GRADIENTNORM_H
