//===- Float8Conversion.h - floats of 8 bits as integers --------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_FLOAT8CONVERSION_H
#define ZC_PASSES_CODEGEN_FLOAT8CONVERSION_H

#include "mlir/IR/PatternMatch.h"

namespace zc {

/// Conversions between float32 and E4M3 or E5M2 as arithmetic on the bits, the
/// same on every device: to the nearest, of two the even one; NaN stays NaN. A
/// magnitude beyond the largest number, 448 or 57344, is none that E4M3 has: it
/// must not come.
void addFloat8Conversions(mlir::RewritePatternSet &patterns);

} // namespace zc

#endif // ZC_PASSES_CODEGEN_FLOAT8CONVERSION_H
