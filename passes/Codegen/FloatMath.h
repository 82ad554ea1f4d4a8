//===- FloatMath.h - float32 functions as arithmetic ------------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_FLOATMATH_H
#define ZC_PASSES_CODEGEN_FLOATMATH_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace zc::floatmath {

// Each builds a function of float32 scalars without a branch or a call, so that
// LLVM makes vectors of it, the same bits on every target. All are within 4
// units of the last place of the true value over the whole range of float32;
// results below the smallest normal number may be 0. Zeros, infinities and NaN
// are as C has them. tools/elementwise-accuracy measures them.
using Function = mlir::Value (*)(mlir::ImplicitLocOpBuilder &, mlir::Value);

mlir::Value buildExp(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);
mlir::Value buildExpM1(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);
mlir::Value buildLog(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);
mlir::Value buildLog1P(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);
mlir::Value buildTanh(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);
mlir::Value buildSinh(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);
mlir::Value buildCosh(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);
mlir::Value buildAsinh(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);
mlir::Value buildAcosh(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);
mlir::Value buildAtanh(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);
mlir::Value buildErf(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);
mlir::Value buildSin(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);
mlir::Value buildCos(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);
mlir::Value buildTan(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);
mlir::Value buildAsin(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);
mlir::Value buildAcos(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);
mlir::Value buildAtan(mlir::ImplicitLocOpBuilder &builder, mlir::Value x);

/// scale erfc(x / sqrt 2) / 2 of x >= 0, one rounding for both.
mlir::Value buildNormalTail(mlir::ImplicitLocOpBuilder &builder, mlir::Value x,
                            mlir::Value scale);

} // namespace zc::floatmath

#endif // ZC_PASSES_CODEGEN_FLOATMATH_H
