//===- MaskLevels.h - numbers that masks are levelled by --------*- C++ -*-===//
#ifndef ZC_PASSES_SEQUENCE_MASKLEVELS_H
#define ZC_PASSES_SEQUENCE_MASKLEVELS_H

#include "mlir/IR/Builders.h"

namespace zc {

/// The numbers to subtract from a mask of such `largest` ones, of floats: each
/// itself where it hides, but scores are not lost in it; else 0.
mlir::Value buildLevel(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value largest);

} // namespace zc

#endif // ZC_PASSES_SEQUENCE_MASKLEVELS_H
