// ONNX's types and values as MLIR's.
#ifndef ZC_COMPILER_IMPORT_TYPES_H
#define ZC_COMPILER_IMPORT_TYPES_H

#include "compiler/Import/HostTensor.h"
#include "compiler/OnnxModel/Proto.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace zc {

/// Null for types that zc does not hold (strings, complex numbers, 4-bit ...).
mlir::Type convertElementType(mlir::MLIRContext *context, int32_t dataType);

/// Null unless `type` is a tensor of a type that zc holds and static shape.
mlir::RankedTensorType convertType(mlir::MLIRContext *context,
                                   const proto::TypeProto &type);

/// "float[32, ?, n]".
std::string printType(const proto::TypeProto &type);

proto::TypeProto makeTensorType(int32_t dataType, llvm::ArrayRef<int64_t> dims);

Dims getDims(const proto::TensorProto &tensor);

/// The dims of a tensor type; nothing when they are not all known.
std::optional<Dims> getStaticDims(const proto::TypeProto &type);

/// The elements, shaped by what `tensor` stores: a dim along which it does not
/// vary has size 1.
mlir::DenseElementsAttr makeElements(mlir::MLIRContext *context,
                                     const HostTensor &tensor);

proto::TensorProto makeTensor(const HostTensor &tensor);

} // namespace zc

#endif
