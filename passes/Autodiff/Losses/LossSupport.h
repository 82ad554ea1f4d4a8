//===- LossSupport.h - what the losses' rooms share -------------*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_LOSSES_LOSSSUPPORT_H
#define ZC_PASSES_AUTODIFF_LOSSES_LOSSSUPPORT_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace zc {

/// Why a loss cannot be of such logits: they are no floats; empty: they are.
std::string checkFloat(mlir::RankedTensorType logits);

/// Why there cannot be so many weights for the classes of dim `dim`; empty:
/// there can, or there are none.
std::string checkWeights(llvm::ArrayRef<double> weights,
                         mlir::RankedTensorType logits, int64_t dim);

/// The weights, each times `factor`, as a vector of the elements of `like`.
mlir::Value weightTable(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::ArrayRef<double> weights,
                        mlir::RankedTensorType like, double factor);

/// `values` times the weights along the last dim, each times `factor`.
mlir::Value weighClasses(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value values, llvm::ArrayRef<double> weights,
                         double factor);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_LOSSES_LOSSSUPPORT_H
