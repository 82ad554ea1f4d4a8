//===- DoubleMath.h - float64 functions for GPUs ----------------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_CUDA_DOUBLEMATH_H
#define ZC_PASSES_CODEGEN_CUDA_DOUBLEMATH_H

#include "mlir/IR/Builders.h"

namespace zc::cuda {

/// e^x, the natural logarithm and x^y of float64 scalars, as arithmetic: PTX
/// has no instructions for them. exp and log are within 2 ulp; x^y is e^(y log
/// |x|), so that its relative error grows with |y log x|. Zeros, infinities,
/// NaN and negative bases as C has them.
mlir::Value buildExp(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value x);
mlir::Value buildLog(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value x);
mlir::Value buildPow(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value x, mlir::Value y);

/// e^x - 1, log(1 + x) and hyperbolic functions made of them, within a few ulp.
mlir::Value buildExpM1(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value x);
mlir::Value buildLog1P(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value x);
mlir::Value buildSinh(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value x);
mlir::Value buildCosh(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value x);
mlir::Value buildAsinh(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value x);
mlir::Value buildAcosh(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value x);
mlir::Value buildAtanh(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value x);

} // namespace zc::cuda

#endif // ZC_PASSES_CODEGEN_CUDA_DOUBLEMATH_H
