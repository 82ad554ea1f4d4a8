//===- ExportTypes.h - MLIR's types in the schema's words -------*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_EXPORTTYPES_H
#define ZC_COMPILER_EXPORT_EXPORTTYPES_H

#include "dialects/Dist/DistDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/Plan/Manifest.pb.h"

namespace zc {

/// The schema's name of an element type; unspecified for one it lacks.
plan::DataType getDataType(mlir::Type element);

/// A tensor or memref of static shape.
plan::TensorType getTensorType(mlir::ShapedType type);

/// How a tensor's dims are divided.
plan::Sharding getSharding(dist::ShardingAttr sharding);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_EXPORTTYPES_H
