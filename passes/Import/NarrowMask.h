//===- NarrowMask.h - masks that are the same for all queries ---*- C++ -*-===//
#ifndef ZC_PASSES_IMPORT_NARROWMASK_H
#define ZC_PASSES_IMPORT_NARROWMASK_H

#include "mlir/IR/Builders.h"

namespace zc {

/// `mask` [.., queries, keys] as [.., 1, keys], where it is the same for all
/// queries: the padding of keys, repeated for each query and joined with "all
/// may be seen", as transformers exports it. Null where it may differ.
mlir::Value narrowMask(mlir::OpBuilder &builder, mlir::Value mask);

} // namespace zc

#endif // ZC_PASSES_IMPORT_NARROWMASK_H
