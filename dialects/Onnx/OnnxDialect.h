// The `onnx` dialect: an ONNX model after import.
#ifndef ZC_DIALECTS_ONNX_ONNXDIALECT_H
#define ZC_DIALECTS_ONNX_ONNXDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Onnx/OnnxDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Onnx/OnnxAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Onnx/OnnxOps.h.inc"

namespace zc::onnx {

/// PyTorch arguments without an ONNX attribute, which exports keep under these
/// names (f64). Gather: the index of the embedding that gets no gradient,
/// negative for none. SoftmaxCrossEntropyLoss: the label smoothing, the share
/// of a sample's loss that is the mean over all classes. Dropout without
/// training_mode: the ratio it trained with.
inline constexpr llvm::StringLiteral kPaddingIndex = "torch.padding_idx";
inline constexpr llvm::StringLiteral kLabelSmoothing = "torch.label_smoothing";
inline constexpr llvm::StringLiteral kDropoutRatio = "torch.dropout_p";

/// The number of bits (i64) of a QuantizeLinear to integers of fewer than 8
/// bits, which tensors store in 8.
inline constexpr llvm::StringLiteral kPackedBits = "zc.packed_bits";

/// Bytes that a tensor of `type` takes in a file: sub-byte elements (bool) take
/// one byte each.
uint64_t getStoredBytes(mlir::ShapedType type);

} // namespace zc::onnx

#endif
