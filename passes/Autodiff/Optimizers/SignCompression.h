//===- SignCompression.h - a vector as signs and one scale ------*- C++ -*-===//
//
// 1-bit optimizers send a row x of n numbers as a bit for each, set where x is
// 0 or more, and the scale |x|_2 / sqrt(n), so that the row that comes back,
// plus or minus the scale, has the norm of the one that was sent.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_AUTODIFF_OPTIMIZERS_SIGNCOMPRESSION_H
#define ZC_PASSES_AUTODIFF_OPTIMIZERS_SIGNCOMPRESSION_H

#include "mlir/IR/Builders.h"

namespace zc {

/// Elements in a byte of signs.
inline constexpr int64_t kSignsPerByte = 8;

/// Rows, the last dim of a float32 tensor, compressed.
struct Compressed {
  mlir::Value signs;  // ui8, an 8th as many in all; dims as compress() says
  mlir::Value scales; // float32, without the last dim
  mlir::Value error;  // float32, like `rows`: what is lost
};

/// Rows of `chunks` chunks of whole bytes: their signs are [.., chunks, bytes],
/// those of each chunk by themselves.
Compressed compress(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value rows, int64_t chunks);

/// The rows that signs and scales stand for.
mlir::Value expand(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value signs, mlir::Value scales);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_OPTIMIZERS_SIGNCOMPRESSION_H
