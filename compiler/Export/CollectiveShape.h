//===- CollectiveShape.h - collectives in the schema's words ----*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_COLLECTIVESHAPE_H
#define ZC_COMPILER_EXPORT_COLLECTIVESHAPE_H

#include "mlir/IR/BuiltinOps.h"
#include "runtime/Plan/Collective/Cost.h"

#include <optional>

namespace zc {

/// The kind that the dist dialect calls `name` ("all_reduce"); nothing for one
/// that the schema lacks.
std::optional<plan::CollectiveKind> getCollectiveKind(llvm::StringRef name);

/// On a module: the algorithm of its collectives, "rabenseifner"; absent: auto.
inline constexpr llvm::StringLiteral kAlgorithmAttr = "dist.algorithm";

/// The shape of a collective of the dist dialect, `op`, along `axes`, from a
/// rank's source and destination.
std::optional<CollectiveShape> getCollectiveShape(mlir::Operation *op,
                                                  llvm::StringRef name,
                                                  mlir::ArrayAttr axes,
                                                  mlir::ShapedType source,
                                                  mlir::ShapedType destination);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_COLLECTIVESHAPE_H
