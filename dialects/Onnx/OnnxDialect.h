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

/// Bytes that a tensor of `type` takes in a file: sub-byte elements (bool) take
/// one byte each.
uint64_t getStoredBytes(mlir::ShapedType type);

} // namespace zc::onnx

#endif
