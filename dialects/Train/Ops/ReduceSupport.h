//===- ReduceSupport.h - reduce and scatter_reduce --------------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_REDUCESUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_REDUCESUPPORT_H

#include "dialects/Train/Ops/LoopSupport.h"

namespace zc::train {

/// Whether a reduction of `kind` adds up elements or their squares.
bool isAddition(ReduceKind kind);

/// Two scalars by one step of a reduction of `kind`; those of a sum of squares
/// are squared. Integers are signed; i1 is false or true.
mlir::Value buildCombination(mlir::OpBuilder &builder, mlir::Location loc,
                             ReduceKind kind, mlir::Value a, mlir::Value b);

/// The type of `from` without `dims`, which must increase and be less than its
/// rank; else an error at `op`.
mlir::FailureOr<mlir::RankedTensorType>
inferReduced(mlir::Operation *op, mlir::RankedTensorType from,
             llvm::ArrayRef<int64_t> dims);

/// The result of a reduction of `kind` over no elements.
mlir::TypedAttr reductionIdentity(ReduceKind kind, mlir::Type element);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_REDUCESUPPORT_H
