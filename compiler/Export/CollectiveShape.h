//===- CollectiveShape.h - collectives in the schema's words ----*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_COLLECTIVESHAPE_H
#define ZC_COMPILER_EXPORT_COLLECTIVESHAPE_H

#include "dialects/Sched/SchedDialect.h"
#include "runtime/Plan/Collective/Cost.h"

namespace zc {

/// On a module: the algorithm of its collectives, "rabenseifner"; absent: auto.
inline constexpr llvm::StringLiteral kAlgorithmAttr = "dist.algorithm";

/// The shape of a collective, `op`, along `axes`, from a rank's source and
/// destination.
CollectiveShape getCollectiveShape(mlir::Operation *op,
                                   sched::CollectiveKind kind,
                                   mlir::ArrayAttr axes,
                                   mlir::ShapedType source,
                                   mlir::ShapedType destination);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_COLLECTIVESHAPE_H
