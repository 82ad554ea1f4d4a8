//===- PartMasks.h - causal masks of which padding hides keys ---*- C++ -*-===//
#ifndef ZC_PASSES_SEQUENCE_PARTMASKS_H
#define ZC_PASSES_SEQUENCE_PARTMASKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// Attentions of a forward program whose mask [.., queries, keys] hides what
/// comes after each query, and keys of padding: they become causal ones with a
/// mask of keys alone, which goes round a ring with them. What the program
/// computes stays the same, as do its gradients.
void partMasks(mlir::func::FuncOp program);

} // namespace zc

#endif // ZC_PASSES_SEQUENCE_PARTMASKS_H
