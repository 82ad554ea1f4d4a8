//===- CollectiveShape.h - collectives in the schema's words ----*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_COLLECTIVESHAPE_H
#define ZC_COMPILER_EXPORT_COLLECTIVESHAPE_H

#include "mlir/IR/BuiltinTypes.h"
#include "runtime/Plan/Collective/Cost.h"

#include <optional>

namespace zc {

/// The kind that the dist dialect calls `name` ("all_reduce"); nothing for one
/// that the schema lacks.
std::optional<plan::CollectiveKind> getCollectiveKind(llvm::StringRef name);

/// A collective of the dist dialect among `ranks`, from what a rank gives and
/// what it gets.
std::optional<CollectiveShape> getCollectiveShape(llvm::StringRef name,
                                                  int64_t ranks,
                                                  mlir::ShapedType source,
                                                  mlir::ShapedType destination);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_COLLECTIVESHAPE_H
