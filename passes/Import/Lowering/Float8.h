//===- Float8.h - floats of eight and four bits -----------------*- C++ -*-===//
//
// They are held as their bits, one number a byte; what is computed of them is
// computed of the float32 numbers that they stand for.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_IMPORT_LOWERING_FLOAT8_H
#define ZC_PASSES_IMPORT_LOWERING_FLOAT8_H

#include "passes/Import/Lowering/TensorBuilder.h"
#include "llvm/ADT/APFloat.h"

namespace zc {

/// One of ONNX's types of floats of eight or four bits.
class Float8 {
public:
  /// By ONNX's name in small letters, "float8e4m3fn"; nothing for others.
  static std::optional<Float8> get(llvm::StringRef name);

  /// The float32 numbers that bits (uint8) stand for.
  mlir::Value decode(TensorBuilder &build, mlir::Value bits) const;
  /// The numbers of this type nearest to float32 ones, of two the even one.
  /// Larger numbers become the largest of the type or, not `saturating`,
  /// infinity or NaN.
  mlir::Value round(TensorBuilder &build, mlir::Value x, bool saturating) const;
  /// The bits (uint8) of numbers that `round` has made. The sign of a zero is
  /// that of `signs`.
  mlir::Value encode(TensorBuilder &build, mlir::Value rounded,
                     mlir::Value signs) const;
  double largest() const;
  /// Whether float32 numbers can be rounded to it; powers of two alone cannot.
  bool holdsZero() const;

private:
  explicit Float8(const llvm::fltSemantics &semantics)
      : semantics(&semantics) {}
  /// The exponents of the smallest normal number and of the largest one.
  int least() const;
  int most() const;
  int digits() const; // of the fraction
  unsigned width() const;
  double number(unsigned bits) const;

  const llvm::fltSemantics *semantics;
};

} // namespace zc

#endif // ZC_PASSES_IMPORT_LOWERING_FLOAT8_H
