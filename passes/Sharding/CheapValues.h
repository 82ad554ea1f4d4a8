//===- CheapValues.h - values that each user may have for itself *- C++ -*-===//
#ifndef ZC_PASSES_SHARDING_CHEAPVALUES_H
#define ZC_PASSES_SHARDING_CHEAPVALUES_H

#include "mlir/IR/Block.h"

namespace zc {

/// Clones free expanding ops per user: one may want the result replicated,
/// another sharded.
void separateCheapValues(mlir::Block &block);

} // namespace zc

#endif // ZC_PASSES_SHARDING_CHEAPVALUES_H
