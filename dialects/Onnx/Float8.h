// Floats of eight or four bits in the `onnx` dialect: tensors hold their bits,
// one number a byte, as uint8; nodes say what the bytes stand for.
#ifndef ZC_DIALECTS_ONNX_FLOAT8_H
#define ZC_DIALECTS_ONNX_FLOAT8_H

#include "llvm/ADT/StringRef.h"

namespace zc::onnx {

/// Attribute of a node whose first result has such a type: ONNX's name of it,
/// "float8e4m3fn"; and, with ".K" behind, whose operand K has.
inline constexpr llvm::StringLiteral kFloat8 = "zc.float8";

} // namespace zc::onnx

#endif
