//===- PartMasks.h - causal masks of which padding hides keys ---*- C++ -*-===//
#ifndef ZC_PASSES_SEQUENCE_PARTMASKS_H
#define ZC_PASSES_SEQUENCE_PARTMASKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// Takes masks [.., queries, keys] apart that hide the keys after each query
/// and those of padding: the attention becomes causal, with a mask of keys
/// alone, which goes round a ring with them. Losses and gradients of the
/// forward program stay the same.
void partMasks(mlir::func::FuncOp program);

} // namespace zc

#endif // ZC_PASSES_SEQUENCE_PARTMASKS_H
