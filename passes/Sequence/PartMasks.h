//===- PartMasks.h - causal masks of which padding hides keys ---*- C++ -*-===//
#ifndef ZC_PASSES_SEQUENCE_PARTMASKS_H
#define ZC_PASSES_SEQUENCE_PARTMASKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// Attentions of a forward program whose mask [.., queries, keys] hides the
/// keys after each query, and keys of padding, become causal ones with a mask
/// of keys alone, which goes round a ring with them: where one number hides
/// both, or minus infinity is added after each query to any mask of keys. The
/// program's results stay the same, as do its gradients. Other masks stay as
/// they are.
void partMasks(mlir::func::FuncOp program);

/// Whether a program has attentions with masks of queries and keys, and
/// partMasks takes all of these apart.
bool comeApart(mlir::func::FuncOp program);

/// Masks of a program's attentions whose numbers are not known to hide keys
/// alike (those that are fed, and -1e9 or -65504) become such that blocks of
/// keys add up under them; of attentions for which `goesRound` holds.
void levelMasks(mlir::func::FuncOp program,
                llvm::function_ref<bool(mlir::Operation *)> goesRound);

} // namespace zc

#endif // ZC_PASSES_SEQUENCE_PARTMASKS_H
